package rulefile

import (
	"strings"
	"testing"

	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/wire"
)

// What is written is read as it was, whatever stands in it.
func TestTOML(t *testing.T) {
	r := policy.Rule{
		Tool: "mcp__a__b", Effect: "write", Path: `docs/\[a\]"b.md`, Decision: wire.Deny, Final: true, Reason: "tab\tline\nbell\a # =",
		Input: map[string]string{"plain": "x", "a.b": "y", "with space": "z", `q"u`: "é*"},
	}
	f, err := Parse(Append([]byte("# head"), r, policy.Rule{Tool: "bash", Command: `a 'b c'`, Decision: wire.Allow, Sandbox: "host"}), "p", policy.User)
	if err != nil {
		t.Fatal(err)
	}
	got := f.Rules[0]
	if len(f.Rules) != 2 || got.Tool != r.Tool || got.Effect != r.Effect || got.Path != r.Path || !got.Final || got.Reason != r.Reason || len(got.Input) != 4 || got.Input[`q"u`] != "é*" || got.Input["a.b"] != "y" {
		t.Errorf("%+v", f.Rules)
	}
	if f.Rules[1].Command != `a 'b c'` || f.Rules[1].Sandbox != "host" || got.Line != 3 {
		t.Errorf("%+v", f.Rules)
	}
}

const commented = `# The head of the file.

# Why this one.
[[rule]] # here
tool = "bash"
command = "a"   # spacing   stays
decision = "allow"
# Of the next.
[[rule]]
tool = "mcp__a__b"
decision = "ask"
[rule.input]
x = "1"

[[test]]
tool = "bash"
expect = "ask"

[[rule]]
tool = "read_file"
decision = "deny"
`

func TestRemove(t *testing.T) {
	for _, tt := range []struct {
		line     int
		old, new string
	}{
		{4, "# Why this one.\n[[rule]] # here\ntool = \"bash\"\ncommand = \"a\"   # spacing   stays\ndecision = \"allow\"\n", ""},
		{9, "# Of the next.\n[[rule]]\ntool = \"mcp__a__b\"\ndecision = \"ask\"\n[rule.input]\nx = \"1\"\n", ""},
		{19, "\n[[rule]]\ntool = \"read_file\"\ndecision = \"deny\"\n", ""},
	} {
		want := strings.Replace(commented, tt.old, tt.new, 1)
		got, err := Remove([]byte(commented), "p", policy.User, tt.line)
		if err != nil || string(got) != want {
			t.Errorf("line %d: %v\n%s", tt.line, err, got)
		}
		crlf, err := Remove([]byte(strings.ReplaceAll(commented, "\n", "\r\n")), "p", policy.User, tt.line)
		if err != nil || string(crlf) != strings.ReplaceAll(want, "\n", "\r\n") {
			t.Errorf("line %d with CRLF: %v\n%q", tt.line, err, crlf)
		}
	}
	for _, line := range []int{0, 5, 12, 15, 99} {
		if got, err := Remove([]byte(commented), "p", policy.User, line); err == nil {
			t.Errorf("line %d: %s", line, got)
		}
	}
	// Two that stand apart, and one alone.
	for old, want := range map[string]string{
		"[[rule]]\ndecision=\"ask\"\n\n[[rule]]\ndecision=\"deny\"\n":  "[[rule]]\ndecision=\"deny\"\n",
		"[[rule]]\ndecision=\"ask\"":                                   "",
		"[[rule]]\ndecision=\"ask\"\nreason=\"\"\"a\n# b\"\"\"\n# c\n": "# c\n",
	} {
		if got, err := Remove([]byte(old), "p", policy.User, 1); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", old, got, err)
		}
	}
}

// A rule that is appended and removed again leaves the file as it was; one that is
// removed takes nothing along.
func FuzzEdit(f *testing.F) {
	f.Add([]byte(commented))
	f.Add([]byte("[[rule]]\ndecision=\"ask\"\nreason='''\n[[rule]]\n# x\n'''\n[[test]]\ntool=\"a\"\nexpect=\"ask\""))
	f.Add([]byte("\r\n#\r\n[[rule]]\r\ndecision=\"ask\"\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		old, err := Parse(data, "p", policy.User)
		if err != nil {
			return
		}
		more := Append(data, policy.Rule{Tool: "bash", Command: "a", Decision: wire.Allow})
		added, err := Parse(more, "p", policy.User)
		if err != nil || len(added.Rules) != len(old.Rules)+1 || !strings.HasPrefix(string(more), string(data)) {
			t.Fatalf("%q: %v", more, err)
		}
		back, err := Remove(more, "p", policy.User, added.Rules[len(old.Rules)].Line)
		if err != nil || strings.TrimRight(string(back), "\r\n") != strings.TrimRight(string(data), "\r\n") && !strings.Contains(string(data), "#") {
			t.Fatalf("%q became %q: %v", data, back, err)
		}
		for _, r := range old.Rules {
			if rest, err := Remove(data, "p", policy.User, r.Line); err == nil {
				f, err := Parse(rest, "p", policy.User)
				if err != nil || len(f.Rules) != len(old.Rules)-1 || len(f.Tests) != len(old.Tests) {
					t.Fatalf("%q: %v", rest, err)
				}
			}
		}
	})
}
