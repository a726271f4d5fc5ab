package work

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
)

func TestTools(t *testing.T) {
	reg, err := tool.NewRegistry(Tools())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, input, text string
		exit              int
		message           string
	}{
		{"emit_output", `{"content":"done"}`, "done", 0, ""},
		{"emit_output", `{"parts":[{"type":"text","text":"a"},{"type":"text","text":"b\n"},{"type":"text","text":"c"}]}`, "a\nb\nc", 0, ""},
		{"emit_output", `{"content":"done","artifact_ids":[]}`, "done", 0, ""},
		{"emit_output", `{}`, "", 2, "nothing to hand over"},
		{"emit_output", `{"content":" \n"}`, "", 2, "nothing to hand over"},
		{"emit_output", `{"parts":[]}`, "", 2, "nothing to hand over"},
		{"emit_output", `{"parts":[{"type":"text"}]}`, "", 2, "nothing to hand over"},
		{"emit_output", `{"content":"a","parts":[{"type":"text","text":"b"}]}`, "", 2, "either content or parts"},
		{"emit_output", `{"parts":[{"type":"image","text":"b"}]}`, "", 2, "expected text, asset"},
		{"emit_output", `{"parts":[{"type":"text","text":"b","asset_id":"x"}]}`, "", 2, "names an asset"},
		{"emit_output", `{"content":"a","artifact_ids":["art1"]}`, "", 8, `no artifact "art1"`},
		{"emit_output", `{"parts":[{"type":"text","text":"a"},{"type":"asset","asset_id":"a1"}]}`, "", 8, `no asset "a1"`},
		{"emit_output", "{\"content\":\"\xff\"}", "", 2, "UTF-8"},

		{"todo_write", `{"items":[{"content":"look","status":"completed"},{"content":"mend\nit","status":"in_progress"},{"content":"test","status":"pending"}]}`,
			"[x] look\n[>] mend it\n[ ] test\n1 pending, 1 in progress, 1 completed", 0, ""},
		{"todo_write", `{"items":[]}`, "0 pending, 0 in progress, 0 completed", 0, ""},
		{"todo_write", `{}`, "", 2, "missing"},
		{"todo_write", `{"items":[{"content":"a","status":"in_progress"},{"content":"b","status":"in_progress"}]}`, "", 2, "2 items are in progress"},
		{"todo_write", `{"items":[{"content":"a","status":"done"}]}`, "", 2, "expected pending"},
		{"todo_write", `{"items":[{"content":" ","status":"pending"}]}`, "", 2, "is empty"},
		{"todo_write", `{"items":[{"status":"pending"}]}`, "", 2, "missing"},
		{"todo_write", `{"items":"a"}`, "", 2, "not an array"},
		{"todo_write", `{"items":[` + strings.Repeat(`{"content":"a","status":"pending"},`, maxItems) + `{"content":"a","status":"pending"}]}`, "", 2, "101 items"},
	} {
		raw, err := reg.Get(c.tool).Check(json.RawMessage(c.input))
		if err == nil {
			var out map[string]any
			out, err = reg.Get(c.tool).Run(context.Background(), &tool.Env{}, raw)
			if err == nil && out["text"] != c.text {
				t.Errorf("%s %s: %q, want %q", c.tool, c.input, out["text"], c.text)
			}
		}
		if fail.Exit(err) != c.exit || err != nil && !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s %.80s: error %v (%d), want %q (%d)", c.tool, c.input, err, fail.Exit(err), c.message, c.exit)
		}
	}
	// A handler stands without the gate's check, too.
	for name, input := range map[string]string{
		"emit_output": `{"parts":[{"type":"image"}]}`,
		"todo_write":  `{"items":[{"content":"a","status":"done"}]}`,
	} {
		if _, err := reg.Get(name).Run(context.Background(), &tool.Env{}, json.RawMessage(input)); fail.Exit(err) != fail.ExitUsage {
			t.Errorf("%s unchecked: %v", name, err)
		}
	}
}

func TestTodoWriteReturnsTheList(t *testing.T) {
	for input, want := range map[string]string{
		`{"items":[{"content":"a","status":"pending"}]}`: `{"counts":{"completed":0,"in_progress":0,"pending":1},"items":[{"content":"a","status":"pending"}]}`,
		`{"items":[]}`: `{"counts":{"completed":0,"in_progress":0,"pending":0},"items":[]}`,
	} {
		out, err := todoWrite(context.Background(), nil, json.RawMessage(input))
		if err != nil {
			t.Fatal(err)
		}
		delete(out, "text")
		got, _ := json.Marshal(out)
		if d := cmp.Diff(want, string(got)); d != "" {
			t.Error(d)
		}
	}
}
