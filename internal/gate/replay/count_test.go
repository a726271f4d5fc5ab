package replay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/grant"
	"github.com/kxtools/kx/pkg/wire"
)

// judged is a line with what was decided of the parts of the call.
func (p *past) judged(tool, input string, change func(*audit.Decision)) {
	p.t.Helper()
	j, err := p.opts.Open(p.ws, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.decision(tool, input, func(d *audit.Decision) {
		d.Decision = *j.Explain(tool, json.RawMessage(input), "default", true)
		d.Input = json.RawMessage(input)
		if change != nil {
			change(d)
		}
	})
}

// A rule that a request would be granted matches the calls that it would have allowed
// a part of, and no others.
func TestCount(t *testing.T) {
	p := newPast(t, "")
	asked := func(id string) func(*audit.Decision) { return func(d *audit.Decision) { d.ApprovalID = id } }
	for range 3 {
		p.judged("bash", `{"command":"go test ./... | tee out"}`, nil)
	}
	p.judged("bash", `{"command":"go test ./... && go test ./..."}`, nil)
	p.judged("bash", `{"command":"go test ./... x"}`, nil)
	p.judged("bash", `{"command":"go 'test ./...'"}`, nil)
	p.judged("bash", `{"command":"tee other"}`, nil)
	p.judged("bash", `{"command":"echo '$HOME'"}`, nil)
	p.judged("bash", `{"command":"echo $HOME"}`, nil)
	p.judged("bash", `{"command":"curl https://example.org/a"}`, nil)
	p.judged("write_file", `{"path":"a[1]","content":"x"}`, nil)
	p.judged("write_file", `{"path":"sub/../a[1]","content":"y"}`, nil)
	p.judged("write_file", `{"path":"b","content":"y"}`, nil)
	p.judged("edit_file", `{"path":"b","old_string":"y","new_string":"x"}`, nil)
	p.judged("web_fetch", `{"url":"https://example.org/a"}`, nil)
	p.judged("web_fetch", `{"url":"https://example.org/b"}`, nil)
	p.judged("web_fetch", `{"url":"http://example.org/b"}`, nil)
	p.judged("mcp__git__push", `{"branch":"main"}`, nil)
	p.judged("mcp__git__push", `{"branch":"next"}`, nil)
	// One call that was asked for, asked for again, and used.
	p.judged("bash", `{"command":"make x"}`, asked("ab12"))
	p.judged("bash", `{"command":"make x"}`, asked("ab12"))
	p.judged("bash", `{"command":"make x"}`, asked("cd34"))
	if _, err := p.log.Append(audit.Approval{Type: audit.TypeApproval, V: wire.Version, ID: "ab12", State: wire.ApprovalPending, Tool: "bash"}, false); err != nil {
		t.Fatal(err)
	}
	env := &policy.Env{Workspace: p.ws, Cwd: p.ws}
	for _, tt := range []struct {
		tool, input, request string
		want                 []int // of each rule
	}{
		{"bash", `{"command":"go test ./... | tee out"}`, "", []int{4, 3, 3}},
		{"bash", `{"command":"tee other"}`, "", []int{1, 1}},
		{"bash", `{"command":"go 'test ./...'"}`, "", []int{1}},
		{"bash", `{"command":"echo '$HOME'"}`, "", []int{1}},
		{"bash", `{"command":"curl https://example.org/b"}`, "", []int{0, 0}},
		{"bash", `{"command":"curl https://example.org/a"}`, "", []int{1, 1}},
		{"bash", `{"command":"make x"}`, "", []int{2}},
		{"bash", `{"command":"make x"}`, "ab12", []int{1}},
		{"bash", `{"command":"make x"}`, "zz99", []int{2}},
		{"write_file", `{"path":"a[1]","content":"z"}`, "", []int{2}},
		{"write_file", `{"path":"b","content":"z"}`, "", []int{1}},
		{"edit_file", `{"path":"b","old_string":"1","new_string":"2"}`, "", []int{1}},
		{"web_fetch", `{"url":"https://example.org/c"}`, "", []int{2}},
		{"mcp__git__push", `{"branch":"x"}`, "", []int{2}},
		{"mcp__git__pull", `{}`, "", []int{0}},
	} {
		rules, err := grant.Rules(tt.tool, []byte(tt.input), env)
		if err != nil || len(rules) != len(tt.want) {
			t.Errorf("%s %s: %v, %v", tt.tool, tt.input, rules, err)
			continue
		}
		got, err := Count(p.log, rules, tt.request)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rules {
			if got[i].N != tt.want[i] || !got[i].Known {
				t.Errorf("%s %s: %+v matches %+v, want %d", tt.tool, tt.input, rules[i], got[i], tt.want[i])
			}
		}
	}
	got, err := Count(p.log, []policy.Rule{{Tool: "bash", Command: "go $x"}, {Tool: "bash", Command: "a | b"}, {Tool: "a", Input: map[string]string{"x": "y"}}}, "")
	if err != nil || len(got) != 3 || got[0].Known || got[1].Known || got[2].Known {
		t.Errorf("%+v, %v", got, err)
	}
}

// What is damaged is left out, and a record that is not there has no calls.
func TestCountOfDamage(t *testing.T) {
	p := newPast(t, "")
	rules := []policy.Rule{{Tool: "bash", Command: "make x"}}
	if got, err := Count(p.log, rules, ""); err != nil || got[0].N != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	p.judged("bash", `{"command":"make x"}`, nil)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(p.ws), "state/audit/*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	f, err := os.OpenFile(files[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"type":"audit","tool":"bash","leaves":[{"argv":["make","x"]` + "\n" + `{"type":"audit","leaves":7}` + "\n" + `{"type":"audit","tool":"bash","leaves":[{"argv":["make","x"]}]}`); err != nil {
		t.Fatal(err)
	}
	if got, err := Count(p.log, rules, ""); err != nil || got[0].N != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// What is told of many calls is that they are many.
func TestCountOfMany(t *testing.T) {
	p := newPast(t, "")
	p.many(MaxCalls+100, 1)
	got, err := Count(p.log, []policy.Rule{{Tool: "bash", Command: "grep -rn pattern0 internal"}, {Tool: "bash", Command: "rare"}}, "")
	if err != nil || got[0].N != MaxCalls || got[1].N != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// BenchmarkCount reads a record of 100,000 calls, of which few or many match.
func BenchmarkCount(b *testing.B) {
	for _, distinct := range []int{20_000, 20} {
		b.Run(fmt.Sprint(100_000/distinct), func(b *testing.B) {
			p := newPast(b, strict)
			p.many(100_000, distinct)
			rules := []policy.Rule{
				{Tool: "bash", Command: "grep -rn pattern7 internal"}, {Tool: "bash", Command: "head -7"},
				{Tool: "bash", Command: "head -7", Effect: "write", Path: p.ws + "/a"}, {Tool: "write_file", Effect: "write", Path: p.ws + "/a.go"},
			}
			for b.Loop() {
				got, err := Count(p.log, rules, "")
				if err != nil || got[0].N != 100_000/distinct {
					b.Fatal(got, err)
				}
			}
		})
	}
}
