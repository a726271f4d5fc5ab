package find

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp/syntax"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/tools/file/find/pattern"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/wire"
)

func TestGrepSearch(t *testing.T) {
	for _, programs := range [][]string{nil, {"rg"}} {
		tr := newTree(t, programs...)
		tr.put(
			"b.go", "package b\n\nfunc Truncate(s string) {}\n// Truncate\n",
			"a/a.go", "package a\r\n\tTRUNCATE\r\n",
			"web/x.ts", "truncate\n",
			"bin", "Truncate\x00",
			"utf16", "\xff\xfeT\x00r\x00",
			"latin", "caf\xe9 Truncate\n",
			"ümlaut", "äöü Truncate\n",
			"long", strings.Repeat("é", 600)+"Truncate"+strings.Repeat("x", 600)+"\n",
			"no line end", "Truncate",
		)
		tr.must(syscall.Mkfifo(tr.path("pipe"), 0o644))
		for _, c := range []struct {
			what  string
			input map[string]any
			want  string
		}{
			{"all", map[string]any{"pattern": "Truncate", "glob": "*.go"}, "b.go:3:6: func Truncate(s string) {}\nb.go:4:4: // Truncate"},
			{"any case", map[string]any{"pattern": "truncate", "ignore_case": true, "glob": "*.{go,ts}"},
				"a/a.go:2:2: \tTRUNCATE\nb.go:3:6: func Truncate(s string) {}\nb.go:4:4: // Truncate\nweb/x.ts:1:1: truncate"},
			{"a glob with folders", map[string]any{"pattern": "trunc", "glob": "web/**/*.ts"}, "web/x.ts:1:1: truncate"},
			{"a folder", map[string]any{"pattern": "TRUNC", "path": "a"}, "a/a.go:2:2: \tTRUNCATE"},
			{"a file", map[string]any{"pattern": "^package", "path": "a/a.go"}, "a/a.go:1:1: package a"},
			{"the end of a CRLF line", map[string]any{"pattern": "a$", "path": "a/a.go"}, "a/a.go:1:9: package a"},
			{"characters, not bytes", map[string]any{"pattern": "Truncate", "path": "ümlaut"}, "ümlaut:1:5: äöü Truncate"},
			{"not UTF-8", map[string]any{"pattern": "caf. T", "path": "latin"}, "latin:1:1: caf\uFFFD Truncate"},
			{"far in a long line", map[string]any{"pattern": "Truncate", "path": "long"},
				"long:1:601: ..." + strings.Repeat("é", 50) + "Truncate" + strings.Repeat("x", 442) + "..."},
			{"no line end", map[string]any{"pattern": "e$", "path": "no line end"}, "no line end:1:8: Truncate"},
			{"nothing", map[string]any{"pattern": "nonesuch"}, "[no matches]"},
			{"binary", map[string]any{"pattern": "Truncate", "path": "bin"}, "[no matches]"},
			{"at most", map[string]any{"pattern": "Truncate", "max_results": 1}, "b.go:3:6: func Truncate(s string) {}\n[only the first 1 matches are shown: narrow the pattern, path or glob]"},
			{"as many as there are", map[string]any{"pattern": "Truncate", "glob": "*.go", "max_results": 2}, "b.go:3:6: func Truncate(s string) {}\nb.go:4:4: // Truncate"},
			{"like an option", map[string]any{"pattern": "--files"}, "[no matches]"},
		} {
			out, err := tr.call("grep_search", c.input)
			if err != nil || out.Text() != c.want {
				t.Errorf("%v, %s: %q %v, want %q", programs, c.what, out.Text(), err, c.want)
			}
		}
		out, _ := tr.call("grep_search", map[string]any{"pattern": "func", "path": "b.go"})
		b, _ := json.Marshal(out["matches"])
		if want := `[{"path":"b.go","line":3,"column":1,"text":"func Truncate(s string) {}"}]`; string(b) != want {
			t.Errorf("matches %s, want %s", b, want)
		}
		if out, _ := tr.call("grep_search", map[string]any{"pattern": "nonesuch"}); fmt.Sprint(out["matches"]) != "[]" {
			t.Errorf("no matches are %v", out["matches"])
		}
	}
}

