package policy

import (
	"fmt"
	"path"
	"strings"

	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/wire"
)

// Finding is something that lint has to say of a rule.
type Finding struct {
	Code   string // shadowed, duplicate, dead, allow_all, runs_files, unknown_tool
	Rule   Rule
	Detail string
}

// runners are programs that run files or code of the workspace: a rule that
// allows them with any arguments allows whatever those files say.
var runners = map[string]bool{
	"make": true, "npm": true, "npx": true, "yarn": true, "pnpm": true, "node": true, "deno": true, "bun": true, "python": true,
	"python3": true, "ruby": true, "perl": true, "php": true, "bash": true, "sh": true, "zsh": true, "go": true, "cargo": true,
	"mvn": true, "gradle": true, "just": true, "task": true, "tox": true, "pytest": true, "env": true, "xargs": true, "sudo": true,
	"docker": true, "ssh": true, "find": true, "awk": true, "rake": true, "bundle": true, "composer": true, "uv": true, "poetry": true,
}

// subcommands are words behind which a runner runs what follows, or what the
// files of the workspace say.
var subcommands = map[string]bool{
	"run": true, "test": true, "exec": true, "x": true, "start": true, "generate": true, "install": true, "ci": true,
	"build": true, "check": true, "-m": true, "-c": true, "-e": true, "dlx": true,
}

// runsFiles reports whether a command that begins with the words, and may go on
// in any way, runs files or code that it is given.
func runsFiles(words []string) bool {
	switch {
	case len(words) == 0 || !runners[path.Base(words[0])]:
		return false
	case len(words) == 1:
		return true
	}
	return len(words) == 2 && subcommands[words[1]]
}

// Lint looks for rules that do nothing, or far more than they seem to.
func (s *Set) Lint() []Finding {
	var out []Finding
	byConditions := map[string]*rule{}
	for _, r := range s.rules {
		if r.Scope == Builtin {
			continue
		}
		add := func(code, format string, args ...any) {
			out = append(out, Finding{Code: code, Rule: r.Rule, Detail: fmt.Sprintf(format, args...)})
		}
		if !strings.HasSuffix(r.name, "*") {
			if _, ok := catalogue.Lookup(r.name); !ok {
				if near := catalogue.Suggest(r.name); near != "" {
					add("unknown_tool", "no tool is called %s; did you mean %s?", r.name, near)
				} else {
					add("unknown_tool", "no tool is called %s", r.name)
				}
			}
		} else if r.name != "*" && !s.prefixMeets(r) {
			add("unknown_tool", "no built-in tool starts with %s", strings.TrimSuffix(r.name, "*"))
		}
		if why := s.neverSpeaks(r); why != "" {
			add("dead", "%s", why)
			continue
		}
		key := fmt.Sprintf("%d %s %s %q %q %q %v", r.Scope, r.name, r.Effect, r.Command, r.Path, r.URL, r.Input)
		if first := byConditions[key]; first != nil {
			switch {
			case first.Decision == r.Decision:
				add("duplicate", "the rule at %s says the same", first.Source())
			case first.Decision.Worse(r.Decision):
				add("shadowed", "the rule at %s has the same conditions and is stricter", first.Source())
			default:
				out = append(out, Finding{Code: "shadowed", Rule: first.Rule, Detail: fmt.Sprintf("the rule at %s has the same conditions and is stricter", r.Source())})
				byConditions[key] = r
			}
			continue
		}
		byConditions[key] = r
		if r.Decision == wire.Allow {
			s.lintAllow(r, add)
		}
	}
	return out
}

func (s *Set) lintAllow(r *rule, add func(string, string, ...any)) {
	for _, o := range s.rules {
		if o.Final && o.conditions == 0 && (o.Effect == "" || o.Effect == r.Effect) && o.fits(r.name) {
			add("shadowed", "the final deny at %s stands above every allow", o.Source())
			return
		}
	}
	switch {
	case r.conditions == 0 && r.name == "*" && r.Effect == "":
		add("allow_all", "it allows every tool")
	case r.conditions == 0 && r.fits("bash") && (r.Effect == "" || r.Effect == catalogue.Exec):
		add("allow_all", "it allows every command")
	case r.Command != "" && r.fits("bash") && r.command.Rest && len(r.command.Words) == 0:
		add("allow_all", "it allows every command")
	case r.Command != "" && r.fits("bash") && r.command.Rest && runsFiles(r.command.Words):
		add("runs_files", "%s runs whatever files or arguments say, so this allows every command", r.command.Program())
	case r.Path != "" && r.Effect != catalogue.Read && (r.path.Glob == "**" || r.path.Glob == "**/*"):
		add("allow_all", "it allows every path")
	}
}

// neverSpeaks returns why no point can meet the rule.
func (s *Set) neverSpeaks(r *rule) string {
	if catalogue.IsMCP(r.name) {
		return "" // what an MCP tool takes is not known here
	}
	met := false
	for _, name := range catalogue.Names() {
		entry, ok := catalogue.Lookup(name)
		if ok && r.fits(name) {
			met = true
			if r.mayConcern(&entry) {
				return ""
			}
		}
	}
	if !met {
		return ""
	}
	return fmt.Sprintf("%s has no effect or input that these conditions speak of", r.name)
}

func (s *Set) prefixMeets(r *rule) bool {
	p := strings.TrimSuffix(r.name, "*")
	if strings.HasPrefix("mcp__", p) || catalogue.IsMCP(p) {
		return true
	}
	for _, n := range catalogue.Names() {
		if strings.HasPrefix(n, p) {
			return true
		}
	}
	return false
}
