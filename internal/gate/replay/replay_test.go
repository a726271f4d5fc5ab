package replay

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

// past is a record of one's own making.
type past struct {
	t    testing.TB
	log  *audit.Log
	opts Options
	ws   string
	n    int
}

// newPast makes a record whose calls are judged by a policy.
func newPast(t testing.TB, policyText string) *past {
	dir := t.TempDir()
	ws := filepath.Join(dir, "ws")
	if err := os.MkdirAll(filepath.Join(ws, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	st, err := state.Open(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	p := &past{t: t, log: audit.New(st, now), ws: ws}
	dirs := paths.Dirs{State: st.Dir(), Config: filepath.Join(dir, "config"), Runtime: filepath.Join(dir, "run"), Home: dir, UID: os.Getuid()}
	p.opts = Options{
		Log: p.log, Loaded: func(string) bool { return true },
		Open: func(ws string, granted []policy.Rule) (*judge.Judge, error) {
			return judge.Open(judge.Options{
				Dirs: dirs, Workspace: ws, Cwd: ws, State: st, Now: now, AnyMode: true, Granted: granted,
				Policy: &config.File{Path: "/p/policy.toml", Data: []byte(policyText)},
			})
		},
	}
	return p
}

// decision is a line of a call that asked in mode default; change makes it another.
func (p *past) decision(tool, input string, change func(*audit.Decision)) {
	p.t.Helper()
	blob, err := p.log.Blob([]byte(input))
	if err != nil {
		p.t.Fatal(err)
	}
	p.n++
	d := audit.Decision{
		Type: audit.TypeDecision, V: wire.Version, CallID: fmt.Sprintf("c%d", p.n), Session: "s", Caller: "cli", Workspace: p.ws, Cwd: p.ws,
		Decision:  wire.Decision{Tool: tool, Decision: wire.Ask, BaseDecision: wire.Ask, EffectiveMode: mode.Default, LosingRules: []wire.Rule{}},
		InputBlob: blob, DecidedBy: wire.Decider{Kind: "rule"},
	}
	if change != nil {
		change(&d)
	}
	if _, err := p.log.Append(d, false); err != nil {
		p.t.Fatal(err)
	}
}

const strict = "[[rule]]\ntool = \"bash\"\ndecision = \"deny\"\n"

// Then and now are what rules and mode say, whoever answered.
func TestRun(t *testing.T) {
	base := func(v wire.Verdict) func(*audit.Decision) {
		return func(d *audit.Decision) { d.Decision.Decision, d.BaseDecision = v, v }
	}
	for _, tt := range []struct {
		name, policy, tool, input string
		change                    func(*audit.Decision)
		want                      string // then now, "" if nothing changed
	}{
		{"allow to deny", strict, "bash", `{"command":"ls"}`, base(wire.Allow), "allow deny"},
		{"nothing", "", "bash", `{"command":"ls"}`, nil, ""},
		{"a person's yes is no rule", "", "bash", `{"command":"ls"}`, func(d *audit.Decision) { d.Decision.Decision, d.DecidedBy.Kind = wire.Allow, "human" }, ""},
		{"a person's no is no rule", strict, "bash", `{"command":"ls"}`, func(d *audit.Decision) { d.Decision.Decision, d.DecidedBy.Kind = wire.Deny, "human" }, "ask deny"},
		{"would not ask", "[[rule]]\ntool=\"bash\"\ncommand=\"ls\"\ndecision=\"allow\"\n", "bash", `{"command":"ls"}`, func(d *audit.Decision) { d.Decision.Decision, d.DecidedBy.Kind = wire.Allow, "human" }, "ask allow"},
		{"the mode as it was", "", "bash", `{"command":"ls"}`, func(d *audit.Decision) {
			d.EffectiveMode, d.Decision.Decision = mode.Bypass, wire.Allow
		}, ""},
		{"mandatory as it was", "[[rule]]\ntool=\"bash\"\ndecision=\"allow\"\n", "bash", `{"command":"ls"}`, func(d *audit.Decision) { d.Mandatory, d.Reason = true, judge.NoSandbox }, ""},
		{"the guard", "[[rule]]\ndecision=\"allow\"\n", "read_file", `{"path":"~/.ssh/id_rsa"}`, func(d *audit.Decision) {
			d.Guard, d.Decision.Decision, d.BaseDecision = &wire.Guard{Name: "credentials"}, wire.Deny, wire.Allow
		}, ""},
		{"the scope", "[[rule]]\ndecision=\"allow\"\n", "mcp__a__b", `{}`, func(d *audit.Decision) {
			d.Decision.Decision, d.DecidedBy.Kind = wire.Deny, "scope"
		}, ""},
		{"where it stood", "[[rule]]\neffect=\"write\"\npath=\"sub/a\"\ndecision=\"deny\"\n", "write_file", `{"path":"a","content":""}`, func(d *audit.Decision) { d.Cwd += "/sub" }, "ask deny"},
		{"the session's rules", "", "bash", `{"command":"ls -l"}`, func(d *audit.Decision) {
			r := &wire.Rule{Tool: "bash", When: map[string]string{"command": "ls -l"}, Decision: wire.Allow, Scope: "session", Origin: policy.Approval, Source: "approval ab:1"}
			d.Decision.Decision, d.BaseDecision, d.Rule = wire.Allow, wire.Allow, r
			d.Leaves = []wire.Leaf{{Argv: []string{"ls", "-l"}, Points: []wire.Point{{Effect: "exec", Decision: wire.Allow, Rule: r}}}}
		}, ""},
	} {
		p := newPast(t, tt.policy)
		p.decision(tt.tool, tt.input, tt.change)
		got := ""
		s, err := Run(t.Context(), p.opts, func(c *Call) error {
			got = fmt.Sprintf("%s %s", c.Then, c.Now)
			if string(c.Input) != tt.input || c.ID != "c1" || c.Tool != tt.tool {
				t.Errorf("%s: %+v", tt.name, c)
			}
			return nil
		})
		if err != nil || got != tt.want || s.Calls != 1 || s.Unchanged+len(s.Changed) != 1 {
			t.Errorf("%s: %q, want %q: %+v, %v", tt.name, got, tt.want, s, err)
		}
	}
}

// A call that asked and was answered is one call.
func TestOneCall(t *testing.T) {
	p := newPast(t, strict)
	p.decision("bash", `{"command":"a"}`, nil)
	p.decision("bash", `{"command":"a"}`, func(d *audit.Decision) { d.CallID, d.Decision.Decision, d.DecidedBy.Kind = "c1", wire.Allow, "human" })
	p.decision("bash", `{"command":"a"}`, func(d *audit.Decision) { d.CallID, d.Session = "c1", "other" })
	s, err := Run(t.Context(), p.opts, func(*Call) error { return nil })
	if err != nil || s.Calls != 2 || s.Changed[[2]wire.Verdict{wire.Ask, wire.Deny}] != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

func yes(d *audit.Decision) { d.Decision.Decision, d.DecidedBy.Kind = wire.Allow, "human" }
func no(d *audit.Decision)  { d.Decision.Decision, d.DecidedBy.Kind = wire.Deny, "human" }

func TestLearn(t *testing.T) {
	p := newPast(t, "[[rule]]\ntool=\"bash\"\ncommand=\"known\"\ndecision=\"allow\"\n[[rule]]\ntool=\"bash\"\ncommand=\"never *\"\ndecision=\"deny\"\nfinal=true\n")
	for range 3 {
		p.decision("bash", `{"command":"known && make x"}`, yes)
	}
	p.decision("bash", `{"command":"make x","description":"other words"}`, yes)
	p.decision("write_file", `{"path":"a","content":"1"}`, yes)
	p.decision("write_file", `{"path":"a","content":"2"}`, yes)
	p.decision("bash", `{"command":"known"}`, yes)                                                                                        // decided by a rule today
	p.decision("bash", `{"command":"never mind"}`, yes)                                                                                   // denied by one
	p.decision("bash", `{"command":"rm *.o"}`, yes)                                                                                       // no literal rule
	p.decision("bash", `{"command":"eval x"}`, func(d *audit.Decision) { yes(d); d.Mandatory = true })                                    // each time anew
	p.decision("bash", `{"command":"by rule"}`, func(d *audit.Decision) { d.Decision.Decision, d.BaseDecision = wire.Allow, wire.Allow }) // nobody was asked
	p.decision("bash", `{"command":"refused"}`, yes)
	p.decision("bash", `{"command":"refused"}`, no)
	p.decision("bash", `{"command":"part one"}`, yes)
	p.decision("bash", `{"command":"part one && make x"}`, no)
	p.decision("bash", `{"command":"asked"}`, func(d *audit.Decision) { d.ApprovalID = "ab12" })
	p.decision("bash", `{"command":"asked"}`, yes)
	if _, err := p.log.Append(audit.Approval{Type: audit.TypeApproval, V: wire.Version, ID: "ab12", State: wire.ApprovalDenied}, false); err != nil {
		t.Fatal(err)
	}
	p.decision("bash", `{"command":"deploy"}`, func(d *audit.Decision) {
		yes(d)
		d.Leaves = []wire.Leaf{{Points: []wire.Point{{Effect: "exec", Rule: &wire.Rule{Sandbox: "host"}}}}}
	})
	got, err := Learn(t.Context(), p.opts, 1)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, l := range got.Rules {
		list = append(list, fmt.Sprintf("%d %s %s%s%s %s", l.Calls, l.Rule.Tool, l.Rule.Command, l.Rule.Effect, l.Rule.Path[:min(len(l.Rule.Path), 1)], l.Rule.Sandbox))
	}
	want := []string{"4 bash make x ", "2 write_file write/ ", "1 bash deploy host"}
	if fmt.Sprint(list) != fmt.Sprint(want) || got.Answered != 14 || got.Already != 2 || got.Spared != 7 {
		t.Errorf("%q, want %q\n%+v", list, want, got)
	}
	if got, err := Learn(t.Context(), p.opts, 2); err != nil || len(got.Rules) != 2 || got.Spared != 6 {
		t.Errorf("%+v, %v", got, err)
	}
}

// many makes a record of n calls, of which some are distinct.
func (p *past) many(n, distinct int) {
	p.t.Helper()
	dir := filepath.Join(filepath.Dir(p.ws), "state", "audit")
	p.decision("bash", `{"command":"true"}`, func(d *audit.Decision) {
		d.Leaves = []wire.Leaf{{Argv: []string{"true"}, Points: []wire.Point{{Effect: "exec", Decision: wire.Ask, Resource: "true"}}}}
	})
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) != 1 {
		p.t.Fatal(files, err)
	}
	line, err := os.ReadFile(files[0])
	if err != nil {
		p.t.Fatal(err)
	}
	sum := config.Digest([]byte(`{"command":"true"}`))
	rest := string(bytes.TrimSpace(line))
	var all bytes.Buffer
	for i := range n {
		input := fmt.Sprintf(`{"command":"grep -rn pattern%d internal | head -%d"}`, i%distinct, i%distinct)
		own := config.Digest([]byte(input))
		if i < distinct {
			if err := os.WriteFile(filepath.Join(dir, "blobs", own), []byte(input), 0o600); err != nil {
				p.t.Fatal(err)
			}
		}
		all.WriteString(strings.NewReplacer(
			`"call_id":"c1"`, fmt.Sprintf(`"call_id":"c%d"`, i), `"seq":1,`, fmt.Sprintf(`"seq":%d,`, i+1), sum, own,
			`"argv":["true"]`, fmt.Sprintf(`"argv":["grep","-rn","pattern%d","internal"]`, i%distinct),
		).Replace(rest) + "\n")
	}
	if err := os.WriteFile(files[0], all.Bytes(), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// BenchmarkRun judges a record of 100,000 calls, of which most are equal to others,
// as they are in a real one, or none is.
func BenchmarkRun(b *testing.B) {
	for _, distinct := range []int{2_000, 100_000} {
		b.Run(fmt.Sprint(distinct), func(b *testing.B) {
			p := newPast(b, strict)
			p.many(100_000, distinct)
			for b.Loop() {
				s, err := Run(context.Background(), p.opts, func(*Call) error { return nil })
				if err != nil || s.Calls != 100_000 {
					b.Fatal(s, err)
				}
			}
		})
	}
}