func TestGrepSearchRefuses(t *testing.T) {
	tr := newTree(t, "rg")
	tr.put("f", "x\n")
	tr.must(syscall.Mkfifo(tr.path("pipe"), 0o644))
	tr.link("f", "link")
	tr.must(os.WriteFile(tr.path("huge"), []byte("x\n"), 0o644))
	tr.must(os.Truncate(tr.path("huge"), place.MaxWhole+1))
	for what, pattern := range map[string]string{"open": "Truncate(", "look-ahead": "a(?=b)", "back-reference": `(a)\1`, "too often": "a{2000}", "bad UTF-8 class": `\pX`} {
		tr.fails(what, "grep_search", map[string]any{"pattern": pattern}, "bad_pattern", 2, "not a regular expression")
	}
	tr.fails("literally", "grep_search", map[string]any{"pattern": "Truncate("}, "bad_pattern", 2, `to search for it literally: Truncate\(`)
	tr.fails("empty", "grep_search", map[string]any{"pattern": ""}, "invalid_input", 2, "")
	tr.fails("none", "grep_search", map[string]any{}, "invalid_input", 2, "missing")
	tr.fails("results", "grep_search", map[string]any{"pattern": "x", "max_results": maxResults + 1}, "invalid_input", 2, "max_results")
	tr.fails("glob", "grep_search", map[string]any{"pattern": "x", "glob": "["}, "bad_pattern", 2, "glob")
	tr.fails("missing", "grep_search", map[string]any{"pattern": "x", "path": "nonesuch"}, "no_such_file", 8, "nonesuch")
	tr.fails("pipe", "grep_search", map[string]any{"pattern": "x", "path": "pipe"}, "not_a_file", 1, "a pipe")
	tr.fails("link", "grep_search", map[string]any{"pattern": "x", "path": "link"}, "path_changed", 7, "link")
	out, err := tr.call("grep_search", map[string]any{"pattern": "x"})
	if err != nil || out.Text() != "f:1:1: x\n[1 not searched: larger than 64.0 MiB]" || out["too_large"] != 1 {
		t.Errorf("%v %v", out, err)
	}
}

func TestGrepSearchStops(t *testing.T) {
	tr := newTree(t)
	tr.put("f", "x\n")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := tr.reg.Get("grep_search").Run(ctx, tr.env, json.RawMessage(`{"pattern":"x"}`))
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("an ended context: %v", err)
	}
}

// awkward are lines on which Go's regexp and rg's do not agree by themselves.
var awkward = []string{
	"foo", "foo\r", "foo\r\r", " foo ", "FOO", "fOo bar", "caf\xe9", "café", "cafe\u0301", "\xff\xff", "\ufeffBOM", "\uFFFD",
	"Kelvin \u212a", "ſ long s", "ß", "İi", "\u00a0nbsp", "日本語", "１２３", "123", "a_b", "-", "--", "", "\r", "\t", "a\rb", "x\u2028y", "\xed\xa0\x80", "\U0010FFFF",
}

// sayings are patterns that they read differently, or that are odd.
var sayings = []string{
	"foo", "^foo$", "foo$", "o$", `\bfoo\b`, `caf\b`, `caf\B`, `foo\b`, `\Bo`, "^", "$", "^$", "x*", ".", "..", "^.$", "^..?$", "caf.", "caf.$", `caf\W`, `\W`, `\w+$`, `\d`, `\D$`, `\s`, `\S+\s$`, `\s$`,
	"(?i)foo", "(?i)k", "(?i)ſ", "(?i)[k-s]", "[^a-z]", "[^\\x00-\\x7f]", `\pL`, `\p{Greek}`, `\PL$`, "é", "[é]", "�", "[�]", `\x{fffd}`, `\r`, `a\rb`, `\n`, `a\nb`, `[\n]`, `[^\n]`, `\x00`,
	`foo$\b`, `(^|x)foo`, `(foo|bar)$`, "(?s).", "(?m)^foo$", `\Afoo`, `foo\z`, "a{0,3}b", "(a?){3}", "()", "(?:)", "a||b", "-", "--", "^-+$", "[[:alpha:]]+", `\Q.*\E`, "[^\x00-\U0010FFFF]", `\x{d800}`, `[\x{d000}-\x{e000}]`,
	"o.*o", "(f)(o)(o)", "foo.?$", "[a-c]é", "\t", "日", "(?i)İ", "(?i)ß", "x.y", ".{3}", `^\s*$`, `$^`, `$?$^`, `^$^`, `\b^`, `^\bfoo`, `(^|o)$`,
	"foo|bar|日本", "(?i)KELVIN|LONG S", "(?i)(foo|caf)é?", "bar|x*", "(?i)ſ l|nbsp", "(foo|bar|BOM|nbsp|123|a_b|İi|日|x)", "(?i)fo{2}|é",
}

