package provider

import (
	"fmt"
	"maps"
	"math"
	"net"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
)

const (
	// maxName bounds the names of providers, accounts and roles: those of slots have
	// no longer words.
	maxName = 64
	// maxModel bounds the names of models. The longest have about 100 bytes.
	maxModel = 128
	// maxTokens is above every window that is offered, and far from where sums of
	// tokens overflow.
	maxTokens = 1 << 30
	// maxPrice is above every price that is asked for a million tokens: more is a
	// slip, of dollars for one.
	maxPrice = 100_000
)

// Line is a key of the file with its value, or the head of a table.
type Line struct {
	Path  []string
	Name  string // the path as it is written
	N     int
	Table bool
	Each  bool // the head of one of several tables
	Value any
}

// The tables that this package reads.
const (
	tableOfProviders = "providers"
	tableOfRoles     = "roles"
)

// Tables are their names.
var Tables = []string{tableOfProviders, tableOfRoles}

// keys are all keys; * is a name. Without set it is a table.
var keys = []struct {
	path string
	set  func(r *reader, path []string, value any) (why string)
}{
	{"providers", nil},
	{"providers.*", nil},
	{"providers.*.kind", func(r *reader, p []string, v any) string { return oneOf(&r.provider(p[1]).Kind, v, Kinds) }},
	{"providers.*.base_url", func(r *reader, p []string, v any) string { return address(&r.provider(p[1]).BaseURL, v) }},
	{"providers.*.key_slot", func(r *reader, p []string, v any) string { return slot(&r.account(p[1], Default).Slot, v) }},
	{"providers.*.key_env", func(r *reader, p []string, v any) string { return variable(&r.account(p[1], Default).Env, v) }},
	{"providers.*.accounts", nil},
	{"providers.*.accounts.*", nil},
	{"providers.*.accounts.*.key_slot", func(r *reader, p []string, v any) string { return slot(&r.account(p[1], p[3]).Slot, v) }},
	{"providers.*.accounts.*.key_env", func(r *reader, p []string, v any) string { return variable(&r.account(p[1], p[3]).Env, v) }},
	{"providers.*.models", nil},
	{"providers.*.models.*", nil},
	{"providers.*.models.*.context", func(r *reader, p []string, v any) string { return tokens(&r.model(p[1], p[3]).Context, v) }},
	{"providers.*.models.*.max_output", func(r *reader, p []string, v any) string { return tokens(&r.model(p[1], p[3]).MaxOutput, v) }},
	{"providers.*.models.*.thinking", func(r *reader, p []string, v any) string { return tokens(&r.model(p[1], p[3]).Thinking, v) }},
	{"providers.*.models.*.effort", func(r *reader, p []string, v any) string { return name(&r.model(p[1], p[3]).Effort, v) }},
	{"providers.*.models.*.price", nil},
	{"providers.*.models.*.price.input", func(r *reader, p []string, v any) string { return dollars(&r.price(p[1], p[3]).Input, v) }},
	{"providers.*.models.*.price.output", func(r *reader, p []string, v any) string { return dollars(&r.price(p[1], p[3]).Output, v) }},
	{"providers.*.models.*.price.cache_read", func(r *reader, p []string, v any) string { return dollars(&r.price(p[1], p[3]).CacheRead, v) }},
	{"providers.*.models.*.price.cache_write", func(r *reader, p []string, v any) string { return dollars(&r.price(p[1], p[3]).CacheWrite, v) }},
	{"roles", nil},
	{"roles.*", nil},
	{"roles.*.model", func(r *reader, p []string, v any) string { return modelID(r.role(p[1]), v) }},
	{"roles.*.account", func(r *reader, p []string, v any) string { return name(&r.role(p[1]).Account, v) }},
	{"roles.*.fallback", func(r *reader, p []string, v any) string { return names(&r.role(p[1]).Fallback, v) }},
}

// literal are the keys in which people write a key itself.
var literal = []string{"key", "api_key", "apikey", "api-key", "token", "auth_token", "access_token", "bearer", "secret", "password"}

// reader fills a catalog from the lines of one file.
type reader struct {
	*Catalog
	file string
}

