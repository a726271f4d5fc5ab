package out

import (
	"bytes"
	"fmt"

	"github.com/kxtools/kx/internal/base/term"
)

// Text is text for a person. Whatever is written to it is sanitised; colour
// comes only from Paint.
type Text struct {
	buf   bytes.Buffer
	color bool
}

// Write takes text from elsewhere.
func (t *Text) Write(b []byte) (int, error) {
	t.buf.WriteString(term.Sanitize(string(b)))
	return len(b), nil
}

// Block is text that may take several lines.
type Block string

// Printf is fmt.Fprintf with its arguments sanitised: each stays on its line, but
// for a Block.
func (t *Text) Printf(format string, args ...any) { t.buf.WriteString(Sprintf(format, args...)) }

// Sprintf is Printf for a text that a person sees elsewhere, as in a question.
func Sprintf(format string, args ...any) string {
	safe := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case Painted:
			safe[i] = a
		case Block:
			safe[i] = term.Sanitize(string(a))
		case string:
			safe[i] = term.Line(a)
		case []byte:
			safe[i] = term.Line(string(a))
		case bool, int, int64, float64, rune:
			safe[i] = a
		default:
			safe[i] = term.Line(fmt.Sprint(a))
		}
	}
	return fmt.Sprintf(format, safe...)
}

// Style is a look that a terminal gives to text.
type Style string

// The styles. They add to what the words say and never carry it alone.
const (
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Painted is text in a style. It takes the verbs and widths of a string.
type Painted struct {
	text  string
	style Style // "" where colour is not welcome
}

// Paint gives s a style if colour is welcome.
func (t *Text) Paint(style Style, s string) Painted {
	if !t.color {
		style = ""
	}
	return Painted{term.Line(s), style}
}

// Format implements fmt.Formatter: the codes stand outside the padding.
func (p Painted) Format(f fmt.State, verb rune) {
	s := fmt.Sprintf(fmt.FormatString(f, verb), p.text)
	if p.style != "" {
		s = "\x1b[" + string(p.style) + "m" + s + "\x1b[0m"
	}
	fmt.Fprint(f, s)
}
