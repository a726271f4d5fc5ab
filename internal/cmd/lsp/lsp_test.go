package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/pkg/wire"
)

// fake answers calls from a table: by tool, and with a path by tool and path.
type fake struct {
	results map[string]*wire.Result
	calls   []wire.Call
}

func (f *fake) One(_ context.Context, c wire.Call) *wire.Result {
	f.calls = append(f.calls, c)
	var in wire.CodeQuery
	_ = json.Unmarshal(c.Input, &in)
	if r := f.results[c.Tool+" "+in.Path]; r != nil {
		return r
	}
	return f.results[c.Tool]
}

func (f *fake) All(ctx context.Context, list []wire.Call, emit func(*wire.Result) error) error {
	for _, c := range list {
		if err := emit(f.One(ctx, c)); err != nil {
			return err
		}
	}
	return nil
}

// bench is a command with a workspace, its streams and calls that are answered.
type bench struct {
	t         *testing.T
	opts      Options
	fake      *fake
	out, errs *bytes.Buffer
}

func newBench(t *testing.T, format out.Format) *bench {
	t.Helper()
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(ws, "sub"), 0o755), os.WriteFile(filepath.Join(ws, "sub/x:1:2"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s, _, o, e := term.Test()
	a := app.New(s, func(string) string { return "" }, "")
	a.Globals.Output = format
	b := &bench{t: t, fake: &fake{results: map[string]*wire.Result{}}, out: o, errs: e}
	b.opts = Options{App: a, Wait: usualWait, Open: func() (Calls, error) { return b.fake, nil }, Place: func() (string, string, error) { return ws, filepath.Join(ws, "sub"), nil }}
	return b
}

// says sets the result of a tool. An answer whose state is no answer has an error.
func (b *bench) says(tool string, a *wire.CodeAnswer, e *wire.Error) {
	r := &wire.Result{Tool: tool, Status: wire.StatusOK, Error: e}
	if a != nil {
		raw, _ := wire.Marshal(a)
		_ = json.Unmarshal(raw, &r.Output)
		r.Output["text"] = "for the model"
	}
	b.fake.results[tool] = r
}

func exit(err error) int {
	var s app.Status
	if errors.As(err, &s) {
		return int(s)
	}
	return fail.Exit(err)
}

var at = time.Date(2026, 3, 1, 14, 2, 11, 0, time.Local)

func server() *wire.CodeServer { return &wire.CodeServer{Name: "gopls", Version: "v0.23.0"} }

// The document is the answer, not the result; what is no answer has its own status,
// the document all the same, and one line of an error.
func TestPosition(t *testing.T) {
	clock := at.Format(time.TimeOnly)
	for _, tt := range []struct {
		what   string
		answer *wire.CodeAnswer
		err    *wire.Error
		exit   int
		text   string
		json   string
		msg    string
	}{
		{"an answer", &wire.CodeAnswer{Type: "lsp_references", V: 1, State: wire.CodeOK, Server: server(), AsOf: &at, Total: 1, Locations: []wire.CodeLocation{{Path: "a.go", Line: 1, Column: 2, Text: "x\x1b[31m"}}}, nil, 0,
			"a.go:1:2  x\\x1b[31m\n1 reference · gopls 0.23 · fresh as of " + clock + "\n", `"locations":[`, ""},
		{"nothing is an answer", &wire.CodeAnswer{Type: "lsp_references", V: 1, State: wire.CodeOK}, nil, 0, "no references\n", `"state":"ok","total":0}`, ""},
		{"cut", &wire.CodeAnswer{Type: "lsp_references", V: 1, State: wire.CodeOK, Total: 137, Truncated: true, Locations: []wire.CodeLocation{{Path: "a.go", Line: 1, Column: 2}}}, nil, 0,
			"a.go:1:2\n1 of 137 references; --limit 137 shows all\n", `"truncated":true`, ""},
		{"pending", &wire.CodeAnswer{Type: "lsp_references", V: 1, State: wire.CodePending, Reason: "typescript is still loading the project (3 s)"},
			&wire.Error{Code: "pending", Exit: 124, Message: "pending: ...", Hint: "kx lsp status"}, 124, "", `"state":"pending"`,
			"pending: typescript is still loading the project (3 s); ask again or use --wait 30s"},
		{"unavailable", &wire.CodeAnswer{Type: "lsp_references", V: 1, State: wire.CodeUnavailable, Reason: "no language server for Rust on this machine"},
			&wire.Error{Code: "no_server", Exit: 5, Message: "no language server for Rust on this machine", Hint: "kx lsp doctor rust"}, 5, "", `"state":"unavailable"`,
			"no language server for Rust on this machine"},
		{"ambiguous", &wire.CodeAnswer{Type: "lsp_references", V: 1, State: wire.CodeAmbiguous, Candidates: []wire.CodeLocation{{Path: "a.go", Line: 1, Column: 2, Text: "x"}}},
			&wire.Error{Code: "ambiguous", Exit: 2, Message: "several"}, 2, "a.go:1:2  x\n", `"candidates":[`, "several"},
		{"denied", nil, &wire.Error{Code: "denied", Exit: 3, Message: "lsp_references is denied"}, 3, "", "", "lsp_references is denied"},
		{"a person is needed", nil, &wire.Error{Code: "pending", Exit: 4, Message: "lsp_references needs approval 7k2q", Hint: "kx approve allow 7k2q"}, 4, "", "", "lsp_references needs approval 7k2q"},
		{"not found", nil, &wire.Error{Code: "no_such_symbol", Exit: 8, Message: "none"}, 8, "", "", "none"},
		{"no document at all", nil, nil, 1, "", "", "the answer has no state"},
	} {
		for _, format := range []out.Format{out.Table, out.JSON} {
			b := newBench(t, format)
			b.says("lsp_references", tt.answer, tt.err)
			err := position(t.Context(), &PositionOptions{Options: b.opts, Verb: "references", Symbol: "x"})
			msg := ""
			if e := (*fail.Error)(nil); errors.As(err, &e) {
				msg = e.Msg
				if tt.err != nil && e.Hint != tt.err.Hint {
					t.Errorf("%s: hint %q", tt.what, e.Hint)
				}
			}
			if exit(err) != tt.exit || msg != tt.msg {
				t.Errorf("%s, %s: %d %q, want %d %q", tt.what, format, exit(err), msg, tt.exit, tt.msg)
			}
			got := b.out.String()
			if format == out.Table && got != tt.text || format == out.JSON && (!strings.Contains(got, tt.json) || (got == "") != (tt.json == "")) {
				t.Errorf("%s, %s: %q", tt.what, format, got)
			}
			if strings.Contains(got, "for the model") || strings.Contains(got, `"result"`) || format == out.JSON && got != "" && !strings.HasPrefix(got, `{"type":"lsp_references","v":1,`) {
				t.Errorf("%s: the document is %q", tt.what, got)
			}
		}
	}
}

// What is typed is what is asked.
func TestWhere(t *testing.T) {
	for _, tt := range []struct{ symbol, address, want string }{
		{"", "a.go:3:9", `{"path":"a.go","line":3,"column":9,"limit":7,"wait_ms":10000}`},
		{"", "../a.go:3:x#2", `{"path":"../a.go","line":3,"name":"x","occurrence":2,"limit":7,"wait_ms":10000}`},
		{"", "~a.go:3:9", `{"path":"./~a.go","line":3,"column":9,"limit":7,"wait_ms":10000}`},
		{"", "~/a.go:3:9", `{"path":"./~/a.go","line":3,"column":9,"limit":7,"wait_ms":10000}`},
		{"clock.Truncate", "", `{"symbol":"clock.Truncate","limit":7,"wait_ms":10000}`},
		{"Truncate", "a:1:2", `{"path":"a:1:2","symbol":"Truncate","limit":7,"wait_ms":10000}`},
		{"", "", "needs an address (FILE:LINE:COL or FILE:LINE:NAME), or --symbol NAME"},
		{"", "x:1:2", "is a file; say where in it"},
		{"", "../../out.go:1:2", "is outside the workspace"},
		{"x", "/etc/passwd", "is outside the workspace"},
		{"", "/etc/passwd:1:2", "is outside the workspace"},
	} {
		b := newBench(t, out.JSON)
		b.opts.Limit = 7
		b.says("lsp_hover", &wire.CodeAnswer{Type: "lsp_hover", V: 1, State: wire.CodeOK}, nil)
		err := position(t.Context(), &PositionOptions{Options: b.opts, Verb: "hover", Symbol: tt.symbol, Address: tt.address})
		switch {
		case err != nil && (fail.Exit(err) != 2 || !strings.Contains(err.Error(), tt.want) || len(b.fake.calls) > 0):
			t.Errorf("%q %q: %v", tt.symbol, tt.address, err)
		case err == nil && (len(b.fake.calls) != 1 || b.fake.calls[0].Tool != "lsp_hover" || string(b.fake.calls[0].Input) != tt.want):
			t.Errorf("%q %q: %s", tt.symbol, tt.address, b.fake.calls[0].Input)
		}
	}
}

func TestDiagnostics(t *testing.T) {
	finding := wire.Diagnostic{Path: "sub/b.go", Line: 1, Column: 2, Severity: "error", Message: "m", Source: "compiler", Code: "X"}
	clean := &wire.CodeAnswer{Type: "lsp_diagnostics", V: 1, Path: "sub/a.go", State: wire.CodeClean, Server: server()}
	found := &wire.CodeAnswer{Type: "lsp_diagnostics", V: 1, Path: "sub/b.go", State: wire.CodeFindings, Total: 1, Diagnostics: []wire.Diagnostic{finding}}
	late := &wire.CodeAnswer{Type: "lsp_diagnostics", V: 1, Path: "sub/c.ts", State: wire.CodePending, Reason: "loading"}
	for _, tt := range []struct {
		files      []string
		exit       int
		text, json string
	}{
		{[]string{"a.go"}, 0, "clean · gopls 0.23\n", `{"type":"lsp_diagnostics","v":1,"path":"sub/a.go","server":{"name":"gopls","version":"v0.23.0"},"state":"clean","total":0}` + "\n"},
		{[]string{"b.go"}, 1, "sub/b.go:1:2  error m [compiler X]\n1 error\n", ""},
		{[]string{"a.go", "b.go"}, 1, "a.go: clean · gopls 0.23\nsub/b.go:1:2  error m [compiler X]\nb.go: 1 error\n", ""},
		{[]string{"a.go", "a.go"}, 0, "a.go: clean · gopls 0.23\na.go: clean · gopls 0.23\n", ""},
		{[]string{"b.go", "c.ts"}, 124, "sub/b.go:1:2  error m [compiler X]\nb.go: 1 error\nc.ts: pending: loading; ask again or use --wait 30s\n", ""},
		{[]string{"c.ts", "gone.go", "b.go"}, 124, "c.ts: pending: loading; ask again or use --wait 30s\ngone.go: gone.go does not exist\nsub/b.go:1:2  error m [compiler X]\nb.go: 1 error\n", ""},
		{[]string{"a.go", "denied.go", "c.ts"}, 3, "a.go: clean · gopls 0.23\ndenied.go: denied\nc.ts: pending: loading; ask again or use --wait 30s\n", ""},
	} {
		for _, format := range []out.Format{out.Table, out.JSONL, out.JSON} {
			b := newBench(t, format)
			for path, a := range map[string]*wire.CodeAnswer{"a.go": clean, "b.go": found} {
				b.says("lsp_diagnostics "+path, a, nil)
			}
			b.says("lsp_diagnostics c.ts", late, &wire.Error{Code: "pending", Exit: 124, Message: "x"})
			b.says("lsp_diagnostics gone.go", nil, &wire.Error{Code: "no_such_file", Exit: 8, Message: "gone.go does not exist"})
			b.says("lsp_diagnostics denied.go", nil, &wire.Error{Code: "denied", Exit: 3, Message: "denied"})
			err := diagnostics(t.Context(), &DiagnosticsOptions{Options: b.opts, Files: tt.files})
			if exit(err) != tt.exit {
				t.Errorf("%v: %v, want %d", tt.files, err, tt.exit)
			}
			got := b.out.String()
			switch {
			case format == out.Table:
				if d := cmp.Diff(tt.text, got); d != "" {
					t.Errorf("%v: %s", tt.files, d)
				}
			case tt.json != "" && got != tt.json:
				t.Errorf("%v, %s: %s", tt.files, format, got)
			case format == out.JSONL && strings.Count(got, "\n") != len(tt.files):
				t.Errorf("%v: %s", tt.files, got)
			case format == out.JSON && len(tt.files) > 1:
				var docs []struct{ Type string }
				if err := json.Unmarshal([]byte(got), &docs); err != nil || len(docs) != len(tt.files) {
					t.Errorf("%v: %v, %s", tt.files, err, got)
				}
				for i, f := range tt.files {
					if isError := f == "gone.go" || f == "denied.go"; (docs[i].Type == "error") != isError {
						t.Errorf("%v: %+v", tt.files, docs)
					}
				}
			}
		}
	}
	// All of the workspace is one question without a path.
	b := newBench(t, out.Table)
	b.says("lsp_diagnostics", found, nil)
	if err := diagnostics(t.Context(), &DiagnosticsOptions{Options: b.opts}); exit(err) != 1 || string(b.fake.calls[0].Input) != `{"wait_ms":10000}` {
		t.Errorf("%v, %s", err, b.fake.calls[0].Input)
	}
	// Nothing is asked if one of the files can't be.
	b = newBench(t, out.Table)
	if err := diagnostics(t.Context(), &DiagnosticsOptions{Options: b.opts, Files: []string{"a.go", "/etc/passwd"}}); exit(err) != 2 || len(b.fake.calls) > 0 {
		t.Errorf("%v", err)
	}
}

func TestRename(t *testing.T) {
	const patch = "--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-old\n+new\n"
	planned := &wire.CodeAnswer{Type: "lsp_rename", V: 1, State: wire.CodeOK, Server: server(), Patch: patch, Paths: []string{"a.go"}, Added: 1, Removed: 1, Total: 1}
	for _, tt := range []struct {
		what       string
		apply      bool
		answer     *wire.CodeAnswer
		err        *wire.Error
		applied    *wire.Error
		exit       int
		text, json string
		calls      string
	}{
		{"a dry run", false, planned, nil, nil, 0, patch, `"patch":"--- a/a.go\n`, "lsp_rename"},
		{"nothing there", false, nil, &wire.Error{Code: "nothing_to_rename", Exit: 8, Message: "there is nothing to rename here"}, nil, 8, "", "", "lsp_rename"},
		{"pending", true, &wire.CodeAnswer{Type: "lsp_rename", V: 1, State: wire.CodePending, Reason: "r"}, &wire.Error{Code: "pending", Exit: 124}, nil, 124, "", `"state":"pending"`, "lsp_rename"},
		{"applied", true, planned, nil, nil, 0, "a.go\n1 file changed (+1 -1 lines) · gopls 0.23\n", `"applied":true`, "lsp_rename apply_patch"},
		{"a person is needed", true, planned, nil, &wire.Error{Code: "pending", Exit: 4, Message: "apply_patch needs approval 7k2q", Hint: "kx approve allow 7k2q"}, 4, patch, `"approval_id":"7k2q"`, "lsp_rename apply_patch"},
		{"denied", true, planned, nil, &wire.Error{Code: "denied", Exit: 3, Message: "no"}, 3, patch, `"patch"`, "lsp_rename apply_patch"},
	} {
		for _, format := range []out.Format{out.Table, out.JSON} {
			b := newBench(t, format)
			b.says("lsp_rename", tt.answer, tt.err)
			b.says("apply_patch", nil, tt.applied)
			if tt.applied != nil && tt.applied.Exit == 4 {
				b.fake.results["apply_patch"].ApprovalID = "7k2q"
			}
			err := rename(t.Context(), &RenameOptions{Options: b.opts, Symbol: "old", New: "new", DryRun: !tt.apply, Apply: tt.apply})
			var calls []string
			for _, c := range b.fake.calls {
				calls = append(calls, c.Tool)
			}
			if exit(err) != tt.exit || strings.Join(calls, " ") != tt.calls {
				t.Errorf("%s: %v, calls %v", tt.what, err, calls)
			}
			if string(b.fake.calls[0].Input) != `{"symbol":"old","new_name":"new","wait_ms":10000,"dry_run":true}` {
				t.Errorf("%s: %s", tt.what, b.fake.calls[0].Input)
			}
			if len(calls) == 2 {
				var in struct{ Patch string }
				if json.Unmarshal(b.fake.calls[1].Input, &in) != nil || in.Patch != patch {
					t.Errorf("%s: %s", tt.what, b.fake.calls[1].Input)
				}
			}
			got := b.out.String()
			if format == out.Table && got != tt.text || format == out.JSON && (!strings.Contains(got, tt.json) || (got == "") != (tt.json == "")) {
				t.Errorf("%s, %s: %q", tt.what, format, got)
			}
			if strings.Contains(got, `"applied"`) != (format == out.JSON && tt.what == "applied") {
				t.Errorf("%s: %q", tt.what, got)
			}
		}
	}
}

func TestUsage(t *testing.T) {
	b := newBench(t, out.Table)
	a := b.opts.App
	for _, tt := range []struct {
		c     *app.Command
		args  []string
		wait  time.Duration
		words string
	}{
		{NewSymbols(a, nil), nil, 0, "needs a file or --query Q"},
		{NewRename(a, nil), []string{"x"}, 0, "needs --dry-run or --apply"},
	} {
		if err := tt.c.Run(t.Context(), tt.args); exit(err) != 2 || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s %v: %v", tt.c.Name, tt.args, err)
		}
	}
	for _, o := range []Options{{Wait: -1}, {Wait: mostWait + 1}, {Limit: -1}} {
		if err := o.check(); exit(err) != 2 {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for wait, want := range map[time.Duration]string{0: "30s", 10 * time.Second: "30s", 15 * time.Second: "45s", 20 * time.Second: "1m", time.Minute: "3m", 9 * time.Minute: "10m"} {
		if got := longer(wait); got != want {
			t.Errorf("after %s comes %s, want %s", wait, got, want)
		}
	}
}

func TestStatus(t *testing.T) {
	started := at.Add(-90 * time.Second)
	row := wire.LanguageServer{Type: "lsp_server", V: 1, Language: "go", Name: "gopls", Version: "v0.23.0", State: "ready", PID: 7, Memory: 200 << 20, OpenFiles: 3, Started: &started}
	ended := wire.LanguageServer{Type: "lsp_server", V: 1, Language: "rust", Name: "rust-analyzer", State: "failed", Reason: "it ended 3 times"}
	for _, tt := range []struct {
		what      string
		docs      []any
		err       error
		out, errs string
		exit      int
	}{
		{"none runs", nil, nil, "", "no language host runs for this workspace\n", 0},
		{"nothing was asked yet", []any{}, nil, "", "no language server has been started yet\n", 0},
		{"servers", []any{row, ended}, nil, `LANGUAGE  SERVER         STATE   PID  MEMORY     OPEN  UPTIME  REASON
go        gopls v0.23.0  ready   7    200.0 MiB  3     1m30s
rust      rust-analyzer  failed                  0             it ended 3 times
`, "", 0},
		{"an error", nil, fail.Unavailable("x", "broken"), "", "", 5},
		{"no document", []any{"x"}, nil, "", "", 1},
	} {
		b := newBench(t, out.Table)
		b.opts.App.Now = func() time.Time { return at }
		o := &HostOptions{App: b.opts.App, Ask: func(_ context.Context, verb, _ string, start bool) (list []json.RawMessage, err error) {
			if verb != "status" || start {
				t.Errorf("%s, start %t", verb, start)
			}
			return raws(tt.docs), tt.err
		}}
		if err := status(t.Context(), o); exit(err) != tt.exit {
			t.Errorf("%s: %v", tt.what, err)
		}
		if d := cmp.Diff(tt.out+tt.errs, b.out.String()+b.errs.String()); d != "" {
			t.Errorf("%s: %s", tt.what, d)
		}
	}
}

func raws(docs []any) []json.RawMessage {
	if docs == nil {
		return nil
	}
	list := []json.RawMessage{}
	for _, d := range docs {
		raw, _ := wire.Marshal(d)
		list = append(list, raw)
	}
	return list
}

func TestDoctor(t *testing.T) {
	docs := []any{
		wire.LanguageCheck{Type: "lsp_check", V: 1, Language: "go", Used: true, State: "ok", Server: "gopls", Version: "0.23", Program: "/usr/bin/gopls"},
		wire.LanguageCheck{Type: "lsp_check", V: 1, Language: "rust", State: "missing", Reason: "no rust-analyzer on PATH", Hint: "rustup component add rust-analyzer"},
	}
	for _, tt := range []struct {
		language, want string
		exit           int
		bad            bool
	}{
		{"", "LANGUAGE  STATE    SERVER      DETAIL                                    HINT\ngo        ok       gopls 0.23  /usr/bin/gopls\nrust      missing              no rust-analyzer on PATH (not used here)  rustup component add rust-analyzer\n", 0, false},
		{"go", "LANGUAGE  STATE  SERVER      DETAIL          HINT\ngo        ok     gopls 0.23  /usr/bin/gopls\n", 0, false},
		{"Rust", "LANGUAGE  STATE    SERVER  DETAIL                                    HINT\nrust      missing          no rust-analyzer on PATH (not used here)  rustup component add rust-analyzer\n", 5, false},
		{"rsut", `there is no language "rsut"; did you mean rust?`, 8, true},
		{"cobol", `there is no language "cobol"`, 8, true},
	} {
		b := newBench(t, out.Table)
		o := &HostOptions{App: b.opts.App, Language: tt.language, Ask: func(_ context.Context, verb, _ string, start bool) ([]json.RawMessage, error) {
			if verb != "doctor" || !start {
				t.Errorf("%s, start %t", verb, start)
			}
			return raws(docs), nil
		}}
		err := doctor(t.Context(), o)
		got := b.out.String()
		if tt.bad {
			got = err.Error()
		}
		if exit(err) != tt.exit || got != tt.want {
			t.Errorf("%q: %v\n%s", tt.language, err, got)
		}
	}
	// A language that is used and has no server is a finding.
	docs[1] = wire.LanguageCheck{Type: "lsp_check", V: 1, Language: "rust", Used: true, State: "untrusted"}
	b := newBench(t, out.JSONL)
	o := &HostOptions{App: b.opts.App, Ask: func(context.Context, string, bool) ([]json.RawMessage, error) { return raws(docs), nil }}
	if err := doctor(t.Context(), o); exit(err) != 5 || strings.Count(b.out.String(), "\n") != 2 {
		t.Errorf("%v, %s", err, b.out)
	}
}
