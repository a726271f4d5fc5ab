package lsp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/wire"
)

// world is a workspace with a host that answers as it is told.
type world struct {
	t       *testing.T
	ws      string
	env     *tool.Env
	reg     *tool.Registry
	asked   []string // the verbs
	q       wire.CodeQuery
	answers map[string]func() (*wire.CodeAnswer, error)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, ws: ws, answers: map[string]func() (*wire.CodeAnswer, error){}}
	w.put("a.go", "package a\n\nfunc Old() {}\n")
	w.put("sub/b.go", "package sub\n")
	w.put("secret/s.go", "package secret\n")
	w.env = &tool.Env{
		Workspace: ws, Cwd: ws,
		MayRead:  func(p string) bool { return strings.HasPrefix(p, ws+"/") && !strings.Contains(p, "secret") },
		MayWrite: func(p string) bool { return !strings.Contains(p, "sealed") },
	}
	w.reg, err = tool.NewRegistry(Tools(Deps{Ask: func(_ context.Context, _ *tool.Env, verb string, q wire.CodeQuery) (*wire.CodeAnswer, error) {
		w.asked = append(w.asked, verb)
		if len(w.asked) == 1 {
			w.q = q
		}
		if f := w.answers[verb]; f != nil {
			return f()
		}
		return &wire.CodeAnswer{State: wire.CodeOK}, nil
	}}))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) put(name, text string) {
	w.t.Helper()
	p := filepath.Join(w.ws, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// says sets what the host answers to a verb.
func (w *world) says(verb string, a wire.CodeAnswer) {
	w.answers[verb] = func() (*wire.CodeAnswer, error) {
		raw, _ := json.Marshal(a) // the call may change it
		c := &wire.CodeAnswer{}
		return c, json.Unmarshal(raw, c)
	}
}

// call makes a call as the gate does: checked, with a path that is absolute.
func (w *world) call(verb, input string) (wire.Output, *fail.Error) {
	w.t.Helper()
	w.asked, w.q = nil, wire.CodeQuery{}
	t := w.reg.Get(Name(verb))
	raw, err := t.Check(json.RawMessage(input))
	if err != nil {
		return nil, fail.As(err)
	}
	var in map[string]any
	if err := json.Unmarshal(raw, &in); err != nil {
		w.t.Fatal(err)
	}
	switch p, ok := in["path"].(string); {
	case !ok:
		in["path"] = w.env.Cwd
	case !filepath.IsAbs(p):
		in["path"] = filepath.Join(w.env.Cwd, p)
	}
	raw, _ = json.Marshal(in)
	out, err := t.Run(w.t.Context(), w.env, raw)
	return out, fail.As(err)
}

// text is the text of a call that goes well.
func (w *world) text(verb, input string) string {
	w.t.Helper()
	out, err := w.call(verb, input)
	if err != nil {
		w.t.Fatalf("%s %s: %+v", verb, input, err)
	}
	return out.Text()
}

func TestVerify(t *testing.T) {
	if err := newWorld(t).reg.Verify(); err != nil {
		t.Error(err)
	}
}

// What can't be asked is refused before anybody is asked, and says what is missing.
func TestInput(t *testing.T) {
	w := newWorld(t)
	w.put("bin.go", "\x7fELF\x00\x00")
	outside := filepath.Join(filepath.Dir(w.ws), "x.go")
	for _, tt := range []struct {
		verb, input, want string
		exit              int
	}{
		{"hover", `{}`, "it is missing where", 2},
		{"hover", `{"path":"a.go"}`, "line is missing", 2},
		{"hover", `{"line":1,"column":1}`, "path is missing", 2},
		{"hover", `{"path":"a.go","line":1}`, "column or name is missing", 2},
		{"hover", `{"path":"a.go","column":1}`, "line is missing", 2},
		{"hover", `{"path":"a.go","line":0,"column":1}`, "line is 0, allowed are at least 1", 2},
		{"hover", `{"path":"a.go","line":1,"column":0}`, "column is 0, allowed are at least 1", 2},
		{"hover", `{"path":"a.go","line":1,"column":-1}`, "column is -1", 2},
		{"hover", `{"path":"a.go","line":1,"column":1,"name":"a"}`, "either column or name", 2},
		{"hover", `{"path":"a.go","line":1,"column":1,"occurrence":2}`, "occurrence goes with name", 2},
		{"hover", `{"path":"a.go","line":1,"name":"a","occurrence":0}`, "occurrence is 0", 2},
		{"hover", `{"symbol":"A","line":1}`, "symbol goes with path alone", 2},
		{"hover", `{"symbol":"A","name":"b"}`, "symbol goes with path alone", 2},
		{"hover", `{"symbol":""}`, "symbol has 0 characters", 2},
		{"hover", `{"symbol":"A","query":"b"}`, `no field "query"`, 2},
		{"hover", `{"symbol":"A","limit":50001}`, "limit is 50001, allowed are 1 to 50000", 2},
		{"references", `{"symbol":"A","limit":1001}`, "limit is 1001, allowed are 1 to 1000", 2},
		{"references", `{"symbol":"A","limit":0}`, "limit is 0", 2},
		{"references", `{"symbol":"A","wait_ms":600001}`, "wait_ms is 600001", 2},
		{"references", `{"symbol":"A","wait_ms":-1}`, "wait_ms is -1", 2},
		{"symbols", `{}`, "give a path, or a query", 2},
		{"symbols", `{"path":"a.go","query":"x"}`, "either path or query", 2},
		{"rename", `{"symbol":"A"}`, `"new_name" is missing`, 2},
		{"rename", `{"symbol":"A","new_name":" "}`, "new_name is missing", 2},
		{"rename", `{"symbol":"A","new_name":"b","limit":3}`, `no field "limit"`, 2},
		{"diagnostics", `{"path":"gone.go"}`, "gone.go does not exist", 8},
		{"diagnostics", `{"path":"sub"}`, "sub is a folder", 2},
		{"diagnostics", `{"path":"bin.go"}`, "bin.go is not text", 1},
		{"diagnostics", `{"path":"` + outside + `"}`, "outside the workspace", 2},
		{"symbols", `{"path":"` + w.ws + `x/a.go"}`, "outside the workspace", 2},
	} {
		_, err := w.call(tt.verb, tt.input)
		if err == nil || err.Exit != tt.exit || !strings.Contains(err.Msg, tt.want) || len(w.asked) > 0 {
			t.Errorf("%s %s: %+v, asked %v; want %q (%d)", tt.verb, tt.input, err, w.asked, tt.want, tt.exit)
		}
	}
}

// What is asked is what was meant, with the caps and the wait.
func TestQuestion(t *testing.T) {
	w := newWorld(t)
	w.says("rename", wire.CodeAnswer{State: wire.CodePending})
	at := func(name string) string { return filepath.Join(w.ws, name) }
	w.env.Cwd = at("sub")
	for _, tt := range []struct {
		verb, input string
		want        wire.CodeQuery
	}{
		{"definition", `{"path":"../a.go","line":3,"column":6}`, wire.CodeQuery{Path: at("a.go"), Line: 3, Column: 6, Limit: 50, WaitMS: 10000}},
		{"definition", `{"path":"b.go","line":1,"name":"sub","occurrence":2,"limit":7,"wait_ms":0}`, wire.CodeQuery{Path: at("sub/b.go"), Line: 1, Name: "sub", Occurrence: 2, Limit: 7}},
		{"definition", `{"symbol":"a.Old"}`, wire.CodeQuery{Symbol: "a.Old", Limit: 50, WaitMS: 10000}},
		{"callers", `{"symbol":"Old","path":"../a.go"}`, wire.CodeQuery{Symbol: "Old", Path: at("a.go"), Limit: 50, WaitMS: 10000}},
		{"hover", `{"symbol":"Old"}`, wire.CodeQuery{Symbol: "Old", Limit: 2000 + hoverSlack, WaitMS: 10000}},
		{"symbols", `{"query":"Ol"}`, wire.CodeQuery{Query: "Ol", Limit: 100, WaitMS: 10000}},
		{"symbols", `{"path":"b.go","limit":1000}`, wire.CodeQuery{Path: at("sub/b.go"), Limit: 1000, WaitMS: 10000}},
		{"diagnostics", `{}`, wire.CodeQuery{Path: w.ws, Limit: 50, WaitMS: 10000}},
		{"diagnostics", `{"path":".."}`, wire.CodeQuery{Path: w.ws, Limit: 50, WaitMS: 10000}},
		{"diagnostics", `{"path":"b.go","wait_ms":600000}`, wire.CodeQuery{Path: at("sub/b.go"), Limit: 50, WaitMS: 600000}},
		{"type-definition", `{"symbol":"A"}`, wire.CodeQuery{Symbol: "A", Limit: 50, WaitMS: 10000}},
		{"rename", `{"symbol":"A","new_name":"b"}`, wire.CodeQuery{Symbol: "A", NewName: "b", WaitMS: 10000}},
	} {
		if _, err := w.call(tt.verb, tt.input); err != nil && err.Code != "pending" {
			t.Errorf("%s %s: %v", tt.verb, tt.input, err)
		}
		if len(w.asked) == 0 || w.asked[0] != tt.verb {
			t.Errorf("%s: asked %v", tt.verb, w.asked)
		}
		if d := cmp.Diff(tt.want, w.q); d != "" {
			t.Errorf("%s %s: %s", tt.verb, tt.input, d)
		}
	}
	// A call that has to end soon is not waited for longer.
	ctx, cancel := context.WithTimeout(t.Context(), late+5*time.Second)
	defer cancel()
	if _, err := w.reg.Get("lsp_definition").Run(ctx, w.env, json.RawMessage(`{"symbol":"A","wait_ms":600000}`)); err != nil || w.q.Symbol != "A" {
		t.Fatal(err)
	}
	w.asked = nil
	if _, err := w.reg.Get("lsp_definition").Run(ctx, w.env, json.RawMessage(`{"symbol":"A","wait_ms":600000}`)); err != nil || w.q.WaitMS > 5000 || w.q.WaitMS < 1 {
		t.Errorf("it waits %d ms, %v", w.q.WaitMS, err)
	}
}

// What is no answer is an error of its own kind, with the document.
func TestStates(t *testing.T) {
	w := newWorld(t)
	candidates := []wire.CodeLocation{{Path: "sub/b.go", Line: 2, Column: 3, Name: "Old", Text: "Old, it's()"}, {Path: "secret/s.go", Line: 1, Column: 1, Name: "Old"}}
	for _, tt := range []struct {
		answer           wire.CodeAnswer
		code, msg, hint  string
		exit             int
		text             string
		state, candidate string
	}{
		{wire.CodeAnswer{State: wire.CodePending, Reason: "typescript is still loading the project (3 s)"},
			"pending", "pending: typescript is still loading the project (3 s); ask again, or with a longer wait_ms", "kx lsp status", 124,
			"pending: typescript is still loading the project (3 s)", "pending", ""},
		{wire.CodeAnswer{State: wire.CodeUnavailable, Reason: "no language server for Rust on this machine", Hint: "kx lsp doctor rust"},
			"no_server", "no language server for Rust on this machine", "kx lsp doctor rust", 5,
			"unavailable: no language server for Rust on this machine", "unavailable", ""},
		{wire.CodeAnswer{State: wire.CodeUnavailable}, "no_server", "there is no language server for it", "kx lsp doctor", 5, "unavailable: nothing is known", "unavailable", ""},
		{wire.CodeAnswer{State: wire.CodeAmbiguous, Candidates: candidates},
			"ambiguous", `"Old" may be any of 1 place`, "kx lsp definition sub/b.go:2:3", 2,
			"ambiguous: 1 place may be meant\nsub/b.go:2:3  Old, it's()", "ambiguous", "sub/b.go"},
		{wire.CodeAnswer{State: wire.CodeOK, Candidates: candidates},
			"no_such_symbol", `nothing here is called "Old"; did you mean Old?`, "kx lsp definition sub/b.go:2:3", 8,
			"sub/b.go:2:3  Old, it's()", "ok", "sub/b.go"},
	} {
		w.says("definition", tt.answer)
		out, err := w.call("definition", `{"symbol":"Old"}`)
		if err == nil || err.Code != tt.code || err.Msg != tt.msg || err.Hint != tt.hint || err.Exit != tt.exit {
			t.Errorf("%s: %+v", tt.answer.State, err)
			continue
		}
		a := Answer(out)
		if out.Text() != tt.text || a == nil || a.State != tt.state || a.Type != "lsp_definition" || a.V != 1 || a.Withheld != 0 {
			t.Errorf("%s: %q, %+v", tt.answer.State, out.Text(), a)
		}
		if tt.candidate != "" && (len(a.Candidates) != 1 || a.Candidates[0].Path != tt.candidate) {
			t.Errorf("%s: %+v", tt.answer.State, a.Candidates)
		}
	}
	w.answers["definition"] = func() (*wire.CodeAnswer, error) { return nil, fail.Conflict("x", "moved") }
	if out, err := w.call("definition", `{"symbol":"Old"}`); err == nil || err.Exit != 7 || out != nil || Answer(out) != nil {
		t.Errorf("%v, %v", out, err)
	}
	// Findings are no error of the call.
	w.says("diagnostics", wire.CodeAnswer{State: wire.CodeFindings, Diagnostics: []wire.Diagnostic{{Path: "a.go", Line: 1, Column: 2, Severity: "error", Message: "m"}}})
	if out, err := w.call("diagnostics", `{}`); err != nil || out["state"] != "findings" {
		t.Errorf("%v, %v", out, err)
	}
	// What is known so far stands beside pending.
	w.says("diagnostics", wire.CodeAnswer{State: wire.CodePending, Reason: "r", Diagnostics: []wire.Diagnostic{{Path: "a.go", Line: 1, Column: 2, Severity: "error", Message: "m"}}})
	if out, err := w.call("diagnostics", `{}`); err == nil || out.Text() != "pending: r\na.go:1:2  error m" {
		t.Errorf("%v, %v", out, err)
	}
}

// What a hint has of a path can be typed, wherever the call stands.
func TestHints(t *testing.T) {
	w := newWorld(t)
	w.env.Cwd = filepath.Join(w.ws, "sub")
	for path, want := range map[string]string{
		"sub/b.go":      "kx lsp hover b.go:1:2",
		"a.go":          "kx lsp hover " + w.ws + "/a.go:1:2",
		"sub/it's a.go": `kx lsp hover 'it'\''s a.go:1:2'`,
		"sub/n\nl.go":   "kx lsp hover --help",
		"sub/-x.go":     "kx lsp hover --help",
	} {
		w.says("hover", wire.CodeAnswer{State: wire.CodeAmbiguous, Candidates: []wire.CodeLocation{{Path: path, Line: 1, Column: 2}}})
		if _, err := w.call("hover", `{"symbol":"x"}`); err == nil || err.Hint != want {
			t.Errorf("%q: %+v", path, err)
		}
	}
}

// Places in files that may not be read are left out and counted; those outside keep
// where they are.
func TestWithheld(t *testing.T) {
	w := newWorld(t)
	places := []wire.CodeLocation{
		{Path: "a.go", Line: 1, Column: 1, Text: "yes"}, {Path: "secret/s.go", Line: 1, Column: 1, Text: "no"},
		{Path: "/usr/lib/x.go", Line: 3, Column: 4, Text: "no"}, {Path: "sub/../secret/s.go", Line: 2, Column: 1, Text: "no"},
		{Path: w.ws + "/secret/s.go", Line: 9, Column: 1, Text: "no", Outside: true}, {Path: "../elsewhere", Line: 5, Column: 6, Text: "no"},
	}
	w.says("references", wire.CodeAnswer{State: wire.CodeOK, Locations: places, Total: 6, Path: "secret/s.go"})
	out, err := w.call("references", `{"symbol":"x"}`)
	if err != nil {
		t.Fatal(err)
	}
	a := Answer(out)
	if a.Withheld != 3 || a.Total != 3 || len(a.Locations) != 3 || a.Path != "" {
		t.Errorf("%+v", a)
	}
	want := `a.go:1:1           yes
/usr/lib/x.go:3:4  (outside the workspace)
../elsewhere:5:6   (outside the workspace)
[3 left out: policy does not allow to read there]
3 references`
	if d := cmp.Diff(want, out.Text()); d != "" {
		t.Error(d)
	}
	w.says("symbols", wire.CodeAnswer{State: wire.CodeOK, Total: 3, Symbols: []wire.CodeSymbol{
		{Name: "A", Kind: "function", Path: "a.go"}, {Name: "S", Path: "secret/s.go"}, {Name: "O", Kind: "function", Path: "/usr/lib/x.go", Line: 7, Column: 1},
	}})
	out, _ = w.call("symbols", `{"query":"x"}`)
	if a := Answer(out); a.Withheld != 1 || a.Total != 2 || len(a.Symbols) != 2 || !a.Symbols[1].Outside || strings.Contains(out.Text(), "secret") {
		t.Errorf("%+v", a)
	}
	w.says("diagnostics", wire.CodeAnswer{State: wire.CodeFindings, Total: 2, Diagnostics: []wire.Diagnostic{
		{Path: "a.go", Severity: "error", Message: "m", Related: places[:2]}, {Path: "secret/s.go", Severity: "error", Message: "n"},
	}, Skipped: []wire.CodeSkipped{{Path: "secret/s.go", Language: "go", State: "pending", Reason: "r"}}})
	out, _ = w.call("diagnostics", `{}`)
	if a := Answer(out); a.Withheld != 1 || a.Total != 1 || len(a.Diagnostics) != 1 || len(a.Diagnostics[0].Related) != 1 || a.State != wire.CodeFindings || strings.Contains(out.Text(), "secret") {
		t.Errorf("%+v\n%s", a, out.Text())
	}
	// What a link is called does not count alone: a server names files as it came to them.
	for name, to := range map[string]string{"link.go": "secret/s.go", "folder": "secret", "out.go": "/usr/lib/x.go", "same.go": "a.go"} {
		if err := os.Symlink(to, filepath.Join(w.ws, name)); err != nil {
			t.Fatal(err)
		}
	}
	var linked []wire.CodeLocation
	for _, name := range []string{"link.go", "folder/s.go", "out.go", "same.go", "folder/gone.go"} {
		linked = append(linked, wire.CodeLocation{Path: name, Line: 1, Column: 1, Text: "text of " + name})
	}
	w.says("references", wire.CodeAnswer{State: wire.CodeOK, Locations: linked, Total: 5})
	out, _ = w.call("references", `{"symbol":"x"}`)
	want = `out.go:1:1   (outside the workspace)
same.go:1:1  text of same.go
[3 left out: policy does not allow to read there]
2 references`
	if d := cmp.Diff(want, out.Text()); d != "" {
		t.Error(d)
	}
	// Without the gate's word nothing is shown.
	w.env.MayRead = nil
	w.says("references", wire.CodeAnswer{State: wire.CodeOK, Locations: places[:1], Total: 1})
	if out, _ = w.call("references", `{"symbol":"x"}`); Answer(out).Withheld != 1 {
		t.Errorf("%+v", out)
	}
}

// A hover shows a piece of the file in which the thing is declared.
func TestHoverOfWhatMayNotBeRead(t *testing.T) {
	w := newWorld(t)
	if err := os.Symlink("secret/s.go", filepath.Join(w.ws, "link.go")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		what       string
		definition func() (*wire.CodeAnswer, error)
		shown      bool
		exit       int
	}{
		{"here", func() (*wire.CodeAnswer, error) {
			return &wire.CodeAnswer{State: wire.CodeOK, Locations: []wire.CodeLocation{{Path: "a.go"}}}, nil
		}, true, 0},
		{"in a library", func() (*wire.CodeAnswer, error) {
			return &wire.CodeAnswer{State: wire.CodeOK, Locations: []wire.CodeLocation{{Path: "/usr/lib/x.go"}}}, nil
		}, true, 0},
		{"nowhere", func() (*wire.CodeAnswer, error) { return &wire.CodeAnswer{State: wire.CodeOK}, nil }, true, 0},
		{"denied", func() (*wire.CodeAnswer, error) {
			return &wire.CodeAnswer{State: wire.CodeOK, Locations: []wire.CodeLocation{{Path: "a.go"}, {Path: "secret/s.go"}}}, nil
		}, false, 0},
		{"behind a link", func() (*wire.CodeAnswer, error) {
			return &wire.CodeAnswer{State: wire.CodeOK, Locations: []wire.CodeLocation{{Path: "link.go"}}}, nil
		}, false, 0},
		{"not all is known", func() (*wire.CodeAnswer, error) {
			return &wire.CodeAnswer{State: wire.CodeOK, Truncated: true, Locations: []wire.CodeLocation{{Path: "a.go"}}}, nil
		}, false, 0},
		{"pending", func() (*wire.CodeAnswer, error) { return &wire.CodeAnswer{State: wire.CodePending}, nil }, false, 124},
		{"the server has none", func() (*wire.CodeAnswer, error) {
			return &wire.CodeAnswer{State: wire.CodeUnavailable, Code: wire.CodeNotSupported}, nil
		}, true, 0},
		{"the server ends", func() (*wire.CodeAnswer, error) {
			return &wire.CodeAnswer{State: wire.CodeUnavailable, Code: "server_ended"}, nil
		}, false, 5},
		{"the host ends", func() (*wire.CodeAnswer, error) { return nil, fail.Unavailable("x", "gone") }, false, 5},
		{"it fails", func() (*wire.CodeAnswer, error) { return nil, fail.Failed("x", "broke") }, false, 1},
	} {
		w.says("hover", wire.CodeAnswer{State: wire.CodeOK, Hover: "```go\nfunc Old()\n```", Total: 20})
		w.answers["definition"] = tt.definition
		out, err := w.call("hover", `{"path":"a.go","line":3,"column":6}`)
		if fail.Exit(errOf(err)) != tt.exit {
			t.Errorf("%s: %v", tt.what, err)
			continue
		}
		if err != nil {
			if strings.Contains(out.Text(), "func Old") || out["hover"] != nil {
				t.Errorf("%s: %+v", tt.what, out)
			}
			continue
		}
		a := Answer(out)
		if shown := a.Hover != ""; shown != tt.shown || (a.Withheld == 1) == tt.shown || strings.Contains(out.Text(), "func Old") != tt.shown {
			t.Errorf("%s: %+v %q", tt.what, a, out.Text())
		}
		if strings.Join(w.asked, " ") != "hover definition" {
			t.Errorf("%s: asked %v", tt.what, w.asked)
		}
	}
}

func errOf(e *fail.Error) error {
	if e == nil {
		return nil
	}
	return e
}