// Both engines find the same, whatever the pattern, the bytes and the line ends.
func TestEnginesAgree(t *testing.T) {
	tr := newTree(t)
	tr.put("lf", strings.Join(awkward, "\n")+"\n", "crlf", strings.Join(awkward, "\r\n")+"\r\n", "open", strings.Join(awkward, "\n"))
	tr.put("empty", "", "nl", "\n", "binary", "foo\x00\nfoo\n", "late", strings.Repeat("x\n", place.SniffLen/2)+"a\x00b\x00foo\r\n")
	for i, line := range awkward {
		tr.put(fmt.Sprintf("one/%d", i), line, fmt.Sprintf("one/%d.n", i), line+"\n")
	}
	for _, f := range []string{"lf", "crlf", "open", "late"} { // else nothing is compared
		if out := agree(t, tr, map[string]any{"pattern": "foo", "path": f}); strings.HasPrefix(out.Text(), "[") {
			t.Fatalf("%s is not searched: %s", f, out.Text())
		}
	}
	said := 0
	for _, saying := range sayings {
		for _, input := range []map[string]any{
			{"pattern": saying, "max_results": 2000}, {"pattern": saying, "ignore_case": true, "max_results": 2000}, {"pattern": saying, "max_results": 7},
		} {
			agree(t, tr, input)
		}
		if re, err := syntax.Parse(saying, syntax.Perl); err == nil {
			if p, ok := pattern.Rg(re); ok {
				said++
				cmd := exec.Command("rg", append(slices.Clone(rgFlags), "-e", p, "--", tr.path("lf"))...)
				if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 1 {
					t.Errorf("%q is said as %q, which rg refuses: %s", saying, p, out)
				}
			}
		}
	}
	if said < len(sayings)*3/4 {
		t.Errorf("only %d of %d patterns reach rg", said, len(sayings))
	}
}

func agree(t *testing.T, tr *tree, input map[string]any) wire.Output {
	t.Helper()
	tr.use()
	own, err1 := tr.call("grep_search", input)
	tr.use("rg")
	rg, err2 := tr.call("grep_search", input)
	if (err1 == nil) != (err2 == nil) {
		t.Errorf("%v: %v, with rg %v", input, err1, err2)
		return own
	}
	if d := cmp.Diff(map[string]any(own), map[string]any(rg)); d != "" {
		t.Errorf("%q: rg differs: %s", input, d)
	}
	return own
}

// Random patterns from pieces, for what nobody thought of.
func TestEnginesAgreeOnRandomPatterns(t *testing.T) {
	tr := newTree(t)
	tr.put("f", strings.Join(awkward, "\n"), "g", strings.Join(awkward, "\r\n"))
	agreed := 0
	pieces := []string{"foo", "o", ".", "é", `\w`, `\W`, `\s`, `\b`, "^", "$", "[^x]", "[a-f]", "\\x{fffd}", "(", ")", "|", "*", "+", "?", "{2}", "(?i:", ")", `\d`, "K", "-", `\r`, "\\"}
	r := rand.New(rand.NewPCG(1, 2))
	valid := 0
	for valid < 150 {
		var p strings.Builder
		for range 1 + r.IntN(6) {
			p.WriteString(pieces[r.IntN(len(pieces))])
		}
		if _, err := syntax.Parse(p.String(), syntax.Perl); err != nil {
			continue
		}
		valid++
		if out := agree(t, tr, map[string]any{"pattern": p.String(), "max_results": 2000}); len(out["matches"].([]match)) > 0 {
			agreed++
		}
	}
	if agreed < 50 {
		t.Errorf("only %d of 150 patterns match anything", agreed)
	}
}

// rg that fails, lies or is none leaves the work to our own engine.
func TestBrokenRg(t *testing.T) {
	tr := newTree(t)
	tr.put("a", "found\n", "b", "found\n")
	bin := t.TempDir()
	for what, script := range map[string]string{
		"fails":         "#!/bin/sh\nexit 2\n",
		"no JSON":       "#!/bin/sh\necho a:1:found\n",
		"half":          "#!/bin/sh\nprintf '{\"type\":\"beg'\n",
		"unknown file":  "#!/bin/sh\necho '{\"type\":\"begin\",\"data\":{\"path\":{\"text\":\"/etc/passwd\"}}}'; exit 2\n",
		"killed":        "#!/bin/sh\nkill -9 $$\n",
		"not a program": "\x00\x01",
	} {
		rg := filepath.Join(bin, "rg")
		tr.must(os.WriteFile(rg, []byte(script), 0o755))
		s := &search{lookPath: func(name string) (string, error) {
			if name == "rg" {
				return rg, nil
			}
			return "", exec.ErrNotFound
		}}
		out, err := s.grep(context.Background(), tr.env, json.RawMessage(`{"pattern":"found"}`))
		if err != nil || out.Text() != "a:1:1: found\nb:1:1: found" {
			t.Errorf("%s: %v %v", what, out, err)
		}
	}
}

