package shell

import (
	"path"
	"strings"

	"github.com/kxtools/kx/pkg/policy/shell/effect"
	"github.com/kxtools/kx/pkg/policy/shell/program"
)

// Code returns the words that name files with the code that the leaf runs: the
// program, where it is named by its path, and the script of an interpreter.
func (l *Leaf) Code() []Word {
	if len(l.Words) == 0 || !l.Words[0].Literal {
		return nil
	}
	var out []Word
	name := l.Words[0].Text
	if strings.Contains(name, "/") {
		out = append(out, l.Words[0])
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	if !program.Reads(name) && name != "source" && name != "." {
		return out
	}
	for _, w := range l.Words[1:] {
		if w.Literal && !strings.HasPrefix(w.Text, "-") {
			return append(out, w)
		}
	}
	return out
}

// Becomes returns the words that the command gets.
func (l *Leaf) Becomes() []Word {
	if l.Spread != nil {
		return l.Spread
	}
	return l.Words
}

// Program is the name of the program without its folder, "" if it is computed.
func (l *Leaf) Program() string {
	if len(l.Words) == 0 || !l.Words[0].Literal {
		return ""
	}
	return path.Base(l.Words[0].Text)
}

// Interprets reports whether the program runs code of some language.
func (l *Leaf) Interprets() bool { return program.Reads(l.Program()) }

// RunsInput reports whether the leaf runs code that comes from its input.
func (l *Leaf) RunsInput() bool {
	if l.stdin || l.Opaque == effect.StdinCode {
		return true
	}
	for _, w := range l.Words {
		if w.Text == "-s" && l.Interprets() {
			return true
		}
	}
	return false
}
