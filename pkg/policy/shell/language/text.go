package language

import (
	"strings"

	"github.com/kxtools/kx/pkg/policy/shell/effect"
)

// sed reads its script: what is printed and replaced is of no interest, what is
// read, written and run is.
func sed(e *effect.Effects, _ string, args []effect.Word) {
	inPlace, script, backup := false, false, ""
	var operands []effect.Word
	for i := 0; i < len(args); i++ {
		a := args[i]
		next := func(attached string) effect.Word {
			if attached != "" {
				return effect.Word{Text: attached, Literal: a.Literal}
			}
			if i++; i < len(args) {
				return args[i]
			}
			return effect.Word{Literal: true}
		}
		name, value, _ := strings.Cut(a.Text, "=")
		switch {
		case !a.Literal && effect.MayBeFlag(a) && script, !a.Literal && strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, "-e") && !strings.HasPrefix(a.Text, "-i"):
			e.Unknown = "an argument of sed is computed"
			operands = append(operands, a)
		case a.Text == "--" && a.Literal:
			rest := args[i+1:]
			if !script && len(rest) > 0 {
				sedScript(e, rest[0])
				rest, script = rest[1:], true
			}
			operands = append(operands, rest...)
			i = len(args)
		case strings.HasPrefix(a.Text, "--") && len(name) > 3 && strings.HasPrefix("--expression", name):
			sedScript(e, next(value))
			script = true
		case strings.HasPrefix(a.Text, "--") && len(name) > 3 && strings.HasPrefix("--file", name):
			e.ReadOr(next(value))
			e.Unknown, script = effect.FlagRuns, true
		case strings.HasPrefix(a.Text, "--") && len(name) > 3 && strings.HasPrefix("--in-place", name):
			inPlace, backup = true, value
		case strings.HasPrefix(a.Text, "--") && len(name) > 3 && strings.HasPrefix("--line-length", name):
			next(value)
		case effect.In("--quiet --silent --regexp-extended --separate --null-data --posix --debug --unbuffered --follow-symlinks --zero-terminated --version --help --sandbox --binary", a.Text):
		case strings.HasPrefix(a.Text, "--"):
			e.Unknown = effect.LostFlag
		case len(a.Text) > 1 && a.Text[0] == '-':
			for j := 1; j < len(a.Text); j++ {
				switch rest := a.Text[j+1:]; a.Text[j] {
				case 'n', 'E', 'r', 's', 'z', 'u', 'b':
				case 'e':
					sedScript(e, next(rest))
					script, j = true, len(a.Text)
				case 'f':
					e.ReadOr(next(rest))
					e.Unknown, script, j = effect.FlagRuns, true, len(a.Text)
				case 'i':
					inPlace, backup, j = true, rest, len(a.Text)
				case 'l':
					next(rest)
					j = len(a.Text)
				default:
					e.Unknown = effect.LostFlag
				}
			}
		default:
			operands = append(operands, a)
		}
	}
	if !script && len(operands) > 0 {
		sedScript(e, operands[0])
		operands = operands[1:]
	}
	for _, w := range operands {
		if inPlace {
			e.Files = append(e.Files, effect.File{Write: true, Both: true, Path: w})
		} else {
			e.ReadOr(w)
		}
		if backup != "" {
			name := w.Text + backup
			if strings.Contains(backup, "*") {
				name = "." // the name may be anywhere in it
			}
			e.Write(effect.Word{Text: name, Literal: w.Literal, Tree: name == "."})
		}
	}
}

func sedScript(e *effect.Effects, w effect.Word) {
	s := sedReader{text: w.Text, e: e}
	switch {
	case !w.Literal && !w.Glob && strings.ContainsAny(w.Text, "$`"):
		e.Unknown = "the script of sed is computed"
	case !s.script():
		e.Unknown = "the script of sed can't be understood, or runs commands"
	}
}

// sedReader reads a script of sed.
type sedReader struct {
	text string
	at   int
	e    *effect.Effects
}

func (s *sedReader) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *sedReader) skip(chars string) {
	for s.at < len(s.text) && strings.IndexByte(chars, s.text[s.at]) >= 0 {
		s.at++
	}
}

// script reports whether the whole is understood.
func (s *sedReader) script() bool {
	for {
		s.skip(" \t\n;}")
		if s.at == len(s.text) {
			return true
		}
		if !s.address() {
			return false
		}
		s.skip(" \t!")
		c := s.peek()
		s.at++
		switch c {
		case '{', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
		case '#', 'b', 't', 'T', ':', 'a', 'i', 'c', 'v':
			s.line() // a label or a text: up to the end of the line
		case 'l', 'L', 'q', 'Q':
			s.skip(" \t0123456789")
		case 's', 'y':
			if !s.replace(c) {
				return false
			}
		case 'r', 'R':
			s.skip(" \t")
			s.e.ReadOr(effect.Word{Text: s.line(), Literal: true})
		case 'w', 'W':
			s.writes()
		default:
			return false
		}
	}
}

