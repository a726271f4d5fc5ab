package file

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/match"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// maxDiffLines and maxDiffBytes are shown of what an edit has changed: it
	// is there to check it, not to repeat it.
	maxDiffLines = 60
	maxDiffBytes = 4 << 10
)

const editSchema = `{"type":"object","additionalProperties":false,"required":["path","old_string","new_string"],"properties":{
"path":{"type":"string","minLength":1,"description":"the file"},
"old_string":{"type":"string","minLength":1,"description":"the text to replace, exactly as it is in the file"},
"new_string":{"type":"string","description":"what takes its place"},
"replace_all":{"type":"boolean","description":"replace every match, not the only one"}}}`

type editInput struct {
	Path string  `json:"path"`
	Old  string  `json:"old_string"`
	New  *string `json:"new_string"`
	All  bool    `json:"replace_all"`
}

func (w *writer) edit(ctx context.Context, env *tool.Env, input json.RawMessage) (wire.Output, error) {
	var in editInput
	if err := tool.Decode("edit_file", input, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Old == "":
		return nil, tool.Invalid("edit_file", "old_string is empty: write_file writes a whole file")
	case in.New == nil:
		return nil, tool.Invalid("edit_file", "new_string is missing")
	case in.Old == *in.New:
		return nil, tool.Invalid("edit_file", "old_string and new_string are the same")
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
	before, err := t.editable(ctx)
	if err != nil {
		return nil, err
	}
	after, n, err := in.apply(t, before)
	if err != nil {
		return nil, err
	}
	if err := t.replace(after); err != nil {
		return nil, err
	}
	diff, added, removed := Diff(before, after)
	out := written(t, after, added, removed)
	delete(out, "created")
	out["replacements"] = n
	if place.MayRead(env, p.Abs) {
		out["text"] = out.Text() + "\n" + shorten(diff)
	}
	return out, nil
}

// editable returns the content of a text file.
func (t *target) editable(ctx context.Context) ([]byte, error) {
	if t.st == nil {
		return nil, fail.NotFound("no_such_file", "%s does not exist: write_file makes a new file", place.Name(t.Show)).
			WithHint("kx tool show write_file")
	}
	if t.st.Size() > place.MaxWhole {
		return nil, tooLarge(t, "has", t.st.Size())
	}
	before, err := t.load(ctx)
	if err != nil {
		return nil, err
	}
	return before.content, place.CheckText(before.content, t.st.Size(), t.Show)
}

func tooLarge(t *target, verb string, n int64) error {
	return fail.Limit("too_large", "%s %s %s; edit_file works on at most %s", place.Name(t.Show), verb, place.Size(n), place.Size(place.MaxWhole))
}

// apply replaces old_string in content, byte for byte.
func (in editInput) apply(t *target, content []byte) (after []byte, n int, err error) {
	from, to := match.LineEnds(content, in.Old, *in.New)
	lines, total := match.Occurrences(content, from)
	switch {
	case total == 0:
		return nil, 0, fail.Failed("no_match", "old_string is not in %s%s", place.Name(t.Show), match.Nearby(content, in.Old)).
			WithHint("%s", place.Hint("read_file", "path", t.Abs))
	case total > 1 && !in.All:
		return nil, 0, fail.Failed("ambiguous_match", "old_string is in %s %d times, at lines %s: give more of the text around it, or set replace_all",
			place.Name(t.Show), total, strings.Join(lines, ", ")).WithHint("%s", place.Hint("read_file", "path", t.Abs))
	}
	n = bytes.Count(content, from) // as replacements go: without overlaps
	if size := int64(len(content)) + int64(n)*int64(len(to)-len(from)); size > place.MaxWhole {
		return nil, 0, tooLarge(t, "would have", size)
	}
	after = bytes.ReplaceAll(content, from, to)
	if bytes.Equal(after, content) {
		return nil, 0, tool.Invalid("edit_file", "old_string and new_string differ only in their line ends")
	}
	return after, n, nil
}

// shorten cuts a diff to what is worth showing.
func shorten(diff string) string {
	diff = strings.ToValidUTF8(strings.ReplaceAll(diff, "\r\n", "\n"), "\uFFFD")
	var b strings.Builder
	n := 0
	for line := range strings.Lines(diff) {
		if n++; n > maxDiffLines || b.Len()+len(line) > maxDiffBytes {
			b.WriteString("[the rest of the diff is left out]")
			break
		}
		b.WriteString(line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
