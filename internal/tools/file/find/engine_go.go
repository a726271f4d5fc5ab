package find

import (
	"bytes"
	"context"

	"github.com/kxtools/kx/internal/tools/file/find/pattern"
	"github.com/kxtools/kx/internal/tools/file/place"
)

// goEngine searches with Go's regexp. Only lines that have what the pattern
// requires literally are given to it.
type goEngine struct {
	*query
	needles pattern.Needles
	files   reader
}

func newGoEngine(q *query) *goEngine {
	return &goEngine{query: q, needles: pattern.New(q.tree), files: reader{root: q.dir}}
}

func (e *goEngine) close() { e.files.close() }

func (e *goEngine) search(ctx context.Context, files []candidate, limit int) (found []match, err error) {
	for _, c := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// A file that can't be read any more has no matches.
		content, err := e.files.read(c, place.MaxWhole)
		if err != nil {
			continue
		}
		if found = e.lines(found, c.rel, content, limit); len(found) == limit {
			break
		}
	}
	return found, nil
}

// lines adds the matching lines of content to found, if it is text. What can't
// match is not looked at any closer.
func (e *goEngine) lines(found []match, rel string, content []byte, limit int) []match {
	e.needles.Rewind()
	number, counted, sniffed := int64(1), 0, false
	for start := 0; start < len(content) && len(found) < limit; {
		if len(e.needles) > 0 { // go on to the next line that has one
			at := e.needles.Next(content, start)
			if at == len(content) {
				break
			}
			start += bytes.LastIndexByte(content[start:at], '\n') + 1
		}
		if !sniffed {
			if place.IsBinary(content) {
				break
			}
			sniffed = true
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
