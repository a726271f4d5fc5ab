package pattern

import (
	"fmt"
	"path"

	"github.com/kxtools/kx/pkg/policy/shell"
)

// Command is a condition on the words of a leaf command.
type Command struct {
	Words []string
	Rest  bool // a last *: any further words, also none
}

// ParseCommand splits a pattern into words as a shell would, quotes included,
// so that a literal * or a space can be written as '*' or "a b".
func ParseCommand(text string) (Command, error) {
	words, err := shell.Words(text)
	if err != nil {
		return Command{}, err
	}
	var p Command
	for i, w := range words {
		switch {
		case w.Text == "*" && w.Glob && i == len(words)-1:
			p.Rest = true
		case w.Glob:
			return p, fmt.Errorf("a * stands only as the last word; write '%s' to mean it literally", w.Text)
		case !w.Literal:
			return p, fmt.Errorf("%q would be expanded by the shell; only literal words can be compared", w.Text)
		default:
			p.Words = append(p.Words, w.Text)
		}
	}
	return p, nil
}

// Program is the word under which the pattern is indexed.
func (p *Command) Program() string { return path.Base(p.Words[0]) }

// Allows reports whether an allow with this pattern speaks for the words: each
// word as written, the same number of them or a rest.
func (p *Command) Allows(words []shell.Word) bool {
	if len(words) < len(p.Words) || len(words) > len(p.Words) && !p.Rest {
		return false
	}
	for i, want := range p.Words {
		if !words[i].Literal || words[i].Text != want {
			return false
		}
	}
	for _, w := range words[len(p.Words):] {
		if w.Text == "" && !w.Literal {
			return false
		}
	}
	return true
}

// Meets reports whether a deny or ask with this pattern speaks for the words:
// the program by any path, and words that are expanded may be anything.
func (p *Command) Meets(words []shell.Word) Match {
	if len(words) == 0 {
		if len(p.Words) == 0 && p.Rest {
			return Fully
		}
		return No
	}
	m := Fully
	for i, want := range p.Words {
		if i >= len(words) {
			return No
		}
		w := words[i]
		switch {
		case !w.Literal:
			return Maybe // it may become any number of words
		case i == 0 && path.Base(w.Text) == path.Base(want), w.Text == want:
		default:
			return No
		}
	}
	if len(words) > len(p.Words) && !p.Rest {
		m = No
		for _, w := range words[len(p.Words):] {
			if w.Literal {
				return No
			}
			m = Maybe // it may become no word at all
		}
	}
	return m
}
