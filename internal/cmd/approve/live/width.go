package live

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
)

// each calls do for the characters of a sanitised text and the cells that they take:
// the most that any terminal gives them, so that a line fits on all.
func each(s string, do func(g string, cells int)) {
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

// cells is how wide a sanitised text is.
func cells(s string) (n int) {
	each(s, func(_ string, w int) { n += w })
	return n
}

// fit cuts a text to a width and says so; with pad it fills it up to it.
func fit(s string, width int, pad bool) string {
	s = term.Line(s)
	n := cells(s)
	if n > width {
		var b strings.Builder
		n = 0
		full := false
		each(s, func(g string, w int) {
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

// wrap breaks a text into lines of a width. Nothing is lost: the spaces at a break
// stay. What follows is indented by hang.
func wrap(s string, width, hang int) []string {
	if hang >= width/2 {
		hang = 2
	}
	var lines []string
	var line, word strings.Builder // word is what follows the last break of the line
	n, inWord, start := 0, 0, 0
	end := func() {
		lines = append(lines, line.String())
		line.Reset()
		line.WriteString(strings.Repeat(" ", hang))
		n, start = hang, hang
	}
	take := func() {
		line.WriteString(word.String())
		word.Reset()
		n, inWord = n+inWord, 0
	}
	each(s, func(g string, w int) {
		if n > start && n+inWord+w > width { // the word goes to the next line
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

// piece is text in one look.
type piece struct {
	text  string
	style out.Style
}

// row is a line of the screen.
type row []piece

// render is the one way to the terminal: what a piece says is sanitised, whoever said
// it, and what does not fit is marked.
func (r row) render(width int, color bool) string {
	var b strings.Builder
	for _, p := range r {
		text := fit(p.text, width, false)
		width -= cells(text)
		if color && p.style != "" && text != "" {
			text = "\x1b[" + string(p.style) + "m" + text + "\x1b[m"
		}
		b.WriteString(text)
	}
	return b.String()
}
