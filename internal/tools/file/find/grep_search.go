package find

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// defaultResults is as many matches as help; more call for another pattern.
	defaultResults = 200
	// maxResults is what a call may ask for.
	maxResults = 2000
	// maxMatchChars of a line are shown with a match.
	maxMatchChars = 500
	// beforeMatch bytes are shown of a long line before a match far in it.
	beforeMatch = 100
)

const grepSchema = `{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{
"pattern":{"type":"string","minLength":1,"maxLength":1000,"description":"a regular expression (RE2), matched line by line"},
"path":{"type":"string","minLength":1,"description":"the folder or file to search; default: the current folder"},
"glob":{"type":"string","minLength":1,"maxLength":1000,"description":"only files that match: *.go (in all folders) or web/**/*.ts"},
"ignore_case":{"type":"boolean"},
"max_results":{"type":"integer","minimum":1,"maximum":2000,"description":"default 200"}}}`

type grepInput struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	IgnoreCase bool   `json:"ignore_case"`
	MaxResults int    `json:"max_results"`
}

// match is the first match in a line.
type match struct {
	Path   string `json:"path"`
	Line   int64  `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text"`
}

// query is what is searched, and where.
type query struct {
	re      *regexp.Regexp
	tree    *syntax.Regexp
	dir     *os.Root
	abs     string     // dir's path for the system
	show    string     // how results name dir
	file    *candidate // the only one
	results int
	secrets *redact.Redactor
}

func (s *search) grep(ctx context.Context, env *tool.Env, input json.RawMessage) (wire.Output, error) {
	in := grepInput{MaxResults: defaultResults}
	if err := tool.Decode("grep_search", input, &in); err != nil {
		return nil, err
	}
	q, err := in.query()
	if err != nil {
		return nil, err
	}
	q.secrets = env.Secrets
	if in.Path == "" {
		in.Path = env.Cwd
	}
	p, err := place.Open(env, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := q.open(p); err != nil {
		return nil, err
	}
	defer q.dir.Close()
	work, large := q.begin(ctx, s.engines(env, q)), 0
	w, walked := s.candidates(ctx, env, p, in.Glob, q, func(c candidate) {
		switch {
		case !c.st.Mode().IsRegular():
		case c.st.Size() > place.MaxWhole:
			large++
		default:
			work.add(c)
		}
	})
	matches, err := work.end()
	if walked != nil {
		return nil, walked
	}
	if err != nil {
		return nil, fail.As(err)
	}
	return grepOutput(q, matches, w, large), nil
}

func (in grepInput) query() (*query, error) {
	if in.MaxResults < 1 || in.MaxResults > maxResults {
		return nil, tool.Invalid("grep_search", "max_results is %d, allowed are 1 to %d", in.MaxResults, maxResults)
	}
	if in.Glob != "" {
		if err := checkGlob("grep_search", in.Glob); err != nil {
			return nil, err
		}
	}
	if in.Pattern == "" {
		return nil, tool.Invalid("grep_search", "the pattern is empty")
	}
	pattern := in.Pattern
	if in.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, badRegexp(in.Pattern, err)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, badRegexp(in.Pattern, err)
	}
	return &query{re: re, tree: tree, results: in.MaxResults}, nil
}

// badRegexp also says how to search for the same words literally, which is
// what somebody who writes "Truncate(" wants.
func badRegexp(pattern string, err error) error {
	why := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	return fail.New("bad_pattern", fail.ExitUsage, "the pattern is not a regular expression: %s (to search for it literally: %s)", why, regexp.QuoteMeta(pattern)).
		WithHint("kx tool show grep_search")
}

// open sets what is searched, and the folder of q: p, or the one that the file
// p is in.
func (q *query) open(p *place.Place) error {
	st, err := p.Lstat()
	if err != nil {
		return err
	}
	folder := p.Rel
	q.abs, q.show = p.Real, p.Show
	if !st.IsDir() {
		if err := p.CheckRegular(st); err != nil {
			return err
		}
		q.file = &candidate{path.Base(p.Rel), st}
		folder, q.abs, q.show = path.Dir(p.Rel), path.Dir(p.Real), path.Dir(p.Show)
	}
	if q.dir, err = p.Root.OpenRoot(folder); err != nil {
		return place.Explain(err, p.Show)
	}
	return nil
}

// candidates hands the files to search to take.
func (s *search) candidates(ctx context.Context, env *tool.Env, p *place.Place, glob string, q *query, take func(candidate)) (*walk, error) {
	if q.file != nil { // it was judged by itself
		take(*q.file)
		return &walk{}, nil
	}
	return s.walk(ctx, env, p, q.dir, func(rel string) bool {
		if !strings.Contains(glob, "/") {
			rel = path.Base(rel)
		}
		return glob == "" || doublestar.MatchUnvalidated(glob, rel)
	}, take)
}

// at makes the match of a line (without its end) that starts at byte start.
func (q *query) at(rel string, line int64, text []byte, start int) match {
	m := match{Path: path.Join(q.show, rel), Line: line, Column: utf8.RuneCount(text[:start]) + 1}
	if clean := q.secrets.Bytes(text); len(clean) != len(text) || !bytes.Equal(clean, text) {
		text, start = clean, min(start, len(clean)) // or half of one may stay
	}
	from := 0
	if start > maxMatchChars-beforeMatch {
		for from = start - beforeMatch; from < start && !utf8.RuneStart(text[from]); from++ {
		}
		m.Text = "..."
	}
	shown, left := place.CutRunes(text[from:], maxMatchChars)
	m.Text += place.Readable(string(shown))
	if left > 0 {
		m.Text += "..."
	}
	return m
}

// lineEnd takes the end off a line.
func lineEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

func grepOutput(q *query, found []match, w *walk, large int) wire.Output {
	more := len(found) > q.results
	found = append([]match{}, found[:min(len(found), q.results)]...) // [] rather than null
	var b strings.Builder
	for _, m := range found {
		fmt.Fprintf(&b, "%s:%d:%d: %s\n", place.Name(m.Path), m.Line, m.Column, m.Text)
	}
	if len(found) == 0 {
		b.WriteString("[no matches]\n")
	}
	if more {
		fmt.Fprintf(&b, "[only the first %d matches are shown: narrow the pattern, path or glob]\n", q.results)
	}
	if w.truncated {
		fmt.Fprintf(&b, "[only the first %d files were searched]\n", maxCandidates)
	}
	if large > 0 {
		fmt.Fprintf(&b, "[%d not searched: larger than %s]\n", large, place.Size(place.MaxWhole))
	}
	b.WriteString(skippedNote(w.skipped))
	return wire.Output{
		"text": strings.TrimSuffix(b.String(), "\n"), "matches": found, "skipped": w.skipped,
		"truncated": more || w.truncated, "too_large": large,
	}
}
