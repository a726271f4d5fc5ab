package patch

import (
	"fmt"
	"strings"
)

// hunks reads the hunks of a section of a unified diff.
func (r *reader) hunks(f *File) error {
	for strings.HasPrefix(r.peek(0), "@@") && !strings.HasPrefix(r.peek(0), "@@@") {
		var h Hunk
		after, ranged := r.headers(&h)
		if !ranged || !r.counted(&h, after) {
			counts := ranged
			if err := r.uncounted(&h); err != nil {
				return err
			}
			if counts && len(h.Lines) > 0 {
				f.Notes = append(f.Notes, fmt.Sprintf("hunk %d counts its lines wrong in the patch: all of them were taken", len(f.Hunks)+1))
			}
		}
		f.Hunks = append(f.Hunks, h)
	}
	if len(f.Hunks) == 0 && f.Op == Update && f.To == "" && f.Exec == Keep {
		return r.fail("nothing is to change in %.80q", f.Path)
	}
	return nil
}

// counted reads as many lines as the hunk says it has. It takes none if they are
// not there, or if more lines of a hunk follow.
func (r *reader) counted(h *Hunk, after int) bool {
	start := r.at
	before := h.Old
	for before > 0 || after > 0 || strings.HasPrefix(r.peek(0), `\`) {
		line := r.peek(0)
		if !r.more() || strings.HasPrefix(line, "\t") || !h.take(line) {
			break
		}
		if line == "" || line[0] != '\\' {
			kind := h.Lines[len(h.Lines)-1].Kind
			if kind != '+' {
				before--
			}
			if kind != '-' {
				after--
			}
		}
		r.at++
	}
	if before == 0 && after == 0 && !r.goesOn() {
		return true
	}
	r.at, h.Lines = start, nil
	return false
}

// goesOn reports whether the next line is one of a hunk, and starts nothing new.
func (r *reader) goesOn() bool {
	line := r.peek(0)
	if line == "" || strings.IndexByte(" +-\t", line[0]) < 0 || r.atNames() {
		return false
	}
	return strings.TrimRight(line, "\r") != "-- " && line != "--" // the end of a mail
}

// ends are the lines that may follow a hunk whose lines nobody counted.
var ends = []string{"@@", "diff ", "Index: ", "Only in ", "From "}

// uncounted reads lines until something else starts.
func (r *reader) uncounted(h *Hunk) error {
	for ; r.more(); r.at++ {
		line := r.peek(0)
		if r.atNames() && (r.at+2 >= len(r.lines) || strings.HasPrefix(r.peek(2), "@@")) {
			break
		}
		starts := false
		for _, e := range ends {
			starts = starts || strings.HasPrefix(line, e)
		}
		if starts {
			break
		}
		if !h.take(line) {
			return r.fail("a line of a hunk starts with a blank, + or -")
		}
	}
	r.blanks(h)
	return nil
}
