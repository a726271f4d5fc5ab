package find

import (
	"bytes"
	"context"
	"io"
	"regexp/syntax"

	"github.com/kxtools/kx/internal/tools/file/place"
)

// goEngine searches with Go's regexp. Only lines that have what the pattern
// requires literally are given to it.
type goEngine struct {
	*query
	literal []byte
	files   opener
	buf     bytes.Buffer
}

func newGoEngine(q *query) *goEngine {
	return &goEngine{query: q, literal: []byte(required(q.tree)), files: opener{root: q.dir}}
}

func (e *goEngine) close() { e.files.close() }

func (e *goEngine) search(ctx context.Context, files []candidate, limit int) (found []match, err error) {
	for _, c := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		content, ok := e.read(c)
		if !ok || place.IsBinary(content) {
			continue
		}
		if found = e.lines(found, c.rel, content, limit); len(found) == limit {
			break
		}
	}
	return found, nil
}

// read returns the content of a file until the next call. A file that can't be
// read any more has none.
func (e *goEngine) read(c candidate) ([]byte, bool) {
	f, err := e.files.open(c)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	e.buf.Reset()
	e.buf.Grow(int(c.st.Size()) + bytes.MinRead)
	if _, err := e.buf.ReadFrom(io.LimitReader(f, place.MaxWhole)); err != nil {
		return nil, false
	}
	return e.buf.Bytes(), true
}

// lines adds the matching lines of content to found.
func (e *goEngine) lines(found []match, rel string, content []byte, limit int) []match {
	number, counted := int64(1), 0
	for start := 0; start < len(content) && len(found) < limit; {
		if len(e.literal) > 0 { // go on to the next line that has it
			i := bytes.Index(content[start:], e.literal)
			if i < 0 {
				break
			}
			start += bytes.LastIndexByte(content[start:start+i], '\n') + 1
		}
		end := len(content)
		if i := bytes.IndexByte(content[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		line := lineEnd(content[start:end])
		if at := e.re.FindIndex(line); at != nil {
			number += int64(bytes.Count(content[counted:start], []byte("\n")))
			counted = start
			found = append(found, e.at(rel, number, line, at[0]))
		}
		start = end
	}
	return found
}

// required returns the longest literal that every match of the pattern has.
// U+FFFD is none: it also stands for bytes that are not UTF-8.
func required(re *syntax.Regexp) (longest string) {
	take := func(s string) {
		if len(s) > len(longest) {
			longest = s
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return ""
		}
		from := 0
		for i, r := range re.Rune {
			if r == '\uFFFD' {
				take(string(re.Rune[from:i]))
				from = i + 1
			}
		}
		take(string(re.Rune[from:]))
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			take(required(sub))
		}
	}
	return longest
}
