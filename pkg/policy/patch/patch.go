// Package patch reads a patch: which files it names, and what it does to each.
// It knows two forms, the envelope that starts with "*** Begin Patch", and
// unified diffs of git and of diff -u.
//
// There is one reading. Policy judges the files that it names and the tool
// changes those, so a path that one of them sees and the other does not can't be.
// What could be read in two ways is refused. It does no I/O.
package patch

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Op is what becomes of a file.
type Op int

// What a patch does with a file.
const (
	Update Op = iota
	Add
	Delete
)

// Exec is what becomes of the permission to run a file.
type Exec int

// A patch keeps the permission, gives it or takes it.
const (
	Keep Exec = iota
	Give
	Take
)

// File is one section of a patch.
type File struct {
	Op    Op
	Path  string // as it is written, less the prefix that diff gives it
	To    string // where an updated file moves to, "" if it stays
	Exec  Exec
	Hunks []Hunk   // of a new file: one, with its lines, or none
	Notes []string // what was wrong and could be understood all the same
	Line  int      // of the patch, where it starts
}

// Hunk is a piece that changes.
type Hunk struct {
	Line    int      // of the patch, where it starts
	Anchors []string // lines above it, to find it by
	At      int      // the line of the file where it says it starts, -1 if it doesn't
	Old     int      // how many lines of the file it says it takes
	Lines   []Line
	Blank   int  // so many lines at its end are empty, and may be no part of it
	End     bool // it says that the file ends with it
}

// Line is a line of a hunk, without its line end.
type Line struct {
	Kind byte // ' ' both, '-' before, '+' after
	Text string
	Cut  bool // the file ends here, without a line end
}

// Error says why a patch can't be read, and where.
type Error struct {
	Line int // of the patch, from 1; 0 is the whole
	Msg  string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Msg
	}
	return fmt.Sprintf("line %d of the patch: %s", e.Line, e.Msg)
}

const (
	// maxFiles is how many files one patch may change: each is decided and opened.
	maxFiles = 200
	// maxGuess names of a patch that can't be read are enough to hear a deny.
	maxGuess = 1000
	// maxPath is as long as a path gets.
	maxPath = 4096
)

// reader goes through the lines of a patch.
type reader struct {
	lines []string
	at    int // of the next line
	skip  int // lines in front of them that were taken away
	files []File
}

func (r *reader) more() bool { return r.at < len(r.lines) }

// peek returns the line that is n lines on, "" behind the end.
func (r *reader) peek(n int) string {
	if r.at+n >= len(r.lines) {
		return ""
	}
	return r.lines[r.at+n]
}

// number is that of the next line, as people count.
func (r *reader) number() int { return r.skip + r.at + 1 }

// add takes a section that has been read.
func (r *reader) add(f *File) error {
	if r.files = append(r.files, *f); len(r.files) > maxFiles {
		return r.fail("more than %d files are too many for one patch", maxFiles)
	}
	return nil
}

func (r *reader) fail(format string, args ...any) error {
	return &Error{r.number(), fmt.Sprintf(format, args...)}
}

// The lines around the sections of an envelope.
const (
	begin = "*** Begin Patch"
	end   = "*** End Patch"
)

// Parse reads a patch of either form.
func Parse(text string) ([]File, error) {
	r := open(text)
	for strings.TrimSpace(r.peek(0)) == "" && r.more() {
		r.at++
	}
	var err error
	if strings.TrimSpace(r.peek(0)) == begin {
		err = r.envelope()
	} else {
		err = r.unified()
	}
	if err != nil {
		return nil, err
	}
	if len(r.files) == 0 {
		return nil, &Error{0, "it names no file: it is neither a *** Begin Patch nor a unified diff"}
	}
	for i := range r.files {
		f := &r.files[i]
		for _, name := range f.Names() {
			if err := checkName(name); err != nil {
				return nil, &Error{f.Line, err.Error()}
			}
		}
	}
	return r.files, nil
}

