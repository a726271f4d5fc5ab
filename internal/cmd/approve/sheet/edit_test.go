package sheet

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

// Another input is judged as it would be if the call had it.
func TestEdit(t *testing.T) {
	h := newHouse(t)
	h.write(filepath.Join(h.dir, "config/policy.toml"), "[[rule]]\ntool = \"bash\"\ncommand = \"rm *\"\ndecision = \"deny\"\n\n[[rule]]\ntool = \"bash\"\ncommand = \"go test *\"\ndecision = \"allow\"\n")
	a := h.request("bash", `{"command":"make x"}`)
	a.Digests = map[string]string{"/x": "1"}
	for input, want := range map[string]string{
		`{"command":"make y", "timeout_ms": 5, "description": "d"}`: "ask by built-in",
		`{"command":"go test ./..."}`:                               "would be allowed without asking: allow by ",
		`{"command":"rm -rf x"}`:                                    "would be denied: deny by ",
		`{"command":"cat ~/.ssh/id_rsa"}`:                           "would be denied, whatever the rules say: ",
	} {
		b, verdict, err := h.reader.Edit(a, json.RawMessage(input))
		if err != nil {
			t.Errorf("%s: %v", input, err)
			continue
		}
		if (verdict == wire.Deny) != strings.HasPrefix(want, "would be denied") {
			t.Errorf("%s: %s", input, verdict)
		}
		if !strings.HasPrefix(b.Reason, want) || !b.InputEdited || b.Digests != nil || len(b.Leaves) != 1 || b.ID != a.ID {
			t.Errorf("%s: %+v", input, b)
		}
		if strings.Contains(string(b.Input), "timeout") || strings.Contains(string(b.Input), "description") {
			t.Errorf("%s: the input is %s", input, b.Input)
		}
		got := show(h.reader.Read(b))
		sane(t, h.reader.Read(b))
		if !strings.Contains(got, "input    changed by a person") || !strings.Contains(got, "an edited input can only be allowed once") {
			t.Errorf("%s: %s", input, got)
		}
	}
	if a.InputEdited || string(a.Input) != `{"command":"make x"}` {
		t.Errorf("the request was changed: %+v", a)
	}
	for input, code := range map[string]string{`{"command":1}`: "invalid_input", `{"commando":"x"}`: "invalid_input", `{`: "invalid_input", ``: "invalid_input"} {
		if _, _, err := h.reader.Edit(a, json.RawMessage(input)); err == nil || fail.As(err).Code != code {
			t.Errorf("%q: %v", input, err)
		}
	}
	a.Caller = "claude"
	if _, _, err := h.reader.Edit(a, json.RawMessage(`{"command":"ls"}`)); err == nil {
		t.Error("another agent's call got another input")
	}
	a.Caller, a.Tool = "cli", "mcp__a__b"
	if _, _, err := h.reader.Edit(a, json.RawMessage(`{}`)); fail.Exit(err) != fail.ExitUnavailable {
		t.Errorf("a tool that is not here: %v", err)
	}
	a.Tool, a.Sandbox = "bash", "none"
	if b, _, err := h.reader.Edit(a, json.RawMessage(`{"command":"go test ./..."}`)); err != nil || !b.Mandatory {
		t.Errorf("without walls: %+v, %v", b, err)
	}
}

// The files of an edited input are those that it names, wherever they are.
func TestEditOfFiles(t *testing.T) {
	h := newHouse(t)
	h.write("a", "one\n")
	h.write("b", "two\n")
	a := h.request("edit_file", `{"path":"a","old_string":"one","new_string":"1"}`)
	b, _, err := h.reader.Edit(a, json.RawMessage(`{"path":"b","old_string":"two","new_string":"2"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := show(h.reader.Read(b)); !strings.Contains(got, "diff b\n 2 |@@ -1,1 +1,1 @@\n31 |-two\n32 |+2\n") {
		t.Error(got)
	}
	p := h.request("apply_patch", `{"patch":"*** Begin Patch\n*** Add File: n\n+x\n*** End Patch"}`)
	b, _, err = h.reader.Edit(p, json.RawMessage(`{"patch":"*** Begin Patch\n*** Add File: m\n+x\n*** End Patch"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := show(h.reader.Read(b)); !strings.Contains(got, "new file m\n32 |+x\n") {
		t.Error(got)
	}
}

// FuzzSheet makes sheets of inputs that anybody may have written.
func FuzzSheet(f *testing.F) {
	for _, tt := range requests {
		f.Add(tt.tool, []byte(tt.input), "a\r\n\tb \x1b[2J\xff\n")
	}
	f.Add("write_file", []byte(`{"path":"f","content":"+\n-\n@@\n\\ \n"}`), "\n\n-\n+")
	f.Add("edit_file", []byte(`{"path":"../f","old_string":"a","new_string":null}`), "a")
	f.Add("apply_patch", []byte(`{"patch":"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"}`), "a\n")
	f.Add("bash", []byte(`{"command":"a $(b <(c) `+"`d`"+`) > $e"}`), "")
	built := newHouse(f)
	f.Fuzz(func(t *testing.T, tool string, input []byte, file string) {
		h := &house{t, built.dir, built.ws, built.reader}
		h.write("f", file)
		a := h.request("read_file", `{"path":"f"}`)
		a.Tool, a.Input = tool, input
		a.Digests = nil
		w := h.reader.world(a)
		d := w.judge.Explain(tool, input, "default", true)
		a.Points, a.Leaves = d.Points, d.Leaves
		for _, state := range []string{"pending", "spent"} {
			a.State = state
			s := h.reader.Read(a)
			sane(t, s)
			sane(t, h.reader.Outcome(a))
			sane(t, &Sheet{[]Part{{Lines: []Line{{Text: Brief(a)}}}}})
			if len(s.Parts) < 2 {
				t.Fatalf("%d parts", len(s.Parts))
			}
		}
		_, _, _ = h.reader.Edit(a, input)
	})
}
