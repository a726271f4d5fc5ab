package lint

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/policy/rulefile"
	"github.com/kxtools/kx/pkg/wire"
)

// load reads rules of a short form: keys and values, one rule a line. A line that
// begins with + is the project's.
func load(t testing.TB, text string) []policy.Rule {
	t.Helper()
	var all []policy.Rule
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		scope := policy.User
		line = strings.TrimSpace(line)
		if l, ok := strings.CutPrefix(line, "+"); ok {
			scope, line = policy.Project, l
		}
		f, err := rulefile.Parse([]byte("[[rule]]\n"+strings.ReplaceAll(line, ";", "\n")), scope.String(), scope)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		f.Rules[0].Line = i + 1
		all = append(all, f.Rules...)
	}
	return all
}

func TestRules(t *testing.T) {
	for _, tt := range []struct{ rules, want string }{
		{`tool="raed_file";decision="deny"`, "unknown_tool 1"},
		{`tool="frob*";decision="deny"`, "unknown_tool 1"},
		{`tool="mcp__x__*";decision="deny"`, ""},
		// What no call can meet.
		{`tool="web_fetch";path="x";decision="deny"`, "dead 1"},
		{`tool="read_file";effect="write";decision="deny"`, "dead 1"},
		{`tool="bash";command="tee *";path="x";decision="allow"`, "dead 1"},
		{`tool="bash";command="tee *";effect="write";path="x";decision="allow"`, ""},
		{`path="x";url="https://a.b";decision="ask"`, "dead 1"},
		{`tool="mcp__a__b";command="x";decision="deny"`, "dead 1"},
		{`tool="bash";command="timeout 5 frob x";decision="allow"`, "dead 1"},
		{`tool="bash";command="timeout 5 frob x";decision="deny"`, ""},
		{`tool="bash";command="cd x";decision="allow"`, "dead 1"},
		{`tool="bash";command="git status *";decision="allow"`, ""},
		{`tool="bash";command="'a b' 'c,d' *";decision="allow"`, ""},
		// What another one decides every time.
		{"tool=\"write_file\";path=\"a\";decision=\"allow\"\n tool=\"write_file\";path=\"a\";decision=\"deny\"", "shadowed 1"},
		{"tool=\"bash\";command=\"git push *\";decision=\"deny\"\n tool=\"bash\";command=\"git push origin\";decision=\"allow\"", "shadowed 2"},
		{"tool=\"bash\";command=\"git push *\";decision=\"deny\"\n tool=\"bash\";command=\"git *\";decision=\"ask\"", ""},
		{"tool=\"bash\";command=\"/bin/rm *\";decision=\"ask\"\n tool=\"bash\";command=\"rm x\";decision=\"allow\"", "shadowed 2"},
		{"tool=\"bash\";command=\"rm *\";decision=\"deny\"\n +tool=\"bash\";command=\"rm *\";decision=\"allow\"", ""},
		{"tool=\"bash\";command=\"rm *\";decision=\"ask\"\n +tool=\"bash\";decision=\"deny\"", "shadowed 1"},
		{"tool=\"bash\";decision=\"ask\"\n +tool=\"bash\";decision=\"deny\"", "shadowed 1"},
		{"tool=\"bash\";command=\"ls\";decision=\"allow\"\n +tool=\"bash\";decision=\"ask\"", "shadowed 1"},
		{"tool=\"write_file\";path=\"docs/a.md\";decision=\"allow\"\n path=\"docs/**\";decision=\"deny\"", "shadowed 1"},
		{"tool=\"write_file\";path=\"docs/a.md\";decision=\"allow\"\n effect=\"write\";path=\"**/*.md\";decision=\"ask\"", "shadowed 1"},
		{"path=\"docs/a.md\";decision=\"allow\"\n effect=\"write\";path=\"**/*.md\";decision=\"ask\"", ""},
		{"path=\"/etc/x\";decision=\"allow\"\n path=\"etc/**\";decision=\"deny\"", ""},
		{"tool=\"edit_file\";decision=\"deny\";final=true\n tool=\"edit_file\";path=\"b\";decision=\"allow\"", "shadowed 2"},
		{"tool=\"web_fetch\";url=\"https://a.b/c/**\";decision=\"allow\"\n url=\"https://a.b\";decision=\"deny\"", "shadowed 1"},
		{"tool=\"web_fetch\";url=\"https://a.bc\";decision=\"allow\"\n url=\"https://a.b\";decision=\"deny\"", ""},
		{"tool=\"mcp__g__p\";input.b=\"main\";decision=\"allow\"\n tool=\"mcp__g__*\";input.b=\"m*\";decision=\"deny\"", "shadowed 1"},
		{"tool=\"read_file\";decision=\"allow\"\n tool=\"read*\";decision=\"deny\"", ""},
		// What another one says, too.
		{"tool=\"bash\";command=\"a\";decision=\"allow\"\n tool=\"bash\";command=\"a\";decision=\"allow\"", "duplicate 2"},
		{"tool=\"bash\";command=\"a b\";decision=\"allow\"\n tool=\"bash\";command=\"a *\";decision=\"allow\"", "duplicate 1"},
		{"tool=\"bash\";command=\"a b\";decision=\"allow\"\n tool=\"bash\";command=\"a *\";decision=\"allow\";sandbox=\"host\"", ""},
		{"tool=\"bash\";command=\"a b\";decision=\"allow\"\n +tool=\"bash\";command=\"a b\";decision=\"allow\"", "shadowed 1"},
		// What allows everything of its kind.
		{`decision="allow"`, "allow_all 1"},
		{`effect="write";decision="allow"`, "allow_all 1"},
		{`tool="bash";decision="allow"`, "allow_all 1"},
		{`tool="ba*";decision="allow"`, "allow_all 1"},
		{`tool="bash";effect="exec";decision="allow"`, "allow_all 1"},
		{`tool="bash";command="*";decision="allow"`, "allow_all 1"},
		{`tool="bash";input.command="git *";decision="allow"`, "allow_all 1"},
		{`tool="mcp__*";decision="allow"`, "allow_all 1"},
		{`tool="mcp__git__*";decision="allow"`, ""},
		{`tool="write_file";path="**";decision="allow"`, "allow_all 1"},
		{`path="~/**";decision="allow"`, "allow_all 1"},
		{`path="/**/*";effect="write";decision="allow"`, "allow_all 1"},
		{`tool="read_file";path="**";decision="allow"`, ""},
		{`path="docs/**";decision="allow"`, ""},
		{`url="https://**";decision="allow"`, "allow_all 1"},
		{`url="*://*/**";decision="allow"`, "allow_all 1"},
		{`url="https://*.example.com/**";decision="allow"`, ""},
	} {
		all := load(t, tt.rules)
		if _, err := policy.Compile(all); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range Rules(all) {
			got = append(got, fmt.Sprintf("%s %d", f.Code, f.Rule.Line))
			if f.Detail == "" || f.Remedy == "" {
				t.Errorf("%s: %+v", tt.rules, f)
			}
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.rules, strings.Join(got, ", "), tt.want)
		}
	}
}

