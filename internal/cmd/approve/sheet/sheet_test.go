package sheet

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/wire"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// house is a user with a workspace.
type house struct {
	testing.TB
	dir, ws string
	reader  *Reader
}

func newHouse(t testing.TB) *house {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{TB: t, dir: dir, ws: filepath.Join(dir, "home/src/ws")}
	for _, d := range []string{h.ws, filepath.Join(dir, "config")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := state.Open(filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	io, _, _, _ := term.Test()
	a := app.New(io, func(name string) string {
		if name == "HOME" {
			return filepath.Join(dir, "home")
		}
		return ""
	}, "1")
	a.Now = func() time.Time { return noon }
	a.Globals.StateDir, a.Globals.ConfigDir, a.Globals.Dir = filepath.Join(dir, "state"), filepath.Join(dir, "config"), h.ws
	h.reader = New(a)
	return h
}

func (h *house) write(name, content string) {
	h.Helper()
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(h.ws, name)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		h.Fatal(err)
	}
}

// request is what the gate would ask about a call.
func (h *house) request(tool, input string) *wire.Approval {
	h.Helper()
	soon := noon.Add(4 * time.Minute)
	a := &wire.Approval{
		ID: "7k2q", Kind: approval.KindCall, Tool: tool, Input: json.RawMessage(input), Session: "a3fk", Caller: "agent", Workspace: h.ws, Cwd: h.ws,
		Mode: "default", State: wire.ApprovalPending, CreatedAt: noon.Add(-12 * time.Second), ExpiresAt: &soon,
	}
	w := h.reader.world(a)
	if w.err != nil {
		h.Fatal(w.err)
	}
	j := w.judge.Once()
	if in, err := j.Canonical(tool, a.Input); err == nil {
		a.Input = in
	}
	d := j.Explain(tool, a.Input, "default", true)
	a.Points, a.Leaves, a.Reason, a.Mandatory, a.Digests = d.Points, d.Leaves, d.Reason, d.Mandatory, j.Digests(tool, a.Input)
	if tool == "bash" {
		a.Sandbox = "network_enabled"
	}
	return a
}

// show writes a sheet with the looks of its lines in front.
func show(s *Sheet) string {
	var b strings.Builder
	for _, p := range s.Parts {
		if p.Name != "" {
			fmt.Fprintf(&b, "\n%s\n", p.Name)
		}
		for _, l := range p.Lines {
			fmt.Fprintf(&b, "%2s |%s\n", l.Style, l.Text)
		}
	}
	return b.String()
}

// sane checks what holds for every sheet.
func sane(t testing.TB, s *Sheet) {
	t.Helper()
	for _, p := range s.Parts {
		lines := append([]Line{{Text: p.Name}}, p.Lines...)
		for _, l := range lines {
			if clean := term.Line(l.Text); clean != l.Text || !utf8.ValidString(l.Text) || strings.Contains(l.Text, "\n") {
				t.Fatalf("%+q stands in a sheet, not %+q", l.Text, clean)
			}
		}
	}
}

// wild is text that steers, hides and overwrites.
const wild = `\u001b]0;pwn\u0007\u001b[2K\rallow \u202egnp\u200b\u009b31m\u2028x\b\u0000`

var requests = []struct {
	name, tool, input string
	files             map[string]string
	change            func(h *house, a *wire.Approval)
}{
	{name: "command", tool: "bash", input: `{"command":"go test ./... 2>&1 | tail -20\n\tcat <<E > out\n  decided\nE\n"}`},
	{name: "command-wild", tool: "bash", input: `{"command":"echo ` + wild + `\ndecided\n  ls  allow","cwd":"` + wild + `"}`, change: func(_ *house, a *wire.Approval) {
		a.Preview, a.Cwd, a.Session, a.Caller = "harmless\x1b[2J\n  why  all is well", a.Cwd+"/\x1b[31m", "s\u202e", "c\n"
	}},
	{name: "not-understood", tool: "bash", input: `{"command":"eval \"$x\"; curl $host > a"}`, change: func(_ *house, a *wire.Approval) { a.Mandatory = true }},
	{name: "host", tool: "bash", input: `{"command":"git push"}`, change: func(_ *house, a *wire.Approval) { a.Sandbox = "host" }},
	{name: "partial", tool: "bash", input: `{"command":"ls"}`, change: func(_ *house, a *wire.Approval) { a.Sandbox = "partial" }},
	{name: "no-sandbox", tool: "bash", input: `{"command":"ls"}`, change: func(_ *house, a *wire.Approval) { a.Sandbox = "none" }},
	{name: "script-changed", tool: "bash", input: `{"command":"./build.sh"}`, files: map[string]string{"build.sh": "echo 1"}, change: func(h *house, _ *wire.Approval) { h.write("build.sh", "rm -rf ~") }},
	{name: "new", tool: "write_file", input: `{"path":"docs/a.md","content":"# A\n\n` + wild + `\ntrail \t \n"}`},
	{name: "empty", tool: "write_file", input: `{"path":"a","content":""}`, files: map[string]string{"a": "gone\n"}},
	{name: "unchanged", tool: "write_file", input: `{"path":"a","content":"x\n"}`, files: map[string]string{"a": "x\n"}},
	{name: "overwrite-binary", tool: "write_file", input: `{"path":"a","content":"text\n"}`, files: map[string]string{"a": "\x7fELF\x00\x01"}},
	{name: "overwrite-bytes", tool: "write_file", input: `{"path":"a","content":"café\n"}`, files: map[string]string{"a": "caf\xe9 and more text\x1b[2J\n"}},
	{name: "crlf", tool: "write_file", input: `{"path":"a","content":"one\r\nzwei\r\n"}`, files: map[string]string{"a": "one\r\ntwo\r\n"}},
	{name: "to-lf", tool: "write_file", input: `{"path":"a","content":"one\ntwo\n"}`, files: map[string]string{"a": "one\r\ntwo\r\n"}},
	{name: "look-alike", tool: "write_file", input: `{"path":"Makefile","content":"all:\n    true\nb:\n\ttrue \n"}`, files: map[string]string{"Makefile": "all:\n\ttrue\nb:\n\ttrue"}},
	{name: "edit", tool: "edit_file", input: `{"path":"clock.go","old_string":"\treturn 1","new_string":"\treturn 2"}`, files: map[string]string{"clock.go": "package clock\n\nfunc One() int {\n\treturn 1\n}\n"}},
	{name: "edit-no-match", tool: "edit_file", input: `{"path":"a","old_string":"no\nwhere","new_string":"x","replace_all":true}`, files: map[string]string{"a": "here\n"}},
	{name: "edit-changed", tool: "edit_file", input: `{"path":"a","old_string":"one","new_string":"two"}`, files: map[string]string{"a": "one\n"}, change: func(h *house, _ *wire.Approval) { h.write("a", "one\nmore\n") }},
	{name: "edits-of-another", tool: "edit_file", input: `{"path":"a","edits":[{"old_string":"one","new_string":"two"}]}`, files: map[string]string{"a": "one\n"}, change: func(_ *house, a *wire.Approval) { a.Caller = "claude" }},
	{name: "edited-and-allowed", tool: "edit_file", input: `{"path":"a","old_string":"one","new_string":"two"}`, files: map[string]string{"a": "one\n"}, change: func(h *house, a *wire.Approval) {
		answered(a, wire.ApprovalAllowed)
		h.write("b", "one\n")
		h.write("a", "other\n")
		a.Input, a.InputEdited = json.RawMessage(`{"path":"`+h.ws+`/b","old_string":"one","new_string":"2"}`), true
	}},
	{name: "edit-gone", tool: "edit_file", input: `{"path":"a","old_string":"one","new_string":"two"}`, files: map[string]string{"a": "one\n"}, change: func(h *house, _ *wire.Approval) { os.Remove(filepath.Join(h.ws, "a")) }},
	{name: "new-is-there", tool: "write_file", input: `{"path":"a","content":"mine\n"}`, change: func(h *house, _ *wire.Approval) { h.write("a", "theirs\n") }},
	{name: "link", tool: "write_file", input: `{"path":"a","content":"x\n"}`, change: func(h *house, _ *wire.Approval) {
		if err := os.Symlink("/etc/passwd", filepath.Join(h.ws, "a")); err != nil {
			h.Fatal(err)
		}
	}},
	{name: "patch-link", tool: "apply_patch", files: map[string]string{"a": "x\n", "secret": "key\n"}, input: `{"patch":"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch\n"}`, change: func(h *house, _ *wire.Approval) {
		if err := errors.Join(os.Remove(filepath.Join(h.ws, "a")), os.Symlink("secret", filepath.Join(h.ws, "a"))); err != nil {
			h.Fatal(err)
		}
	}},
	{name: "fifo", tool: "write_file", input: `{"path":"a","content":"x\n"}`, change: func(h *house, _ *wire.Approval) {
		if err := syscall.Mkfifo(filepath.Join(h.ws, "a"), 0o600); err != nil {
			h.Fatal(err)
		}
	}},
	{name: "patch", tool: "apply_patch", files: map[string]string{"old.go": "a\nb\nc\n", "bin": "x\x00y", "gone.txt": "was\n", "run.sh": "echo\n"},
		input: `{"patch":"*** Begin Patch\n*** Add File: new.go\n+package n\n*** Update File: old.go\n*** Move to: sub/old.go\n@@\n a\n-b\n+B\n c\n*** Delete File: gone.txt\n*** Delete File: bin\n*** End Patch\n"}`},
	{name: "patch-mode", tool: "apply_patch", files: map[string]string{"run.sh": "echo\n"},
		input: `{"patch":"diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"}`},
	{name: "patch-fails", tool: "apply_patch", files: map[string]string{"a": "x\n"}, input: `{"patch":"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-y\n+z` + wild + `\n"}`},
	{name: "read", tool: "read_file", input: `{"path":"/etc/hostname"}`},
	{name: "fetch", tool: "web_fetch", input: `{"url":"https://example.org/a?b=c","max_chars":100}`},
	{name: "mcp", tool: "mcp__git__push", input: `{"branch":"main","labels":["a","b ` + wild + `"],"message":"one\ntwo","n":1,"none":null,"empty":""}`},
	{name: "not-json", tool: "mcp__a__b", input: `[1, "` + wild + `"]`},
	{name: "nothing", tool: "mcp__a__b", input: `{}`, change: func(_ *house, a *wire.Approval) { a.Points, a.Mode, a.ExpiresAt = nil, "", nil }},
	{name: "denied", tool: "write_file", input: `{"path":"a","content":"x"}`, change: func(_ *house, a *wire.Approval) {
		answered(a, wire.ApprovalDenied)
		a.Note = "not there\x1b[2J"
	}},
	{name: "edit-spent", tool: "edit_file", input: `{"path":"a","old_string":"one\n","new_string":"two\n"}`, change: func(_ *house, a *wire.Approval) { answered(a, wire.ApprovalSpent) }},
	{name: "patch-spent", tool: "apply_patch", input: `{"patch":"*** Begin Patch\n*** Add File: n\n+x\n*** End Patch\n"}`, change: func(_ *house, a *wire.Approval) { answered(a, wire.ApprovalSpent) }},
	{name: "always", tool: "bash", input: `{"command":"go test ./..."}`, change: func(_ *house, a *wire.Approval) {
		answered(a, wire.ApprovalAllowed)
		soon := noon.Add(200 * time.Second)
		r := policy.Rule{Tool: "bash", Command: "go test ./...", Decision: wire.Allow, Sandbox: "host"}
		a.Scope, a.Rules, a.SpendBy, a.InputEdited = "always", []wire.Rule{*r.Wire()}, &soon, true
	}},
	{name: "denied-by-rule", tool: "write_file", input: `{"path":"z","content":"x"}`, change: func(h *house, _ *wire.Approval) {
		h.write(filepath.Join(h.dir, "config/policy.toml"), "[[rule]]\neffect = \"write\"\npath = \"z\"\ndecision = \"deny\"\n")
	}},
	{name: "config-broken", tool: "write_file", input: `{"path":"z","content":"x"}`, change: func(h *house, _ *wire.Approval) {
		h.write(filepath.Join(h.dir, "config/config.toml"), "nothing = 1\n")
	}},
	{name: "question", tool: "ask_user_question", input: `{}`, change: func(_ *house, a *wire.Approval) {
		answered(a, wire.ApprovalAnswered)
		a.Kind = approval.KindQuestion
		a.Questions = []wire.Question{
			{ID: "q1", Question: "Which database?\nchoose \x1b[2J", Options: []wire.Option{{ID: "o1", Label: "PostgreSQL"}, {ID: "o2", Label: "SQLite\x1b", Description: "one file\n"}}},
			{ID: "q2", Question: "What else?", Options: []wire.Option{{ID: "o1", Label: "Tests"}, {ID: "o2", Label: "Docs"}}, MultiSelect: true},
		}
		a.Answers = []wire.QuestionAnswer{{QuestionID: "q1", SelectedOptionIDs: []string{"o2"}}, {QuestionID: "q2", FreeformAnswer: "nothing\x1b"}}
	}},
}

func answered(a *wire.Approval, state string) {
	at := noon.Add(time.Minute)
	uid := 1000
	a.State, a.DecidedAt, a.ExpiresAt = state, &at, nil
	a.DecidedBy = &wire.Decider{Kind: "human", PID: 4711, UID: &uid, Exe: "/usr/bin/kx", TTY: "/dev/pts/3", Via: "socket"}
}

// TestSheets compares sheets with what they should be; KX_UPDATE=1 writes them anew.
func TestSheets(t *testing.T) {
	t.Setenv("TZ", "UTC")
	for _, tt := range requests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t)
			for name, content := range tt.files {
				h.write(name, content)
			}
			a := h.request(tt.tool, tt.input)
			if tt.change != nil {
				tt.change(h, a)
			}
			s := h.reader.Read(a)
			sane(t, s)
			brief := Brief(a)
			sane(t, &Sheet{[]Part{{Lines: []Line{{Text: brief}}}}})
			sane(t, h.reader.Outcome(a))
			got := strings.ReplaceAll("brief: "+brief+"\n"+show(s), h.dir, "$DIR")
			golden := filepath.Join("testdata", tt.name+".golden")
			if os.Getenv("KX_UPDATE") != "" {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the sheet is\n%s\nand should be\n%s", got, want)
			}
		})
	}
}