// read takes over one line.
func (r *reader) read(l Line) error {
	names := map[string]bool{} // the names that stand beside what is not known
	for _, k := range keys {
		parts := strings.Split(k.path, ".")
		if len(parts) != len(l.Path) {
			continue
		}
		switch n := len(parts) - 1; {
		case !fits(parts[:n], l.Path[:n]):
			continue
		case parts[n] != "*" && parts[n] != l.Path[n]:
			names[parts[n]] = true
			continue
		}
		for i, part := range parts {
			if part == "*" {
				if why := checkName(l.Path[i], i == 3 && l.Path[2] == "models"); why != "" {
					return r.at(l, "%s: %s", l.Name, why)
				}
			}
		}
		switch {
		case k.set == nil && (!l.Table || l.Each):
			return r.at(l, "%s: expected a table, [%s]", l.Name, l.Name)
		case k.set != nil && (l.Table || l.Each):
			return r.at(l, "%s: it is no table", l.Name)
		}
		r.touch(l)
		if k.set != nil {
			if why := k.set(r, l.Path, l.Value); why != "" {
				return r.at(l, "%s: %s", l.Name, why)
			}
		}
		return nil
	}
	last := l.Path[len(l.Path)-1]
	if l.Path[0] == tableOfProviders && slices.Contains(literal, strings.ToLower(last)) {
		return r.literal(l)
	}
	if better := argv.Nearest(last, slices.Sorted(maps.Keys(names))); better != "" {
		return r.at(l, "unknown key %q; did you mean %s?", l.Name, better)
	}
	return r.at(l, "unknown key %q", l.Name)
}

// literal refuses a key that stands in the file, and doesn't repeat it.
func (r *reader) literal(l Line) error {
	account := Default
	if len(l.Path) > 4 && l.Path[2] == "accounts" {
		account = l.Path[3]
	}
	if len(l.Path) < 3 || checkName(l.Path[1], false) != "" || checkName(account, false) != "" {
		return r.at(l, "%s: a key never stands in a file of settings; put it in a slot", l.Name).WithHint("kx secret list")
	}
	s := "model." + l.Path[1] + "." + account
	return r.at(l, "%s: a key never stands in a file of settings; put it in a slot with kx secret set, and name it here: key_slot = %q", l.Name, s).
		WithHint("kx secret set %s", s)
}

func fits(pattern, path []string) bool {
	for i, p := range pattern {
		if p != "*" && p != path[i] {
			return false
		}
	}
	return true
}

// touch makes what a line is about, and writes down where it stands.
func (r *reader) touch(l Line) {
	for n := 1; n <= len(l.Path); n++ {
		if at := join(l.Path[:n]); r.Catalog.at[at] == "" {
			r.Catalog.at[at] = fmt.Sprintf("%s:%d", r.file, l.N)
		}
	}
	switch p := l.Path; {
	case len(p) > 3 && p[2] == "accounts":
		r.account(p[1], p[3])
	case len(p) > 3 && p[2] == "models":
		r.model(p[1], p[3])
	case len(p) > 1 && p[0] == tableOfProviders:
		r.provider(p[1])
	case len(p) > 1:
		r.role(p[1])
	}
}

func (r *reader) provider(name string) *Provider {
	p := r.Catalog.Provider(name)
	if p == nil {
		p = &Provider{Name: name}
		r.Providers = append(r.Providers, p)
	}
	return p
}

func (r *reader) account(of, name string) *Account {
	p := r.provider(of)
	a := p.Account(name)
	if a == nil {
		a = &Account{Name: name}
		if name == Default {
			p.Accounts = slices.Insert(p.Accounts, 0, a)
		} else {
			p.Accounts = append(p.Accounts, a)
		}
	}
	return a
}

func (r *reader) model(of, name string) *Model {
	p := r.provider(of)
	m := p.Model(name)
	if m == nil {
		m = &Model{Name: name}
		p.Models = append(p.Models, m)
	}
	return m
}

func (r *reader) price(of, name string) *Price {
	m := r.model(of, name)
	if m.Price == nil {
		m.Price = &Price{}
	}
	return m.Price
}

func (r *reader) role(name string) *Role {
	o := r.Catalog.Role(name)
	if o == nil {
		o = &Role{Name: name}
		r.Roles = append(r.Roles, o)
	}
	return o
}

