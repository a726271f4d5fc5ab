package policy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

// The rules of each file in testdata/bash. What a line may get is its "want":
// allow, deny, or not-allow for both ask and deny.
var bashRules = map[string][]string{
	// One program is denied, everything else allowed.
	"deny.jsonl": {"tool=bash; decision=allow", "tool=bash; command=touch *; decision=deny"},
	// A few that only look are allowed, nothing else.
	"allow.jsonl": {
		"tool=bash; command=echo *; decision=allow", "tool=bash; command=git status *; decision=allow", "tool=bash; command=git log *; decision=allow",
		"tool=bash; command=find *; decision=allow", "tool=bash; command=cat *; decision=allow",
	},
	// Every command is allowed, .env must not be read.
	"read.jsonl": {"tool=bash; decision=allow", "effect=write; decision=allow", "effect=read; path=**/.env*; decision=deny"},
	// Every command is allowed, nothing may be written below out.
	"write.jsonl": {"tool=bash; decision=allow", "effect=write; decision=allow", "effect=write; path=out/**; decision=deny"},
	// Every command is allowed, but nothing may be written without being asked.
	"effect.jsonl": {"tool=bash; decision=allow", "tool=bash; effect=write; decision=ask", "tool=bash; effect=net; decision=ask"},
}

type bashLine struct {
	Cmd  string `json:"cmd"`
	Want string `json:"want"`
}

func bashLines(t testing.TB, name string) []bashLine {
	b, err := os.ReadFile(filepath.Join("testdata", "bash", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []bashLine
	for i, text := range bytes.Split(bytes.TrimSpace(b), []byte("\n")) {
		var l bashLine
		if err := json.Unmarshal(text, &l); err != nil || l.Cmd == "" || l.Want != "allow" && l.Want != "deny" && l.Want != "not-allow" {
			t.Fatalf("%s:%d: %s %v", name, i+1, text, err)
		}
		out = append(out, l)
	}
	return out
}

func TestBashLines(t *testing.T) {
	for name, list := range bashRules {
		t.Run(name, func(t *testing.T) {
			s := rules(t, ruleText(list...))
			for _, l := range bashLines(t, name) {
				in, _ := json.Marshal(map[string]string{"command": l.Cmd})
				d := s.Explain(policy.Call{Tool: "bash", Input: in}, mode.Default, testEnv)
				if string(d.Decision) == l.Want || l.Want == "not-allow" && d.Decision != wire.Allow {
					continue
				}
				t.Errorf("%q: %s (%s), want %s", l.Cmd, d.Decision, d.Reason, l.Want)
			}
		})
	}
}

// What bash can't parse is never allowed, whatever the rules are.
func TestBashParses(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	s := rules(t, ruleText("tool=*; decision=allow", "tool=bash; decision=allow"))
	seen, stress := 0, os.Getenv("KX_STRESS") != ""
	for name := range bashRules {
		for _, l := range bashLines(t, name) {
			for _, cut := range []int{len(l.Cmd), len(l.Cmd) - 1, len(l.Cmd) / 2} {
				text := strings.ToValidUTF8(l.Cmd[:cut], "")
				if seen++; len(text) > 2000 || !stress && seen%5 != 0 {
					continue
				}
				in, _ := json.Marshal(map[string]string{"command": text})
				d := s.Explain(policy.Call{Tool: "bash", Input: in}, mode.Default, testEnv)
				if d.Decision == wire.Allow && exec.Command(bash, "-n", "-c", "--", text).Run() != nil {
					t.Errorf("bash can't parse %q, but it is allowed", text)
				}
			}
		}
	}
}

// No text makes the analysis panic, and none that bash can't parse is allowed.
func FuzzBash(f *testing.F) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		f.Fatal(err)
	}
	for name := range bashRules {
		for _, l := range bashLines(f, name) {
			if len(l.Cmd) < 200 {
				f.Add(l.Cmd)
			}
		}
	}
	s := rules(f, ruleText("tool=*; decision=allow", "tool=bash; decision=allow"))
	f.Fuzz(func(t *testing.T, text string) {
		in, _ := json.Marshal(map[string]string{"command": text})
		d := s.Explain(policy.Call{Tool: "bash", Input: in}, mode.Default, testEnv)
		if d.Decision == wire.Allow && utf8.ValidString(text) && exec.Command(bash, "-n", "-c", "--", text).Run() != nil {
			t.Errorf("bash can't parse %q, but it is allowed", text)
		}
	})
}

func BenchmarkMatrix(b *testing.B) {
	s, err := policy.Compile(hundred())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s.Matrix(catalogue.Names(), func(string) bool { return true }, testEnv)
	}
}