// address reads what stands in front of a command.
func (s *sedReader) address() bool {
	for {
		s.skip(" \t0123456789$,+~")
		delim := s.peek()
		switch delim {
		case '/':
		case '\\':
			s.at++
			if delim = s.peek(); delim == 0 || delim == '\n' {
				return false
			}
		default:
			return true
		}
		s.at++
		if !s.until(delim) {
			return false
		}
		s.skip("IM")
	}
}

// until goes behind the next delimiter. One in brackets ends an expression of
// some and not of other seds, so brackets with one in them are not understood.
func (s *sedReader) until(delim byte) bool {
	bracket := false
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\':
			s.at++
		case c == delim && bracket:
			return false
		case c == delim:
			s.at++
			return true
		case c == '[':
			bracket = true
			if strings.HasPrefix(s.text[s.at+1:], "]") || strings.HasPrefix(s.text[s.at+1:], "^]") {
				s.at += strings.IndexByte(s.text[s.at:], ']')
			}
		case c == ']':
			bracket = false
		}
	}
	return false
}

func (s *sedReader) replace(c byte) bool {
	delim := s.peek()
	if delim == 0 || delim == '\n' || delim == '\\' {
		return false
	}
	s.at++
	if !s.until(delim) {
		return false
	}
	// There are no brackets in what takes its place.
	for ; s.at < len(s.text) && s.text[s.at] != delim; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	if s.at >= len(s.text) {
		return false
	}
	s.at++
	if c == 'y' {
		return true
	}
	for {
		switch c := s.peek(); {
		case c == 'w':
			s.at++
			s.writes()
			return true
		case c >= '0' && c <= '9', c == 'g', c == 'p', c == 'i', c == 'I', c == 'm', c == 'M':
			s.at++
		case c == 'e':
			return false
		default:
			return true
		}
	}
}

func (s *sedReader) writes() {
	s.skip(" \t")
	if name := s.line(); name != "/dev/stdout" && name != "/dev/stderr" {
		s.e.Write(effect.Word{Text: name, Literal: true})
	}
}

// line is the rest of the line; one that ends in a backslash goes on.
func (s *sedReader) line() string {
	from := s.at
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		if s.text[s.at] == '\\' {
			s.at++
		}
		s.at++
	}
	s.at = min(s.at, len(s.text))
	return s.text[from:s.at]
}

// awk only computes and prints, if its program has none of the words and signs by
// which it does more.
func awk(e *effect.Effects, name string, args []effect.Word) {
	program := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		flag, value, _ := strings.Cut(a.Text, "=")
		switch {
		case !a.Literal && strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, "-v") && !strings.HasPrefix(a.Text, "-F"):
			e.Opaque = effect.InlineCode
		case a.Text == "--" && a.Literal && !program:
		case program && (a.Text == "-" || !strings.HasPrefix(a.Text, "-") || len(a.Text) < 2):
			if before, after, ok := strings.Cut(a.Text, "="); ok && !strings.Contains(before, "/") {
				e.Operands = append(e.Operands, effect.Word{Text: after, Literal: a.Literal})
			}
			e.ReadOr(a)
		case a.Text == "-F" || a.Text == "-v" || flag == "--field-separator" && value == "" || flag == "--assign" && value == "":
			i++
		case strings.HasPrefix(a.Text, "-F") || strings.HasPrefix(a.Text, "-v") || flag == "--field-separator" || flag == "--assign":
		case effect.In("--posix --traditional --re-interval --sandbox --version --help -W -V -h", a.Text):
		case a.Text == "-f" || a.Text == "-E":
			if i++; i < len(args) {
				e.Read(args[i])
			}
			e.Opaque, program = effect.InlineCode, true
		case strings.HasPrefix(a.Text, "-") && len(a.Text) > 1:
			e.Opaque = effect.InlineCode
		default:
			program = true
			if !a.Literal && !a.Glob || !quietAwk(e, a.Text) {
				e.Opaque = effect.InlineCode
			}
		}
	}
	_ = name
}

// quietAwk reports whether a program of awk only computes, prints and writes files
// that it names. It looks at signs wherever they stand, in texts as well.
func quietAwk(e *effect.Effects, text string) bool {
	for _, word := range []string{"system", "getline", "ARGV", "ARGC", "ENVIRON", "PROCINFO", "@", "load", "fflush"} {
		if strings.Contains(text, word) {
			return false
		}
	}
	if strings.Contains(strings.ReplaceAll(text, "||", ""), "|") {
		return false
	}
	for {
		at := strings.IndexByte(text, '>')
		if at < 0 {
			return true
		}
		text = strings.TrimPrefix(text[at+1:], ">")
		if strings.HasPrefix(text, "=") {
			text = text[1:]
			continue
		}
		name, ok := strings.CutPrefix(strings.TrimLeft(text, " \t"), `"`)
		name, rest, closed := strings.Cut(name, `"`)
		rest = strings.TrimLeft(rest, " \t")
		if !ok || !closed || strings.Contains(name, `\`) || rest != "" && strings.IndexByte(";}\n", rest[0]) < 0 {
			e.Write(effect.Word{Text: "…"})
			return true
		}
		if name != "/dev/stdout" && name != "/dev/stderr" {
			e.Write(effect.Word{Text: name, Literal: true})
		}
	}
}