func (r *reader) at(l Line, format string, args ...any) *fail.Error {
	return wrong(fmt.Sprintf("%s:%d", r.file, l.N), format, args...)
}

func wrong(at, format string, args ...any) *fail.Error {
	return fail.Config("%s: %s", at, fmt.Sprintf(format, args...)).WithHint("kx config validate")
}

// checkName says what is wrong with a name. Models have any that can be typed: theirs
// are not ours.
func checkName(s string, model bool) string {
	const first, rest = "abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz0123456789-_"
	most := maxName
	if model {
		most = maxModel
	}
	switch {
	case s == "" || len(s) > most:
		return fmt.Sprintf("a name has 1 to %d characters", most)
	case model && strings.ContainsFunc(s, func(c rune) bool { return c == ' ' || !unicode.IsGraphic(c) || c == unicode.ReplacementChar }):
		return "the name of a model has no spaces and nothing that can't be seen"
	case !model && (!strings.Contains(first, s[:1]) || strings.Trim(s, rest) != ""):
		return "a name is of lower-case letters, digits, - and _"
	}
	return ""
}

// CheckModel says what is wrong with the name of a model, "" for nothing.
func CheckModel(s string) string { return checkName(s, true) }

func name(to *string, v any) string {
	s, ok := v.(string)
	if !ok {
		return "expected a name"
	}
	*to = s
	return checkName(s, false)
}

func names(to *[]string, v any) string {
	list, ok := v.([]any)
	if !ok {
		return "expected a list of roles"
	}
	for _, item := range list {
		var s string
		if why := name(&s, item); why != "" {
			return why
		}
		*to = append(*to, s)
	}
	return ""
}

func oneOf(to *string, v any, all []string) string {
	s, _ := v.(string)
	if !slices.Contains(all, s) {
		return "expected " + strings.Join(all, ", ")
	}
	*to = s
	return ""
}

// modelID reads provider/model.
func modelID(to *Role, v any) string {
	s, _ := v.(string)
	p, m, ok := strings.Cut(s, "/")
	if !ok || checkName(p, false) != "" || checkName(m, true) != "" {
		return "expected PROVIDER/MODEL"
	}
	to.Provider, to.Model = p, m
	return ""
}

// slot reads the name of a slot. What is not one may be a key: it is not repeated.
func slot(to *string, v any) string {
	s, _ := v.(string)
	parts := strings.Split(s, ".")
	if len(parts) != 3 || parts[0] != "model" || checkName(parts[1], false) != "" || checkName(parts[2], false) != "" {
		return "expected the name of a slot, model.PROVIDER.ACCOUNT, not a key"
	}
	*to = s
	return ""
}

// variable reads the name of a variable, in capitals as they are written: a key is
// hardly ever like that. What is not one is not repeated.
func variable(to *string, v any) string {
	const first = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	s, _ := v.(string)
	switch {
	case s == "" || !strings.Contains(first, s[:1]) || strings.Trim(s, first+"0123456789") != "":
		return "expected the name of a variable in capitals, as ANTHROPIC_API_KEY, not a key"
	case strings.HasPrefix(s, "KX_"):
		return "the variables of kx hold no keys"
	}
	*to = s
	return ""
}

// address reads where a provider is. It may hold a password, so it is not repeated.
func address(to *string, v any) string {
	s, _ := v.(string)
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "expected an http or https address"
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "expected an address without a password, a query or a fragment"
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return "a key must not travel in clear: expected https, which only this machine needs not"
	}
	*to = strings.TrimRight(s, "/")
	return ""
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func tokens(to *int64, v any) string {
	n, ok := v.(int64)
	if !ok || n <= 0 || n > maxTokens {
		return fmt.Sprintf("expected a number of tokens from 1 to %d", maxTokens)
	}
	*to = n
	return ""
}

func dollars(to *float64, v any) string {
	n, ok := v.(float64)
	if i, whole := v.(int64); whole {
		n, ok = float64(i), true
	}
	if !ok || math.IsNaN(n) || n < 0 || n > maxPrice {
		return fmt.Sprintf("expected US dollars a million tokens, from 0 to %d", maxPrice)
	}
	*to = n
	return ""
}
