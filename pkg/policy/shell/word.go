package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wordOf removes the quotes of a word and says what the shell would still
// expand in it.
func wordOf(w *syntax.Word) Word {
	out := Word{Literal: true}
	if w == nil {
		return out
	}
	var b strings.Builder
	for i, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			out.unquoted(&b, part.Value, i == 0)
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
			if part.Dollar && strings.Contains(part.Value, `\`) {
				out.Literal = false
			}
		case *syntax.DblQuoted:
			for _, p := range part.Parts {
				if lit, ok := p.(*syntax.Lit); ok {
					b.WriteString(unescapeDouble(lit.Value))
					continue
				}
				out.Literal = false
				b.WriteString(source(p))
			}
		default:
			out.Literal = false
			b.WriteString(source(part))
		}
	}
	out.Text = b.String()
	split := *w // SplitBraces changes the word that it is given
	if syntax.SplitBraces(&split) {
		out.Literal = false // {a,b} makes several words of one
	}
	if out.Text == "[" {
		out.Glob = false // the test command; a glob needs its ]
	}
	if out.Glob {
		out.Literal = false
	}
	return out
}

// unquoted adds text that stands outside quotes, without its backslashes.
func (w *Word) unquoted(b *strings.Builder, s string, first bool) {
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
func unescapeDouble(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// source prints a part as it could be written, for people.
func source(n syntax.Node) string {
	var b strings.Builder
	if syntax.NewPrinter().Print(&b, n) != nil {
		return "…"
	}
	return b.String()
}

// digits reports whether s is a plain number.
func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
