package pattern

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rg says a pattern in the syntax of rg, so that rg finds each line in
// which Go's regexp matches; a few more do no harm. It is false for what can't
// be said.
//
// A line of Go has no end; rg sees the CR of a CRLF. Go reads a byte that is
// not UTF-8 as U+FFFD; to rg it is no character.
func Rg(re *syntax.Regexp) (string, bool) {
	p := rgPrinter{
		begins: mentions(re, syntax.OpBeginLine, syntax.OpBeginText),
		ends:   mentions(re, syntax.OpEndLine, syntax.OpEndText),
	}
	p.print(re)
	return p.b.String(), !p.failed
}

func mentions(re *syntax.Regexp, ops ...syntax.Op) bool {
	return slices.Contains(ops, re.Op) ||
		slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return mentions(sub, ops...) })
}

type rgPrinter struct {
	b            strings.Builder
	begins, ends bool // the start, the end of a line stands somewhere in it
	failed       bool
}

// rgOps are the operators that need no more than their sign.
var rgOps = map[syntax.Op]string{
	syntax.OpEmptyMatch:     "(?:)",
	syntax.OpNoWordBoundary: "(?:)", // rg has it between bytes
	syntax.OpWordBoundary:   `(?-u:\b)`,
	syntax.OpBeginLine:      "(?m:^)",
	syntax.OpBeginText:      "(?m:^)",
	syntax.OpEndLine:        `(?:\r?(?m:$))`,
	syntax.OpEndText:        `(?:\r?(?m:$))`,
	syntax.OpCapture:        "",
	syntax.OpConcat:         "",
	syntax.OpStar:           "*",
	syntax.OpPlus:           "+",
	syntax.OpQuest:          "?",
}

func (p *rgPrinter) print(re *syntax.Regexp) {
	switch sign, simple := rgOps[re.Op]; {
	case p.drops(re.Op):
		p.b.WriteString("(?:)")
	case simple:
		for _, sub := range re.Sub {
			p.group(sub)
		}
		p.b.WriteString(sign)
	case re.Op == syntax.OpRepeat:
		p.group(re.Sub[0])
		most := ""
		if re.Max >= 0 {
			most = fmt.Sprint(re.Max)
		}
		fmt.Fprintf(&p.b, "{%d,%s}", re.Min, most)
	case re.Op == syntax.OpAlternate:
		for i, sub := range re.Sub {
			if i > 0 {
				p.b.WriteByte('|')
			}
			p.group(sub)
		}
	case re.Op == syntax.OpLiteral:
		for _, r := range re.Rune {
			p.class(folds(r, re.Flags&syntax.FoldCase != 0))
		}
	case re.Op == syntax.OpCharClass:
		p.class(re.Rune)
	case re.Op == syntax.OpAnyChar || re.Op == syntax.OpAnyCharNotNL:
		p.class([]rune{0, unicode.MaxRune})
	default:
		p.failed = true
	}
}

// drops reports whether an empty match is left out, which finds more lines. Of
// several kinds in one pattern only one is kept: the end of a line may take a
// CR, behind which nothing else holds, and rg 13 misses lines for "\b^" and "$^".
func (p *rgPrinter) drops(op syntax.Op) bool {
	switch op {
	case syntax.OpWordBoundary:
		return p.begins || p.ends
	case syntax.OpEndLine, syntax.OpEndText:
		return p.begins
	}
	return false
}

func (p *rgPrinter) group(re *syntax.Regexp) {
	p.b.WriteString("(?:")
	p.print(re)
	p.b.WriteByte(')')
}

// notInRg are ranges that no class of ours may name: the line feed is in no
// line, and surrogates are no characters.
var notInRg = [][2]rune{{'\n', '\n'}, {0xd800, 0xdfff}}

// class prints ranges of characters.
func (p *rgPrinter) class(ranges []rune) {
	var parts []string
	single, invalid := false, false
	add := func(low, high rune) {
		if low > high {
			return
		}
		s := fmt.Sprintf(`\x{%x}`, low)
		if single = low == high; !single {
			s += fmt.Sprintf(`-\x{%x}`, high)
		}
		parts = append(parts, s)
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		low, high := ranges[i], ranges[i+1]
		invalid = invalid || low <= utf8.RuneError && utf8.RuneError <= high
		for _, gap := range notInRg {
			if low <= gap[1] && gap[0] <= high {
				add(low, min(high, gap[0]-1))
				low = gap[1] + 1
			}
		}
		add(low, high)
	}
	switch {
	case len(parts) == 0:
		p.failed = true // nothing is left to match
	case invalid:
		p.b.WriteString("(?:[" + strings.Join(parts, "") + `]|(?-u:[\x80-\xff]))`)
	case len(parts) == 1 && single:
		p.b.WriteString(parts[0])
	default:
		p.b.WriteString("[" + strings.Join(parts, "") + "]")
	}
}

// folds returns r as ranges, with its other cases where they count.
func folds(r rune, fold bool) (ranges []rune) {
	if !fold {
		return []rune{r, r}
	}
	for _, c := range cases(r) {
		ranges = append(ranges, c, c)
	}
	return ranges
}
