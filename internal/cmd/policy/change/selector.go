package change

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/grant"
	"github.com/kxtools/kx/pkg/wire"
)

// selector is a rule as it is given by flags: what add writes and remove looks for.
type selector struct {
	Scope    string
	Tool     string
	Effect   string
	Command  string
	Path     string
	URL      string
	Input    *cli.StringSlice
	Decision string
	Final    bool
	Sandbox  string
	Glob     bool
}

func (s *selector) flags() []cli.Flag {
	s.Input = cli.NewStringSlice()
	return []cli.Flag{
		&cli.StringFlag{Name: "scope", Value: "user", Usage: "the `SCOPE` of the rule: user, or session with --session ID", Destination: &s.Scope},
		&cli.StringFlag{Name: "tool", Usage: "of the rule: the `TOOL` that it speaks for", Destination: &s.Tool},
		&cli.StringFlag{Name: "effect", Usage: "of the rule: only this `EFFECT`, read, write, exec or net", Destination: &s.Effect},
		&cli.StringFlag{Name: "command", Usage: "of the rule: the `WORDS` of one command", Destination: &s.Command},
		&cli.StringFlag{Name: "path", Usage: "of the rule: a `PATH`, absolute, ~/ or from the workspace", Destination: &s.Path},
		&cli.StringFlag{Name: "url", Usage: "of the rule: an `URL`, or a host with all that is on it", Destination: &s.URL},
		&cli.StringSliceFlag{Name: "input", Usage: "of the rule: `FIELD=VALUE` of the input", Destination: s.Input},
		&cli.StringFlag{Name: "decision", Usage: "of the rule: `WORD`, allow, ask or deny", Destination: &s.Decision},
		&cli.BoolFlag{Name: "final", Usage: "of a deny: no rule stands above it", Destination: &s.Final},
		&cli.StringFlag{Name: "sandbox", Usage: "of a rule for commands: `host` runs them without the sandbox", Destination: &s.Sandbox},
		&cli.BoolFlag{Name: "glob", Usage: "take * in the values as any rest, not as itself", Destination: &s.Glob},
	}
}

var selectorValues = map[string]app.Completer{
	"scope": app.Values("user", "session"), "tool": app.Values(catalogue.Names()...), "effect": app.Values("read", "write", "exec", "net"),
	"decision": app.Values("allow", "ask", "deny"), "sandbox": app.Values("host"),
}

func (s *selector) empty() bool {
	return s.Tool == "" && s.Effect == "" && s.Command == "" && s.Path == "" && s.URL == "" && len(s.Input.Value()) == 0 && s.Decision == "" && !s.Final && s.Sandbox == ""
}

// scope returns the scope, which has to be one that a person's rules stand in.
func (s *selector) scope(session string) (policy.Scope, error) {
	switch {
	case s.Scope == "user":
		return policy.User, nil
	case s.Scope == "session" && session == "":
		return 0, fail.Usage("--scope session needs --session ID").WithHint("kx agent list")
	case s.Scope == "session":
		return policy.Session, nil
	case s.Scope == "project":
		return 0, fail.Usage("the project's rules are its own: write them into .kx/policy.toml, then trust it").WithHint("kx trust add")
	}
	return 0, fail.Usage("--scope %q: expected user or session", s.Scope).WithHint("kx policy add --help")
}

// rule makes the rule: literal, so that it matches exactly what was given, unless
// globs are welcome.
func (s *selector) rule(scope policy.Scope) (policy.Rule, error) {
	r := policy.Rule{
		Tool: s.Tool, Effect: s.Effect, Command: s.Command, Path: s.Path, URL: s.URL, Decision: wire.Verdict(s.Decision),
		Final: s.Final, Sandbox: s.Sandbox, Scope: scope, Origin: policy.Static,
	}
	for _, kv := range s.Input.Value() {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return r, fail.Usage("--input %q: expected FIELD=VALUE", kv).WithHint("kx policy add --help")
		}
		if _, twice := r.Input[k]; twice {
			return r, fail.Usage("--input %s is given twice", k)
		}
		if r.Input == nil {
			r.Input = map[string]string{}
		}
		r.Input[k] = v
	}
	if s.Glob {
		return r, nil
	}
	star := func(flag, v string) error {
		if strings.Contains(v, "*") {
			return fail.Usage("--%s %q: a * there is always any rest, which --glob has to allow", flag, v).WithHint("kx policy add --glob --%s '%s'", flag, v)
		}
		return nil
	}
	if err := star("tool", s.Tool); err != nil {
		return r, err
	}
	for k, v := range r.Input {
		if err := star("input", k+"="+v); err != nil {
			return r, err
		}
	}
	if r.Command != "" {
		text, _, err := grant.Words(r.Command)
		if err != nil {
			return r, fail.Usage("--command %q: %v", r.Command, err).WithHint("kx policy add --help")
		}
		r.Command = text
	}
	r.Path, r.URL = grant.EscapePath(r.Path), grant.EscapeURL(r.URL)
	return r, nil
}

// starred reports whether a value holds a * that is taken as itself.
func (s *selector) starred() bool {
	return !s.Glob && strings.Contains(s.Command+s.Path+s.URL, "*")
}
