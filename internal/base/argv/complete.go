package argv

import "strings"

// Spot is the place on an unfinished line where a word is being typed, and what
// may stand there.
type Spot struct {
	Path     []*Node
	Word     string   // what is typed of it
	Args     []string // the arguments before it
	Flag     string   // a value of this flag, by its canonical name
	Prefix   string   // what stands before the value in the word: "--output="
	Flags    []Flag   // one of these flags
	Commands bool     // a command below the path
	Arg      bool     // an argument
}

// At reads words, the last of which is being typed. It returns nil where the
// words before it are not understood.
func At(root *Node, words []string) *Spot {
	if len(words) == 0 {
		words = []string{""}
	}
	before, word := words[:len(words)-1], words[len(words)-1]
	r := &reader{words: before, path: []*Node{root}}
	if r.read() != nil {
		return nil
	}
	n := r.node()
	s := &Spot{Path: r.path, Word: word, Args: r.args}
	name, value, eq := strings.Cut(strings.TrimPrefix(word, "--"), "=")
	switch {
	case r.ended || n.Raw:
		s.Arg = true
	case r.wants != "":
		return s.valueOf(r.find(r.wants))
	case r.err != nil:
		return nil
	case strings.HasPrefix(word, "--") && eq:
		s.Word, s.Prefix = value, "--"+name+"="
		return s.valueOf(r.find(name))
	case len(word) > 2 && isFlag(word) && word[1] != '-':
		s.Word, s.Prefix = word[2:], word[:2]
		if value, ok := strings.CutPrefix(s.Word, "="); ok {
			s.Word, s.Prefix = value, s.Prefix+"="
		}
		return s.valueOf(r.find(word[1:2]))
	case strings.HasPrefix(word, "-"):
		s.Flags = r.open()
	default:
		s.Commands = len(r.args) == 0 && len(n.Nodes) > 0
		s.Arg = len(n.Nodes) == 0 || n.Args
	}
	return s
}

func (s *Spot) valueOf(f *Flag) *Spot {
	if f == nil || f.Bool {
		return nil
	}
	s.Flag = f.Names[0]
	return s
}

// open returns the flags of the path that may still be given, the nearest
// level first.
func (r *reader) open() []Flag {
	var list []Flag
	for i := len(r.path) - 1; i >= 0; i-- {
		for _, f := range r.path[i].flags() {
			if f.Repeat || !r.has(&f) {
				list = append(list, f)
			}
		}
	}
	return list
}

func (r *reader) has(f *Flag) bool {
	for _, g := range r.flags {
		for _, n := range f.Names {
			if g.name == n {
				return true
			}
		}
	}
	return false
}
