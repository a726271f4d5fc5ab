package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/pkg/policy/mode"
)

const (
	tableOfLimits  = "limits"
	tableOfApprove = "approve"
)

// setting is a key of config.toml.
type setting struct {
	key  string
	kind *kind
	at   func(c *Config) any // where its value lives
}

func (s setting) isLimit() bool { return strings.HasPrefix(s.key, tableOfLimits+".") }

// settings are all keys, in the order in which they are shown.
var settings = []setting{
	{"mode", modeKind, func(c *Config) any { return &c.Mode }},
	{"max_mode", modeKind, func(c *Config) any { return &c.MaxMode }},
	{"limits.max_input_bytes", numberKind, func(c *Config) any { return &c.Limits.MaxInputBytes }},
	{"limits.max_output_bytes", numberKind, func(c *Config) any { return &c.Limits.MaxOutputBytes }},
	{"limits.max_result_envelope_bytes", numberKind, func(c *Config) any { return &c.Limits.MaxResultEnvelopeBytes }},
	{"limits.max_timeout_ms", numberKind, func(c *Config) any { return &c.Limits.MaxTimeoutMS }},
	{"limits.max_parallel_tools", numberKind, func(c *Config) any { return &c.Limits.MaxParallelTools }},
	{"limits.max_calls_per_turn", numberKind, func(c *Config) any { return &c.Limits.MaxCallsPerTurn }},
	{"limits.max_cumulative_output_bytes", numberKind, func(c *Config) any { return &c.Limits.MaxCumulativeOutputBytes }},
	{"limits.max_cumulative_result_envelope_bytes", numberKind, func(c *Config) any { return &c.Limits.MaxCumulativeResultEnvelopeBytes }},
	{"limits.max_sandbox", profileKind, func(c *Config) any { return &c.Limits.MaxSandbox }},
	{"sandbox.writable", pathsKind, func(c *Config) any { return &c.Sandbox.Writable }},
	{"sandbox.sockets", pathsKind, func(c *Config) any { return &c.Sandbox.Sockets }},
	{"sandbox.env", namesKind, func(c *Config) any { return &c.Sandbox.Env }},
	{tableOfApprove + ".notify", textKind, func(c *Config) any { return &c.Approve.Notify }},
	{tableOfApprove + ".operator", boolKind, func(c *Config) any { return &c.Approve.Operator }},
	{tableOfApprove + ".remote", boolKind, func(c *Config) any { return &c.Approve.Remote }},
	{tableOfApprove + ".bell", boolKind, func(c *Config) any { return &c.Approve.Bell }},
	{"experimental.browser", boolKind, func(c *Config) any { return &c.Experimental.Browser }},
	{"experimental.remote_mcp", boolKind, func(c *Config) any { return &c.Experimental.RemoteMCP }},
	{"experimental.unsandboxed_bash", boolKind, func(c *Config) any { return &c.Experimental.UnsandboxedBash }},
}

// kind says how a value is read, and, for what a project may lower, which of
// two values is higher.
type kind struct {
	set  func(to, value any, d paths.Dirs) (why string)
	rank func(value any) int64
}

// Profiles are the sandbox profiles, from the narrowest to the widest.
var Profiles = []string{"read_only", "workspace_write", "network_enabled", "host"}

var (
	modeKind    = &kind{set: setMode}
	numberKind  = &kind{set: setNumber, rank: func(v any) int64 { return v.(int64) }}
	profileKind = &kind{set: setProfile, rank: func(v any) int64 { return int64(slices.Index(Profiles, v.(string))) }}
	pathsKind   = &kind{set: setPaths}
	namesKind   = &kind{set: setNames}
	boolKind    = &kind{set: setBool}
	textKind    = &kind{set: setText}
)

func setMode(to, value any, _ paths.Dirs) string {
	s, _ := value.(string)
	m, ok := mode.Parse(s)
	if !ok {
		return expected(strings.Join(mode.All, ", "), value)
	}
	*to.(*string) = m
	return ""
}

