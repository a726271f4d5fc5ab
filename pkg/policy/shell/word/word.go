// Package word turns words as the parser of mvdan.cc/sh sees them into words as a
// program gets them: without quotes, and with what the shell would still expand
// in them. It expands braces and nothing else; its caller is pkg/policy/shell.
package word

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/kxtools/kx/pkg/policy/shell/effect"
)

// Of removes the quotes of a word and says what the shell would still
// expand in it.
func Of(w *syntax.Word) effect.Word {
	out := effect.Word{Literal: true}
	if w == nil {
		return out
	}
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && strings.IndexAny(lit.Value, "\\*?[{~") < 0 {
			out.Text = lit.Value
			return out
		}
	}
	var b strings.Builder
	for i, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			unquoted(&out, &b, part.Value, i == 0)
		case *syntax.SglQuoted:
			out.Literal = out.Literal && !part.Dollar
			if part.Dollar && strings.Contains(part.Value, `\`) {
				out.Literal = false
				unescapeDollar(&b, part.Value)
				continue
			}
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			out.Literal = out.Literal && !part.Dollar // a translation takes its place
			for _, p := range part.Parts {
				if lit, ok := p.(*syntax.Lit); ok {
					b.WriteString(unescapeDouble(lit.Value))
					continue
				}
				out.Literal = false
				out.Split = out.Split || several(p)
				b.WriteString(Source(p))
			}
		default:
			_, proc := part.(*syntax.ProcSubst)
			out.Literal, out.Pipe = false, proc && len(w.Parts) == 1
			out.Split = out.Split || !proc
			b.WriteString(Source(part))
		}
	}
	out.Text = b.String()
	split := *w // SplitBraces changes the word that it is given
	if syntax.SplitBraces(&split) {
		out.Literal, out.Split = false, true // {a,b} makes several words of one
	}
	if out.Text == "[" {
		out.Glob = false // the test command; a glob needs its ]
	}
	if out.Glob {
		out.Literal, out.Split = false, true
	}
	return out
}

// Spelled is the text of a word that the shell expands nothing in, "" for others.
func Spelled(w *syntax.Word) string {
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			for _, p := range part.Parts {
				if _, ok := p.(*syntax.Lit); !ok {
					return ""
				}
			}
		default:
			return ""
		}
	}
	return Of(w).Text
}

// All appends a word, or the words that its braces make.
func All(to []effect.Word, w *syntax.Word) []effect.Word {
	split := *w
	if !syntax.SplitBraces(&split) {
		return append(to, Of(w))
	}
	list, ok := braces(split.Parts)
	if !ok {
		return append(to, Of(w))
	}
	for _, parts := range list {
		if len(parts) > 0 {
			to = append(to, Of(&syntax.Word{Parts: parts}))
		}
	}
	return to
}

// maxBraces is how many words braces may make.
const maxBraces = 64

// braces returns the parts of every word that a word with braces becomes.
func braces(parts []syntax.WordPart) ([][]syntax.WordPart, bool) {
	out := [][]syntax.WordPart{nil}
	for _, part := range parts {
		choice := [][]syntax.WordPart{{part}}
		if b, ok := part.(*syntax.BraceExp); ok {
			if b.Sequence {
				return nil, false
			}
			choice = nil
			for _, el := range b.Elems {
				list, ok := braces(el.Parts)
				if !ok {
					return nil, false
				}
				choice = append(choice, list...)
			}
		}
		if len(out)*len(choice) > maxBraces {
			return nil, false
		}
		next := make([][]syntax.WordPart, 0, len(out)*len(choice))
		for _, head := range out {
			for _, tail := range choice {
				next = append(next, append(head[:len(head):len(head)], tail...))
			}
		}
		out = next
	}
	return out, true
}

// several reports whether an expansion in quotes may come to several words, or none.
func several(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil {
		return false
	}
	index := ""
	if word, ok := p.Index.(*syntax.Word); ok {
		index = word.Lit()
	}
	return p.Param.Value == "@" || index == "@" || p.Excl
}

// unquoted adds text that stands outside quotes, without its backslashes.
func unquoted(w *effect.Word, b *strings.Builder, s string, first bool) {
	if first && strings.HasPrefix(s, "~") && s != "~" && !strings.HasPrefix(s, "~/") {
		w.Literal = false // another user's home, or ~+ and ~-
	}
	if strings.Contains(s, "=~") || strings.Contains(s, ":~") {
		w.Literal = false // bash expands these where they look like assignments
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i < len(s) && s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case '*', '?', '[':
			w.Glob = true
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
}

// unescapeDouble removes the backslashes that count inside double quotes.
func unescapeDouble(s string) string { return Unescape(s, "$`\"\\\n") }

// Unescape removes the backslashes in front of some characters.
func Unescape(s, chars string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(chars, s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unescapeDollar writes the text of $'...', whose escapes are those of C. The
// word does not count as literal; what it comes to is told to those who deny.
func unescapeDollar(b *strings.Builder, s string) {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		base, figures, most := 16, "0123456789abcdefABCDEF", 0
		switch s[i] {
		case 'x':
			most = 2
		case 'u':
			most = 4
		case 'U':
			most = 8
		case '0', '1', '2', '3', '4', '5', '6', '7':
			base, figures, most = 8, "01234567", 3
			i--
		}
		end := i + 1
		for end < len(s) && end <= i+most && strings.IndexByte(figures, s[end]) >= 0 {
			end++
		}
		n, err := strconv.ParseUint(s[i+1:end], base, 32)
		switch {
		case err == nil && most <= 3:
			b.WriteByte(byte(n))
			i = end - 1
		case err == nil:
			b.WriteRune(rune(n))
			i = end - 1
		case strings.IndexByte(`abefnrtv`, s[i]) >= 0:
			b.WriteByte("\a\b\x1b\f\n\r\t\v"[strings.IndexByte(`abefnrtv`, s[i])])
		default:
			b.WriteByte(s[i])
		}
	}
}

// Source prints a part as it could be written, for people.
func Source(n syntax.Node) string {
	var b strings.Builder
	if syntax.NewPrinter().Print(&b, n) != nil {
		return "…"
	}
	return b.String()
}
