package rulefile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/lint"
)

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"[[rule]]\ndecision = \"alow\"\n", `p.toml:2: decision = "alow": expected allow, ask or deny`},
		{"[[rule]]\ntool = \"a\"\n", `p.toml:1: decision = "": expected allow, ask or deny`},
		{"[[rule]]\ndecison = \"allow\"\n", `p.toml:2: unknown key "rule.decison": did you mean decision?`},
		{"rules = 1\n", `p.toml:1: unknown key "rules"`},
		{"[[rule]\n", "p.toml:1:"},
		{"[[rule]]\ntool = \"a*b\"\ndecision = \"allow\"\n", `p.toml:2: tool = "a*b": a * stands only at the end`},
		{"\n[[rule]]\ndecision = \"allow\"\npath = \"$HOME/x\"\n", "p.toml:4: path = \"$HOME/x\": a variable is not expanded"},
		{"[[rule]]\ndecision = \"allow\"\npath = \"a/../b\"\n", "p.toml:3:"},
		{"[[rule]]\ndecision = \"allow\"\npath = \"a[\"\n", "p.toml:3:"},
		{"[[rule]]\ndecision = \"allow\"\npath = \"\"\n", "p.toml:3: path = \"\": it would never match"},
		{"[[rule]]\ndecision = \"allow\"\ntool = \"\"\n", "p.toml:3: tool = \"\": it would never match"},
		{"[[rule]]\ndecision = \"allow\"\neffect = \"\"\n", "p.toml:3: effect = \"\": it would never match"},
		{"rule = 1\n", "p.toml:1: rule: a TOML integer can't stand here, expected [[...]] tables"},
		{"[[rule]]\ndecision = 1\n", "p.toml:2: rule.decision: a TOML integer can't stand here, expected a string"},
		{"[[rule]]\nfinal = \"yes\"\n", "p.toml:2: rule.final: a TOML string can't stand here, expected true or false"},
		{"[[rule]]\ninput = \"x\"\n", "p.toml:2: rule.input: a TOML string can't stand here, expected a table"},
		{"[[rule]]\ninput.a = 1\n", "p.toml:2: rule.input.a: a TOML integer can't stand here, expected a string"},
		{"[[rule]]\ndecision = \"allow\"\nfinal = true\n", "p.toml:3: final = true: only a deny can be final"},
		{"[[rule]]\ndecision = \"allow\"\neffect = \"x\"\n", "p.toml:3: effect"},
		{"[[rule]]\ndecision = \"allow\"\ncommand = \"git* x\"\n", "p.toml:3: command"},
		{"[[rule]]\ndecision = \"allow\"\ncommand = \"a && b\"\n", "p.toml:3: command"},
		{"[[rule]]\ndecision = \"allow\"\ncommand = \"echo $x\"\n", "p.toml:3: command"},
		{"[[rule]]\ndecision = \"allow\"\nurl = \"example.com\"\n", "p.toml:3: url"},
		{"[[rule]]\ndecision = \"allow\"\ninput = { a = \"b*c\" }\n", "p.toml:3: input.a"},
		{"[[test]]\ntool = \"bash\"\nexpect = \"no\"\n", "p.toml:1: expect"},
		{"[rule]\ntool = \"bash\"\n", "p.toml"},
		{"a = 1\r\nb\xff", "p.toml"},
	} {
		_, err := Parse([]byte(tt.text), "p.toml", policy.User)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q\n got %v\nwant %s", tt.text, err, tt.want)
		}
	}
	if _, err := Parse([]byte("[[rule]]\ndecision = \"allow\"\nsandbox = \"host\"\n"), "p.toml", policy.Project); err == nil {
		t.Error("a project opened the sandbox")
	}
}

func TestParseLines(t *testing.T) {
	text := "# head\n[[rule]]\ntool = \"bash\"\ncommand = '''\nls'''\ndecision = \"allow\"\n\n[[test]]\ntool = \"bash\"\nexpect = \"ask\"\ninput = { command = \"ls\", n = 3 }\n[[rule]]\ndecision = \"deny\"\n[rule.input]\nbranch = \"x\"\n"
	f, err := Parse([]byte(text), "p.toml", policy.User)
	if err != nil {
		t.Fatal(err)
	}
	if f.Rules[0].Line != 2 || f.Rules[1].Line != 12 || f.Tests[0].Line != 8 || f.Rules[1].Input["branch"] != "x" {
		t.Errorf("%+v", f)
	}
	if string(f.Tests[0].Input) != `{"command":"ls","n":3}` {
		t.Errorf("input %s", f.Tests[0].Input)
	}
}

func manyTOML(n int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[[rule]]\ntool = \"mcp__server%d__tool\"\ndecision = \"allow\"\n", i)
	}
	return []byte(b.String())
}

func BenchmarkLoad100k(b *testing.B) {
	data := manyTOML(100_000)
	for b.Loop() {
		f, err := Parse(data, "p.toml", policy.User)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := policy.Compile(f.Rules); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("[[rule]]\ntool = \"bash\"\ncommand = \"ls *\"\ndecision = \"allow\"\n[[test]]\ntool=\"a\"\nexpect=\"ask\"\n"))
	f.Add([]byte("[[rule]]\npath = \"**/x\"\ndecision = \"deny\"\nfinal = true\ninput.a = \"b\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data, "p.toml", policy.User)
		if err != nil {
			return
		}
		s, err := policy.Compile(file.Rules)
		if err != nil {
			t.Fatalf("Parse took what Compile refuses: %v", err)
		}
		lint.Rules(s.Rules())
		for _, r := range file.Rules {
			if r.Line < 1 {
				t.Errorf("rule without a line: %+v", r)
			}
		}
	})
}