// Names returns the paths of a section: one, or both ends of a move.
func (f *File) Names() []string {
	if f.To != "" {
		return []string{f.Path, f.To}
	}
	return []string{f.Path}
}

// Names returns the paths that a patch names. Where it can't be read, err says
// why and nothing can come of it; then the names are those of every line that looks
// like one, so that what forbids one of them is still heard.
func Names(text string) (names []string, err error) {
	files, err := Parse(text)
	for i := range files {
		names = append(names, files[i].Names()...)
	}
	if err != nil {
		names = guess(text)
	}
	return names, err
}

// guess returns what may be meant as the name of a file.
func guess(text string) (names []string) {
	for line := range strings.Lines(text) {
		if len(names) > maxGuess {
			break
		}
		line = strings.TrimSpace(line)
		for _, head := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:",
			"--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to "} {
			name, ok := strings.CutPrefix(line, head)
			if !ok {
				continue
			}
			name, _, _ = strings.Cut(strings.TrimSpace(name), "\t")
			if plain, _, err := unquote(name); err == nil {
				name = plain
			}
			if name == "" || name == devNull {
				continue
			}
			names = append(names, name)
			if bare, ok := side(name); ok {
				names = append(names, bare)
			}
		}
	}
	return names
}

// side takes off the a/ or b/ of a diff.
func side(name string) (string, bool) {
	if len(name) > 2 && (name[0] == 'a' || name[0] == 'b') && name[1] == '/' {
		return name[2:], true
	}
	return name, false
}

func checkName(name string) error {
	switch {
	case name == "" || name == devNull:
		return fmt.Errorf("the name of the file is missing")
	case len(name) > maxPath:
		return fmt.Errorf("the name %.80q... is too long", name)
	case !utf8.ValidString(name):
		return fmt.Errorf("the name %.80q is not UTF-8, and can't be judged", name)
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("the name %.80q has a NUL byte", name)
	}
	return nil
}

// open splits a patch into lines and takes off what is wrapped around it: the
// here-document of a command line, the fence of Markdown.
func open(text string) *reader {
	text = strings.TrimPrefix(text, "\ufeff")
	lines := strings.Split(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if allCR(lines) {
		for i, l := range lines {
			lines[i] = strings.TrimSuffix(l, "\r")
		}
	}
	r := &reader{lines: lines}
	const most = 3 // a here-document in a fence, and one for luck
	for range most {
		first, last := 0, len(r.lines)-1
		for first < last && strings.TrimSpace(r.lines[first]) == "" {
			first++
		}
		for last > first && strings.TrimSpace(r.lines[last]) == "" {
			last--
		}
		if last <= first || !wraps(strings.TrimSpace(r.lines[first]), strings.TrimSpace(r.lines[last])) {
			break
		}
		r.skip += first + 1
		r.lines = r.lines[first+1 : last]
	}
	return r
}

// allCR reports whether the lines of the patch itself end with CRLF; in the diff of
// a CRLF file only the lines of that file do.
func allCR(lines []string) bool {
	for i, l := range lines {
		if !strings.HasSuffix(l, "\r") && i < len(lines)-1 {
			return false
		}
	}
	return len(lines) > 0 && strings.HasSuffix(lines[0], "\r")
}

// wraps reports whether two lines are a wrapper.
func wraps(first, last string) bool {
	if strings.HasPrefix(first, "```") && !strings.Contains(first[3:], "`") {
		return last == "```"
	}
	command, word, ok := strings.Cut(first, "<<")
	if command = strings.TrimSpace(command); !ok || command != "" && command != "apply_patch" {
		return false
	}
	word = strings.TrimSpace(strings.TrimPrefix(word, "-"))
	if n := len(word); n > 2 && (word[0] == '\'' || word[0] == '"') && word[n-1] == word[0] {
		word = word[1 : n-1]
	}
	return word != "" && last == word
}