// counter is an engine that only counts, and finds so many matches in each batch.
type counter struct {
	t     *testing.T
	files *[]candidate
	found int
}

func (e counter) close() {}

func (e counter) search(_ context.Context, files []candidate, _ int) ([]match, error) {
	bytes := 0
	for _, c := range files {
		bytes += len(c.rel) + 3
	}
	if len(files) == 0 || len(files) > 500 || bytes > batchBytes+4096 {
		e.t.Errorf("a batch of %d files, %d bytes", len(files), bytes)
	}
	*e.files = append(*e.files, files...)
	return make([]match, e.found), nil
}

func TestBatches(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one worker: the order of the work is that of the files
	for found, all := range map[int]bool{0: true, 1: true, 1000: false} {
		var files, got []candidate
		q := &query{results: 100}
		w := q.begin(context.Background(), engines{func() engine { return counter{t, &got, found} }, 500})
		for i := range 750 {
			c := candidate{rel: strings.Repeat("d/", i) + "f"}
			files = append(files, c)
			w.add(c)
		}
		if _, err := w.end(); err != nil {
			t.Fatal(err)
		}
		if all && !slices.Equal(got, files) {
			t.Errorf("%d of %d files, or in another order", len(got), len(files))
		}
		if !all && len(got) == len(files) {
			t.Error("all files were searched although there was enough")
		}
	}
	q := &query{results: 1}
	q.begin(context.Background(), engines{func() engine { return counter{t, nil, 0} }, 1}).end() // nothing: no batch
}

// What was added after the context had ended is not taken for searched.
func TestWorkEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var got []candidate
	w := (&query{results: 1}).begin(ctx, engines{func() engine { return counter{t, &got, 0} }, 1})
	cancel()
	w.add(candidate{rel: "f"})
	if _, err := w.end(); err == nil {
		t.Error("a search that was not finished has no error")
	}
}

// The literal that our engine looks for first leaves out no line.
func FuzzGoEngine(f *testing.F) {
	f.Add("fo+|bar", []byte("foo\nbar\r\n"))
	f.Add("(a|b)cd{2}", []byte("acdd\n\nbcdd"))
	f.Add("x\uFFFDyz", []byte("x\xffyz\n"))
	f.Add("a\nb", []byte("a\nb\n"))
	f.Add("(?i)task|KELVIN", []byte("TA\u017fK\ntas\u212a\nKelvin ta\xc5sk\n"))
	f.Add("(?i)привет é1", []byte("ПРИВЕТ É1\nпривет e1\n"))
	f.Add("(?i)\nx\nk", []byte("\nX\nK\n"))
	f.Fuzz(func(t *testing.T, pattern string, content []byte) {
		q, err := grepInput{Pattern: pattern, MaxResults: maxResults}.query()
		if err != nil {
			return
		}
		got := newGoEngine(q).lines(nil, "f", content, maxResults)
		if place.IsBinary(content) {
			if len(got) > 0 {
				t.Errorf("%q is binary, and has %v", content, got)
			}
			return
		}
		var want []match
		for i, line := range bytes.SplitAfter(content, []byte("\n")) {
			line = lineEnd(line)
			if at := q.re.FindIndex(line); at != nil && len(want) < maxResults && (len(line) > 0 || !isLast(content, i)) {
				want = append(want, q.at("f", int64(i+1), line, at[0]))
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q in %q: %s", pattern, content, d)
		}
		for _, m := range got {
			if !utf8.ValidString(m.Text) || m.Column < 1 {
				t.Errorf("%q in %q: %+v", pattern, content, m)
			}
		}
	})
}

// isLast reports whether line i of content is what follows its last line end.
func isLast(content []byte, i int) bool {
	return i == bytes.Count(content, []byte("\n")) && (len(content) == 0 || content[len(content)-1] == '\n')
}
