package patch

import (
	"strings"
)

// The lines that start a section of an envelope, and those inside one.
const (
	addFile    = "*** Add File:"
	updateFile = "*** Update File:"
	deleteFile = "*** Delete File:"
	moveTo     = "*** Move to:"
	endOfFile  = "*** End of File"
)

// envelope reads what starts with *** Begin Patch.
func (r *reader) envelope() error {
	last := len(r.lines)
	for last > 0 && strings.TrimSpace(r.lines[last-1]) == "" {
		last--
	}
	if strings.TrimSpace(r.lines[last-1]) != end {
		return &Error{0, "it does not end with " + end + ": it may have been cut off"}
	}
	r.lines = r.lines[:last-1]
	r.at++
	for r.blankLine() {
	}
	if head := r.peek(0); strings.HasPrefix(head, "diff --git ") || strings.HasPrefix(head, "--- ") {
		return r.unified() // a diff in an envelope
	}
	for r.more() {
		if r.blankLine() {
			continue
		}
		if err := r.section(); err != nil {
			return err
		}
	}
	return nil
}

// blankLine steps over an empty line.
func (r *reader) blankLine() bool {
	if !r.more() || strings.TrimSpace(r.peek(0)) != "" {
		return false
	}
	r.at++
	return true
}

func (r *reader) section() error {
	line := strings.TrimSpace(r.peek(0))
	f := File{Line: r.number()}
	name := func(head string) bool {
		rest, ok := strings.CutPrefix(line, head)
		if ok {
			f.Path = strings.TrimSpace(rest)
			r.at++
		}
		return ok
	}
	var err error
	switch {
	case name(addFile):
		f.Op = Add
		err = r.added(&f)
	case name(deleteFile):
		f.Op = Delete
	case name(updateFile):
		err = r.updated(&f)
	case line == end || line == begin:
		err = r.fail("%s stands inside of the patch", line)
	default:
		err = r.fail("expected %s, %s or %s", addFile, updateFile, deleteFile)
	}
	if err != nil {
		return err
	}
	return r.add(&f)
}

// added reads the lines of a new file.
func (r *reader) added(f *File) error {
	h := Hunk{Line: r.number(), At: -1}
	for r.more() && !strings.HasPrefix(strings.TrimSpace(r.peek(0)), "***") {
		line := r.peek(0)
		if line == "" || line[0] == '\\' && len(h.Lines) > 0 {
			h.take(line)
		} else if line[0] == '+' {
			h.take(line)
		} else if strings.TrimSpace(line) == "" {
			h.take("")
		} else {
			return r.fail("every line of a new file starts with +")
		}
		r.at++
	}
	for n := len(h.Lines); n > 0 && h.Lines[n-1].Kind == ' '; n-- {
		h.Lines = h.Lines[:n-1] // empty lines in front of the next section
	}
	for i := range h.Lines {
		h.Lines[i].Kind = '+'
	}
	if len(h.Lines) > 0 {
		f.Hunks = []Hunk{h}
	}
	return nil
}

// updated reads the hunks of a file, and where it moves to.
func (r *reader) updated(f *File) error {
	if to, ok := strings.CutPrefix(strings.TrimSpace(r.peek(0)), moveTo); ok {
		if f.To = strings.TrimSpace(to); f.To == "" {
			return r.fail("the name to move to is missing")
		}
		r.at++
	}
	for r.more() {
		if r.blankLine() {
			continue
		}
		line := r.peek(0)
		if strings.HasPrefix(line, "***") {
			break
		}
		var h Hunk
		if r.headers(&h); h.Line == r.number() && len(f.Hunks) > 0 {
			return r.fail("a hunk starts with @@, and each of its lines with a blank, + or -")
		}
		if err := r.body(&h); err != nil {
			return err
		}
		f.Hunks = append(f.Hunks, h)
	}
	if len(f.Hunks) == 0 && f.To == "" {
		return r.fail("nothing is to change in %.80q", f.Path)
	}
	return nil
}

// body reads the lines of a hunk of an envelope.
func (r *reader) body(h *Hunk) error {
	for ; r.more(); r.at++ {
		line := r.peek(0)
		if strings.TrimRight(line, " \t\r") == endOfFile {
			h.End = true
			r.blanks(h)
			r.at++
			break
		}
		if strings.HasPrefix(line, "@@") || strings.HasPrefix(line, "***") {
			break
		}
		if !h.take(line) {
			return r.fail("a line of a hunk starts with a blank, + or -")
		}
	}
	if !h.End {
		r.blanks(h)
	}
	if len(h.Lines) == h.Blank {
		return r.fail("the hunk above has no lines")
	}
	return nil
}
