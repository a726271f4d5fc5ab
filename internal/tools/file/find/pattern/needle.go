// Package pattern reads regular expressions before they are searched for: which
// literals a match can't be without (Needles), and how rg would put it (Rg).
//
// Invariant: both let through each line in which Go's regexp matches. That they
// let through others, too, only costs time.
//
// internal/tools/file/find calls it.
package pattern

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNeedles is as many as are looked for at once; each costs a look at the
// whole file.
const maxNeedles = 8

// Needles are literals of which every match of a pattern has at least one.
// With none, every line may match. They serve one worker.
type Needles []*needle

// needle is a literal. In one that is matched in any case the rarest character
// is looked for, in all its cases, then what stands around it.
type needle struct {
	runes  [][]rune // folded: each character, in all its cases
	anchor int      // folded: which of them forms are
	forms  []form
}

// form is something to look for, and where it is found next in the content of
// the moment.
type form struct {
	text []byte
	at   int
}

// New returns the needles of a pattern.
func New(re *syntax.Regexp) (all Needles) {
	for _, l := range required(re) {
		all = append(all, l.needle())
	}
	return all
}

// Rewind is called for new content.
func (ns Needles) Rewind() {
	for _, n := range ns {
		for i := range n.forms {
			n.forms[i].at = -1
		}
	}
}

// Next returns a place in the next line of content, from a place on, that has
// one of the needles; the length of content if there is none.
func (ns Needles) Next(content []byte, from int) int {
	first := len(content)
	for _, n := range ns {
		first = min(first, n.next(content, from))
	}
	return first
}

func (n *needle) next(content []byte, from int) int {
	for {
		at := len(content)
		for i := range n.forms {
			f := &n.forms[i]
			if f.at < from {
				if f.at = len(content); from < len(content) {
					if found := bytes.Index(content[from:], f.text); found >= 0 {
						f.at = from + found
					}
				}
			}
			at = min(at, f.at)
		}
		if at == len(content) || n.around(content, at) {
			return at
		}
		from = at + 1
	}
}

// around reports whether the rest of a folded needle stands around its anchor.
func (n *needle) around(content []byte, at int) bool {
	if n.runes == nil {
		return true
	}
	rest := content[at:]
	for _, cases := range n.runes[n.anchor:] {
		r, size := utf8.DecodeRune(rest)
		if !slices.Contains(cases, r) {
			return false
		}
		rest = rest[size:]
	}
	rest = content[:at]
	for i := n.anchor - 1; i >= 0; i-- {
		r, size := utf8.DecodeLastRune(rest)
		if !slices.Contains(n.runes[i], r) {
			return false
		}
		rest = rest[:len(rest)-size]
	}
	return true
}

// literal is a run of characters in a pattern.
type literal struct {
	runes []rune
	fold  bool
}

// common are the characters that texts have most, the most common first.
const common = " etaoinrsldcupmfhgby.,(-_0/"

func (l literal) needle() *needle {
	if !l.fold {
		return &needle{forms: []form{{text: []byte(string(l.runes))}}}
	}
	n := &needle{}
	rarest := -1
	for i, r := range l.runes {
		n.runes = append(n.runes, cases(r))
		rank := strings.IndexRune(common, unicode.ToLower(r))
		if rank < 0 {
			rank = len(common)
		}
		// Other cases cost a look each.
		if rank -= len(n.runes[i]); rank > rarest || i == 0 {
			rarest, n.anchor = rank, i
		}
	}
	for _, r := range n.runes[n.anchor] {
		n.forms = append(n.forms, form{text: []byte(string(r))})
	}
	return n
}

// cases returns r in all its cases.
func cases(r rune) []rune {
	all := []rune{r}
	for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
		all = append(all, o)
	}
	return all
}

// required returns literals of which every match of the pattern has one, or
// none: those of which the shortest is longest.
func required(re *syntax.Regexp) (best []literal) {
	take := func(some []literal) {
		if shortest(some) > shortest(best) {
			best = some
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		// U+FFFD is no literal: it also stands for bytes that are not UTF-8.
		for rest := re.Rune; len(rest) > 0; {
			end := slices.Index(rest, utf8.RuneError)
			if end < 0 {
				end = len(rest)
			}
			take([]literal{{rest[:end], re.Flags&syntax.FoldCase != 0}})
			rest = rest[min(end+1, len(rest)):]
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			take(required(sub))
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			one := required(sub)
			if best = append(best, one...); len(one) == 0 || len(best) > maxNeedles {
				return nil
			}
		}
	}
	return best
}

func shortest(some []literal) int {
	if len(some) == 0 {
		return 0
	}
	return len(slices.MinFunc(some, func(a, b literal) int { return len(a.runes) - len(b.runes) }).runes)
}
