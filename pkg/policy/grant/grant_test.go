package grant

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/policy/rulefile"
	"github.com/kxtools/kx/pkg/wire"
)

var env = &policy.Env{Workspace: "/ws", Cwd: "/ws", Home: "/home/u"}

func input(kv ...string) []byte {
	m := map[string]string{}
	for i := 0; i+1 < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	raw, _ := json.Marshal(m)
	return raw
}

// What is granted allows the same call, in the words of a policy file, and not a
// call that only looks like it.
func TestRules(t *testing.T) {
	for _, tt := range []struct {
		tool  string
		in    []byte
		other []byte // must still ask
		want  string // of the rules: conditions by ";"
	}{
		{"bash", input("command", "git push origin main"), input("command", "git push origin main --force"), "git push origin main"},
		{"bash", input("command", "echo 'a b' 'it'\\''s' '*'"), input("command", "echo 'a b' 'it'\\''s' x"), `echo 'a b' 'it'\''s' '*'`},
		{"bash", input("command", "make test && ./x | tee out.log"), input("command", "make test && ./x | tee other"), "make test;./x;tee out.log;tee out.log write /ws/out.log"},
		{"bash", input("command", "timeout 5 frob x"), input("command", "timeout 5 frob y"), "frob x"},
		{"bash", input("command", "frob > 'a[1].txt'"), input("command", "frob > a1.txt"), `frob;frob write /ws/a\[1\].txt`},
		{"bash", input("command", "cat /etc/hosts"), input("command", "cat /etc/passwd"), "cat /etc/hosts;cat /etc/hosts read /etc/hosts"},
		{"bash", input("command", "cd sub && frob > x"), input("command", "frob > x"), "frob;frob write /ws/sub/x"},
		{"bash", input("command", "curl https://x.org/a"), input("command", "curl https://y.org/a"), "curl https://x.org/a;curl https://x.org/a net https://x.org/**"},
		{"write_file", input("path", "docs/{a}*.md", "content", "x"), input("path", "docs/b.md", "content", "x"), `write /ws/docs/\{a\}\*.md`},
		{"web_fetch", input("url", "http://x.org:8080/a?b"), nil, "net http://x.org:8080/**"},
		{"mcp__s__t", input("a", "b"), nil, ""},
	} {
		rules, err := Rules(tt.tool, tt.in, env)
		if err != nil {
			t.Errorf("%s %s: %v", tt.tool, tt.in, err)
			continue
		}
		var got, text []string
		for _, r := range rules {
			got = append(got, strings.Join(strings.Fields(r.Command+" "+r.Effect+" "+r.Path+r.URL), " "))
			text = append(text, rulefile.TOML(&r))
		}
		if strings.Join(got, ";") != tt.want {
			t.Errorf("%s %s:\n got %q\nwant %q", tt.tool, tt.in, strings.Join(got, ";"), tt.want)
		}
		f, err := rulefile.Parse([]byte(strings.Join(text, "\n")), "p.toml", policy.User)
		if err != nil {
			t.Errorf("%s: %v\n%s", tt.in, err, strings.Join(text, "\n"))
			continue
		}
		set, err := policy.Compile(append(f.Rules, policy.Rule{Tool: "web_fetch", Decision: wire.Ask, Scope: policy.User}))
		if err != nil {
			t.Fatal(err)
		}
		if d := set.Explain(policy.Call{Tool: tt.tool, Input: tt.in}, mode.Default, env); d.Decision != wire.Allow {
			t.Errorf("%s %s: still %s (%s)", tt.tool, tt.in, d.Decision, d.Reason)
		}
		if tt.other == nil {
			continue
		}
		if d := set.Explain(policy.Call{Tool: tt.tool, Input: tt.other}, mode.Default, env); d.Decision != wire.Ask {
			t.Errorf("%s %s: %s without being granted", tt.tool, tt.other, d.Decision)
		}
	}
}

func TestOnlyOnce(t *testing.T) {
	for _, command := range []string{
		"rm *.o", "echo $x", "$(echo ls)", "> x", "eval 'ls'; echo $((x))", "find . -delete", "echo 'a", "cat $f", "", "frob > $out", "cd $d && frob > x",
	} {
		if rules, err := Rules("bash", input("command", command), env); err == nil {
			t.Errorf("%q: %+v", command, rules)
		}
	}
	if _, err := Rules("apply_patch", input("patch", "x"), env); err == nil {
		t.Error("a patch without files was granted")
	}
}

func FuzzGrant(f *testing.F) {
	for _, s := range []string{"ls", "echo 'a b' > c", "a | b", "x=1 y", "timeout 1 z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		in := input("command", command)
		rules, err := Rules("bash", in, env)
		if err != nil {
			return
		}
		var text strings.Builder
		for i := range rules {
			text.WriteString(rulefile.TOML(&rules[i]))
		}
		file, err := rulefile.Parse([]byte(text.String()), "p", policy.User)
		if err != nil {
			t.Fatalf("%q: %v\n%s", command, err, text.String())
		}
		if len(file.Rules) != len(rules) {
			t.Fatalf("%q: %d rules became %d", command, len(rules), len(file.Rules))
		}
		for i := range rules {
			if file.Rules[i].Command != rules[i].Command || file.Rules[i].Path != rules[i].Path {
				t.Errorf("%q: %+v became %+v", command, rules[i], file.Rules[i])
			}
		}
	})
}