// maxNumber is above every limit that makes sense, and far from where sums of
// limits overflow.
const maxNumber = 1 << 40

func setNumber(to, value any, _ paths.Dirs) string {
	n, ok := value.(int64)
	switch {
	case !ok || n <= 0:
		return expected("a whole number above 0", value)
	case n > maxNumber:
		return expected(fmt.Sprintf("a number up to %d", int64(maxNumber)), value)
	}
	*to.(*int64) = n
	return ""
}

func setProfile(to, value any, _ paths.Dirs) string {
	s, _ := value.(string)
	if !slices.Contains(Profiles, s) {
		return expected(strings.Join(Profiles, ", "), value)
	}
	*to.(*string) = s
	return ""
}

func setBool(to, value any, _ paths.Dirs) string {
	b, ok := value.(bool)
	if !ok {
		return expected("true or false", value)
	}
	*to.(*bool) = b
	return ""
}

func setText(to, value any, _ paths.Dirs) string {
	s, ok := value.(string)
	if !ok || strings.Contains(s, "\x00") {
		return expected("text", value)
	}
	*to.(*string) = s
	return ""
}

func setPaths(to, value any, d paths.Dirs) string {
	list, why := stringList(value)
	for _, p := range list {
		if p != "~" && !strings.HasPrefix(p, "~/") && !filepath.IsAbs(p) {
			return fmt.Sprintf("%q is neither absolute nor below ~/", p)
		}
		if rest, ok := strings.CutPrefix(p, "~"); ok {
			p = d.Home + rest
		}
		path, err := paths.Canonical("/", p)
		if err != nil {
			return err.Error()
		}
		if wide := d.TooWide(path); wide != "" {
			return fmt.Sprintf("%s can't be writable: %s", path, wide)
		}
		*to.(*[]string) = append(*to.(*[]string), path)
	}
	return why
}

func isVariable(name string) bool {
	const first = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return name != "" && strings.Contains(first, name[:1]) && strings.Trim(name, first+"0123456789") == ""
}

func setNames(to, value any, _ paths.Dirs) string {
	list, why := stringList(value)
	for _, name := range list {
		switch {
		case !isVariable(name):
			return fmt.Sprintf("%q is not the name of a variable", name)
		case strings.HasPrefix(name, "KX_"):
			return fmt.Sprintf("%s is kx's own and never given to commands", name)
		case looksSecret(name):
			return fmt.Sprintf("%s looks like a secret, which commands never get", name)
		}
	}
	*to.(*[]string) = append([]string{}, list...)
	return why
}

// secretWords mark the name of a variable whose value is a secret, as a word of
// it; secretParts do so anywhere in it.
var (
	secretWords = []string{"KEY", "KEYS", "PASS", "PAT", "PWD", "AUTH", "CREDS", "COOKIE", "COOKIES", "DSN"}
	secretParts = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "PRIVATEKEY", "ACCESSKEY", "CREDENTIAL"}
)

func looksSecret(name string) bool {
	name = strings.ToUpper(name)
	for _, w := range strings.Split(name, "_") {
		if slices.Contains(secretWords, w) && name != "PWD" { // that one is the current folder
			return true
		}
	}
	return slices.ContainsFunc(secretParts, func(p string) bool { return strings.Contains(name, p) })
}

func stringList(value any) (list []string, why string) {
	items, ok := value.([]any)
	if !ok {
		return nil, expected("a list of strings", value)
	}
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil, expected("a list of strings", value)
		}
		list = append(list, s)
	}
	return list, ""
}

// expected says what a value should have been. It shows no more of it than
// helps to find it.
func expected(what string, value any) string {
	const most = 60
	got := fmt.Sprintf("%v", value)
	if s, ok := value.(string); ok {
		got = fmt.Sprintf("%q", s)
	}
	if len(got) > most {
		got = got[:most] + "..."
	}
	return fmt.Sprintf("expected %s, got %s", what, got)
}

func deref(p any) any {
	switch p := p.(type) {
	case *string:
		return *p
	case *int64:
		return *p
	case *bool:
		return *p
	}
	return *p.(*[]string)
}