// Commands that come to "anything", and some that do not.
func TestTooMuch(t *testing.T) {
	for command, want := range map[string]string{
		"bash *": AllowAll, "bash -c *": AllowAll, "/bin/sh *": AllowAll, "sh -lc *": AllowAll, "bash": AllowAll, "python3.12 *": AllowAll,
		"python": AllowAll, "python -m *": AllowAll, "node -e *": AllowAll, "perl -e *": AllowAll, "env *": AllowAll, "sudo *": AllowAll, "sudo -E *": AllowAll,
		"xargs *": AllowAll, "xargs": "", "find *": AllowAll, "find . *": "", "awk *": AllowAll, "eval *": AllowAll, "docker run *": AllowAll, "kubectl exec *": AllowAll,
		"timeout *": AllowAll, "ssh *": AllowAll, "make *": RunsFiles, "npm *": RunsFiles, "npm run *": RunsFiles, "npx *": RunsFiles, "go run *": RunsFiles, "cargo test *": RunsFiles,
		"npm run build": "", "npm ls *": "", "make test": "", "git *": AllowAll, "vim *": AllowAll, "git status *": "", "ls *": "", "python manage.py *": "", "bash build.sh": "", "rm *": "", "docker ps *": "", "go vet *": "", "cat *": "",
	} {
		got := ""
		for _, f := range Rules([]policy.Rule{{Tool: "bash", Command: command, Decision: wire.Allow, Scope: policy.User}}) {
			got = f.Code
		}
		if got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// winners are the rules that decide a point of a call.
func winners(d *wire.Decision) map[string]bool {
	won := map[string]bool{}
	add := func(points []wire.Point) {
		for _, p := range points {
			// Where a deny can't be ruled out that decides, whichever rule is named.
			if p.Rule != nil && !(d.Mandatory && p.Decision == wire.Ask) {
				won[p.Rule.Source] = true
			}
		}
	}
	add(d.Points)
	for _, l := range d.Leaves {
		add(l.Points)
	}
	return won
}

// What is said to be shadowed, dead or a duplicate is: without that rule every call
// comes to the same, and no call is decided by a rule that can't be.
func TestProofs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	env := &policy.Env{Workspace: "/ws", Cwd: "/ws", Home: "/home/u"}
	var calls []policy.Call
	add := func(tool string, in map[string]string) {
		raw, _ := json.Marshal(in)
		calls = append(calls, policy.Call{Tool: tool, Input: raw})
	}
	for _, c := range []string{
		"git push", "git push origin", "/usr/bin/git push x", "git $x", "$g push", "git", "git status > docs/a.md", "cat docs/a.md /etc/x", "timeout 5 git push", "cd docs && git push",
		"curl https://a.b/c/d", "curl https://x.y/", "tee docs/b.md", "frob docs/a.md", "cat docs/*", "> docs/a.md", "git push docs/a.md", "if true; then git push; fi", "eval git push",
	} {
		add("bash", map[string]string{"command": c})
	}
	for _, p := range []string{"docs/a.md", "docs", "docs/sub/b.md", "x", "/etc/x", "../x", "/home/u/docs/a.md", ".", "docs/b.txt"} {
		for _, tool := range []string{"read_file", "write_file", "edit_file", "list_files"} {
			add(tool, map[string]string{"path": p, "content": "x"})
		}
		add("mcp__g__p", map[string]string{"file": p, "b": "main"})
	}
	for _, u := range []string{"https://a.b/c/d", "https://a.b/", "http://a.b/c", "https://x.y/z"} {
		add("web_fetch", map[string]string{"url": u})
	}
	add("todo_write", map[string]string{})
	add("mcp__g__q", map[string]string{"b": "m"})

	random := func() policy.Rule {
		r := policy.Rule{
			Tool:     pick("", "bash", "ba*", "read_file", "write_file", "edit*", "mcp__g__p", "mcp__g__*", "web_fetch", "w*", "*"),
			Effect:   pick("", "", "", "read", "write", "exec", "net"),
			Decision: wire.Verdict(pick("allow", "ask", "deny")),
			Scope:    policy.User, Origin: policy.Static,
		}
		if rnd.IntN(4) == 0 {
			r.Scope = policy.Project
		}
		switch rnd.IntN(5) {
		case 0:
			r.Command = pick("git push *", "git push", "git *", "git push origin", "*", "/usr/bin/git push *", "timeout *", "cat *", "tee *")
		case 1:
			r.Path = pick("docs/**", "docs/a.md", "**", "**/*.md", "**/a.md", "docs/*", "/etc/**", "/etc/x", "~/docs/**", "docs/{a,b}.md", "docs/sub/")
		case 2:
			r.URL = pick("https://a.b", "https://a.b/c/**", "https://**", "*://a.b/c/**", "https://a.b/c/d")
		case 3:
			if r.Tool != "bash" {
				r.Input = map[string]string{"b": pick("main", "m*", "*")}
			}
		}
		if rnd.IntN(6) == 0 && r.Command == "" {
			r.Input = map[string]string{"b": pick("main", "m*")}
		}
		if r.Command != "" && rnd.IntN(3) == 0 {
			r.Path = pick("docs/**", "docs/a.md", "**")
		}
		r.Final = r.Decision == wire.Deny && rnd.IntN(4) == 0
		return r
	}
	found := map[string]int{}
	for range 1500 {
		// While any rule denies commands or paths, what can't be read asks a person.
		all := []policy.Rule{
			{Tool: "bash", Command: "no-such-program", Decision: wire.Deny, Scope: policy.User, File: "user", Line: 1},
			{Tool: "bash", Effect: "read", Path: "/no/such/file", Decision: wire.Deny, Scope: policy.User, File: "user", Line: 2},
		}
		for len(all) < 7 {
			r := random()
			if r.File, r.Line = r.Scope.String(), len(all)+1; policy.Check(&r) == nil {
				all = append(all, r)
			}
		}
		set, err := policy.Compile(all)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range Rules(set.Rules()) {
			if f.Code != Shadowed && f.Code != Duplicate && f.Code != Dead || f.Rule.Scope == policy.User && f.Rule.Line <= 2 {
				continue
			}
			found[f.Code]++
			var rest []policy.Rule
			for _, r := range all {
				if r.Source() != f.Rule.Source() {
					rest = append(rest, r)
				}
			}
			without, err := policy.Compile(rest)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range calls {
				a, b := set.Explain(c, mode.Default, env), without.Explain(c, mode.Default, env)
				if a.BaseDecision != b.BaseDecision {
					t.Fatalf("%s (%s)\n%+v\nof %+v\n%s %s: %s, without it %s", f.Code, f.Detail, f.Rule, all, c.Tool, c.Input, a.BaseDecision, b.BaseDecision)
				}
				if won := winners(a); f.Code != Duplicate && won[f.Rule.Source()] {
					t.Fatalf("%s (%s)\n%+v\nof %+v\nbut it decides %s %s", f.Code, f.Detail, f.Rule, all, c.Tool, c.Input)
				}
			}
		}
	}
	for _, code := range []string{Shadowed, Duplicate, Dead} {
		if found[code] < 25 {
			t.Errorf("only %d of %s", found[code], code)
		}
	}
}

// Lint of 100,000 rules takes seconds, whatever they are like.
func BenchmarkRules(b *testing.B) {
	for name, make := range map[string]func(i int) policy.Rule{
		"commands": func(i int) policy.Rule { return policy.Rule{Tool: "bash", Command: fmt.Sprintf("git sub%d *", i)} },
		"folders":  func(i int) policy.Rule { return policy.Rule{Effect: "read", Path: fmt.Sprintf("a/b%d/**", i)} },
		"globs":    func(i int) policy.Rule { return policy.Rule{Path: fmt.Sprintf("**/x%d*", i)} },
		"inputs": func(i int) policy.Rule {
			return policy.Rule{Tool: "mcp__a__b", Input: map[string]string{"x": fmt.Sprint(i)}}
		},
	} {
		b.Run(name, func(b *testing.B) {
			var all []policy.Rule
			for i := range 100_000 {
				r := make(i)
				r.Decision, r.Scope, r.File, r.Line = wire.Ask, policy.User, "p", i+1
				all = append(all, r)
			}
			for b.Loop() {
				Rules(all)
			}
		})
	}
}
