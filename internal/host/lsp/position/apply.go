package position

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sourcegraph/go-lsp"
)

// Apply makes a server's edits. They all speak of the text as it is before, in any
// order; of those that begin at one place the order counts. Edits that overlap, or
// whose places the text doesn't have, are an error: they were made for another text.
func Apply(content []byte, edits []lsp.TextEdit, enc Encoding) ([]byte, error) {
	type span struct {
		start, end int
		lsp.TextEdit
	}
	t := New(content)
	spans := make([]span, 0, len(edits))
	for _, e := range edits {
		start, err := t.exact(e.Range.Start, enc)
		if err != nil {
			return nil, err
		}
		end, err := t.exact(e.Range.End, enc)
		if err != nil {
			return nil, err
		}
		if end < start {
			return nil, fmt.Errorf("an edit ends at %s, before it begins at %s", e.Range.End, e.Range.Start)
		}
		spans = append(spans, span{start, end, e})
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })

	var out []byte
	done := 0
	for i, s := range spans {
		if s.start < done {
			return nil, fmt.Errorf("the edits at %s and %s overlap", spans[i-1].Range.Start, s.Range.Start)
		}
		out = append(out, content[done:s.start]...)
		out = append(out, s.NewText...)
		done = s.end
	}
	return append(out, content[done:]...), nil
}

// exact is the byte of a place that the text must have. The line after the last is
// its end: that is how servers name the end of a last line that has no line end.
func (t *Text) exact(p lsp.Position, enc Encoding) (int, error) {
	if p.Line == len(t.lines) && p.Character == 0 {
		return len(t.text), nil
	}
	_, offset, ok := t.find(p, enc)
	if !ok {
		return 0, fmt.Errorf("an edit is at line %d, unit %d, where the text has no character", p.Line+1, p.Character)
	}
	return offset, nil
}
