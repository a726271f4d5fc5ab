package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/wire"
)

const writeSchema = `{"type":"object","additionalProperties":false,"required":["path","content"],"properties":{
"path":{"type":"string","minLength":1,"description":"the file"},
"content":{"type":"string","description":"the whole new content"},
"expected_sha256":{"type":"string","description":"write only if the file has this digest now; \"\" means only if there is none"}}}`

var sha256Form = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
})

type writeInput struct {
	Path     string  `json:"path"`
	Content  *string `json:"content"`
	Expected *string `json:"expected_sha256"`
}

func (w *writer) write(ctx context.Context, env *tool.Env, input json.RawMessage) (wire.Output, error) {
	var in writeInput
	if err := tool.Decode("write_file", input, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Content == nil:
		return nil, tool.Invalid("write_file", "content is missing")
	case in.Expected != nil && *in.Expected != "" && !sha256Form().MatchString(*in.Expected):
		return nil, tool.Invalid("write_file", "expected_sha256 is neither a sha256 (64 hex digits) nor empty")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := place.File(env, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	t, err := newTarget(p)
	if err != nil {
		return nil, err
	}
	var before old
	if t.st != nil {
		if before, err = t.load(ctx); err != nil {
			return nil, err
		}
	}
	if in.Expected != nil && !strings.EqualFold(*in.Expected, before.sha256) {
		return mismatch(t, before.sha256)
	}
	content := []byte(*in.Content)
	if err := t.replace(content); err != nil {
		return nil, err
	}
	_, added, removed := Diff(before.content, content)
	if t.st != nil && t.st.Size() > place.MaxWhole { // too long to compare
		added, removed = lineCount(content), before.lines
	}
	return written(t, content, added, removed), nil
}

// mismatch answers a write that expected another file.
func mismatch(t *target, sum string) (wire.Output, error) {
	is := "its sha256 is " + sum
	if t.st == nil {
		is = "it does not exist"
	}
	out := wire.Output{"path": t.Show, "sha256": sum, "text": fmt.Sprintf("[%s was not written: %s]", place.Name(t.Show), is)}
	return out, fail.Conflict("sha256_mismatch", "%s is not what was expected: %s; nothing was written", place.Name(t.Show), is).
		WithHint("%s", place.Hint("read_file", "path", t.Abs))
}

// written is the output of a call that has replaced a file.
func written(t *target, content []byte, added, removed int) wire.Output {
	verb := "wrote"
	if t.st == nil {
		verb = "created"
	}
	text := fmt.Sprintf("%s %s (+%d -%d lines, %s)", verb, place.Name(t.Show), added, removed, place.Size(int64(len(content))))
	for _, n := range t.notes {
		text += "\n[" + n + "]"
	}
	sum := sha256.Sum256(content)
	out := wire.Output{
		"text": text, "path": t.Show, "sha256": hex.EncodeToString(sum[:]),
		"added": added, "removed": removed, "created": t.st == nil,
	}
	if len(t.notes) > 0 {
		out["note"] = strings.Join(t.notes, "; ")
	}
	return out
}

func lineCount(b []byte) int {
	n := bytes.Count(b, []byte("\n"))
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}
