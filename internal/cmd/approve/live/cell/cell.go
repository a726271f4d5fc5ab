// Package cell lays text out in the cells of a terminal: how wide it is, how it is
// cut and wrapped, and the line in which something is typed.
//
// Invariant: whatever a Row says is sanitised when it is rendered, and what is cut is
// marked. The screen of kx approve draws with it.
package cell

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
)

// Each calls do for the characters of a sanitised text and the cells that they take:
// the most that any terminal gives them, so that a line fits on all.
func Each(s string, do func(g string, cells int)) {
	for s != "" {
		if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
			do(s[:1], 1)
			s = s[1:]
			continue
		}
		g, w, n, _ := ansi.GraphemeWidth.DecodeSequenceInString(s, ansi.NormalState, nil)
		if n == 0 {
			return
		}
		do(g, max(w, ansi.StringWidthWc(g)))
		s = s[n:]
	}
}

// Width is how wide a sanitised text is.
func Width(s string) (n int) {
	Each(s, func(_ string, w int) { n += w })
	return n
}

// Fit cuts a text to a width and says so; with pad it fills it up to it.
func Fit(s string, width int, pad bool) string {
	s = term.Line(s)
	n := Width(s)
	if n > width {
		var b strings.Builder
		n = 0
		full := false
		Each(s, func(g string, w int) {
			if full = full || n+w > width-1; !full {
				b.WriteString(g)
				n += w
			}
		})
		if width > 0 {
			b.WriteString("…")
			n++
		}
		s = b.String()
	}
	if pad && n < width {
		s += strings.Repeat(" ", width-n)
	}
	return s
}

// Wrap breaks a text into lines of a width. Nothing is lost: the spaces at a break
// stay. What follows is indented by hang.
func Wrap(s string, width, hang int) []string {
	s = term.Line(s)
	if hang >= width/2 {
		hang = 2
	}
	var lines []string
	var line, word strings.Builder // word is what follows the last break of the line
	n, inWord := 0, 0
	end := func() {
		lines = append(lines, line.String())
		line.Reset()
		line.WriteString(strings.Repeat(" ", hang))
		n = hang
	}
	take := func() {
		line.WriteString(word.String())
		word.Reset()
		n, inWord = n+inWord, 0
	}
	Each(s, func(g string, w int) {
		if n > hang && n+inWord+w > width { // the word goes to the next line
			end()
		}
		if n+inWord+w > width { // it is longer than a line
			take()
			end()
		}
		word.WriteString(g)
		inWord += w
		if g == " " {
			take()
		}
	})
	take()
	return append(lines, line.String())
}

// Piece is text in one look.
type Piece struct {
	Text  string
	Style out.Style
}

// Row is a line of the screen.
type Row []Piece

// Render is the one way to the terminal: what a piece says is sanitised, whoever said
// it, and what does not fit is marked.
func (r Row) Render(width int, color bool) string {
	var b strings.Builder
	for _, p := range r {
		text := Fit(p.Text, width, false)
		width -= Width(text)
		if color && p.Style != "" && text != "" {
			text = "\x1b[" + string(p.Style) + "m" + text + "\x1b[m"
		}
		b.WriteString(text)
	}
	return b.String()
}
