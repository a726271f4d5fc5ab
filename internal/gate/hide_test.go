package gate

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/record/secret"
	"github.com/kxtools/kx/pkg/wire"
)

// What a tool gives back has no secrets, in whatever field and type, and neither has
// what is kept of it; the tool gets its input as it was.
func TestSecretsAreHidden(t *testing.T) {
	const value, marker = "sk-0123456789abcdef", "[secret model.a.b]"
	type match struct {
		Text string `json:"text"`
	}
	w := newWorld(t, handlers{"todo_write": func(_ context.Context, env *tool.Env, input json.RawMessage) (wire.Output, error) {
		if env.Secrets.String(value) != marker {
			t.Error("the tool is not told what is secret")
		}
		out := wire.Output{"text": "it is " + value, "n": 7, "matches": []match{{value}, {"x"}}, "map": map[string]any{value: 1}, "same": []match{{"y"}}}
		if strings.Contains(string(input), "fail") {
			return out, fail.Failed("broken", "no %s", value).WithHint("try %s", value)
		}
		return out, nil
	}})
	if err := secret.New(w.st).Set("model.a.b", value); err != nil {
		t.Fatal(err)
	}
	w.Secrets = func() (*redact.Redactor, error) { return secret.Redactor(w.st) }
	for _, text := range []string{value, "fail " + value} {
		b, err := w.Begin()
		if err != nil {
			t.Fatal(err)
		}
		input, _ := wire.Marshal(map[string]string{"text": text})
		res := b.Do(t.Context(), wire.Call{Tool: "todo_write", Input: input})
		raw, err := wire.Marshal(res)
		if err != nil || strings.Contains(string(raw), value) || res.Output.Text() != "it is "+marker || res.Output["n"] != 7 {
			t.Errorf("%s, %v", raw, err)
		}
		if got, _ := w.last.Load().(string); got != string(input) {
			t.Errorf("the tool got %s", got)
		}
		if _, ok := res.Output["same"].([]match); !ok {
			t.Errorf("what has no secret was changed: %T", res.Output["same"])
		}
		if strings.Contains(text, "fail") && (res.Error.Message != "no "+marker || res.Error.Hint != "try "+marker) {
			t.Errorf("the error is %+v", res.Error)
		}
	}
	err := filepath.WalkDir(w.dirs.State, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(filepath.Dir(path)) == "blobs" {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), value) {
			t.Errorf("%s has it", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}

	// Where they can't be known, nothing runs.
	w.Secrets = func() (*redact.Redactor, error) { return nil, errors.New("open to others") }
	if _, err := w.Begin(); err == nil {
		t.Error("a batch begins without knowing what is secret")
	}
}
