package language

import (
	"strings"

	"github.com/kxtools/kx/pkg/policy/shell/effect"
)

// find tells a find that only lists from one that acts.
func find(e *effect.Effects, _ string, args []effect.Word) {
	var roots []effect.Word
	expr := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !a.Literal && !a.Glob {
			e.Unknown = "an argument of find is effect.Computed, and may be -delete or -exec"
		}
		if a.Glob && a.Text != "" && strings.IndexByte("*?[", a.Text[0]) >= 0 {
			e.Unknown = "an argument of find is a glob, and may be -delete or -exec"
		}
		switch a.Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			expr = true
			end := i + 1
			for end < len(args) && args[end].Text != ";" && !(args[end].Text == "+" && args[end-1].Text == "{}") {
				end++
			}
			if inner := args[min(i+1, len(args)):end]; len(inner) > 0 {
				r := effect.Run{Argv: placed(inner, roots)}
				if strings.HasSuffix(a.Text, "dir") {
					r.Dir = &effect.Word{Text: "…"}
				}
				e.Runs = append(e.Runs, r)
			}
			i = end
		case "-delete":
			expr = true
			e.Unknown = "find deletes what it finds"
		case "-fprint", "-fprint0", "-fprintf", "-fls":
			expr = true
			if i++; i < len(args) {
				e.Write(args[i])
			}
		case "-files0-from", "-newer", "-anewer", "-cnewer", "-samefile":
			expr = true
			if i++; i < len(args) {
				e.Read(args[i])
			}
			if a.Text == "-files0-from" {
				e.Unknown = "which folders it walks can't be told"
			}
		case "-H", "-L", "-P":
		case "-D":
			i++
		default:
			if !expr && !strings.HasPrefix(a.Text, "-") && a.Text != "(" && a.Text != "!" && a.Text != "," {
				roots = append(roots, a)
				e.Read(effect.Tree(a))
				continue
			}
			expr = expr || !strings.HasPrefix(a.Text, "-O")
		}
	}
	if len(roots) == 0 {
		e.Read(effect.Tree(effect.Word{Text: ".", Literal: true}))
	}
}

// placed is a command of find. What stands for the files that are found is
// effect.Computed, and lies below the roots.
func placed(argv, roots []effect.Word) []effect.Word {
	out := append([]effect.Word{}, argv...)
	for i := range out {
		if !strings.Contains(out[i].Text, "{}") {
			continue
		}
		if out[i].Text == "{}" && i > 0 && len(roots) <= 1 {
			root := effect.Word{Text: ".", Literal: true}
			if len(roots) == 1 {
				root = roots[0]
			}
			if root.Literal {
				out[i].In = root.Text
			}
		}
		out[i].Literal, out[i].Split = false, true
	}
	return out
}

func dd(e *effect.Effects, _ string, args []effect.Word) {
	for _, a := range args {
		name, value, _ := strings.Cut(a.Text, "=")
		w := effect.Word{Text: value, Literal: a.Literal, Glob: a.Glob, Split: a.Split}
		switch {
		case !a.Literal && effect.Computed(name):
			e.Unknown = "an argument of dd is computed"
		case name == "of":
			e.WriteOr(w)
		case name == "if":
			e.ReadOr(w)
		}
	}
}

// tar reads and writes by the letters of its first word.
func tar(e *effect.Effects, _ string, args []effect.Word) {
	const (
		values = "fCTXbLNgHVK" // letters with a value, in the order of the words behind
		codes  = "--checkpoint-action --to-command --use-compress-program --rsh-command --info-script --new-volume-script --rmt-command"
	)
	mode, absolute := byte(0), false
	var archives, operands []effect.Word
	dir := effect.Word{Text: ".", Literal: true}
	take := func(letter byte, w effect.Word) {
		switch letter {
		case 'f':
			archives = append(archives, w)
		case 'C':
			if dir.Text == "." || strings.HasPrefix(w.Text, "/") {
				dir = w
			} else {
				dir = effect.Word{Text: dir.Text + "/" + w.Text, Literal: dir.Literal && w.Literal}
			}
		case 'T', 'X':
			e.Read(w)
			if letter == 'T' {
				e.Unknown = "which files it packs stands in a file"
			}
		case 'I', 'F':
			e.Unknown = effect.FlagRuns
		case 'g':
			e.Files = append(e.Files, effect.File{Write: true, Both: true, Path: w})
		}
	}
	long := map[string]byte{"--file": 'f', "--directory": 'C', "--cd": 'C', "--files-from": 'T', "--exclude-from": 'X', "--listed-incremental": 'g', "--index-file": 'w'}
	for i := 0; i < len(args); i++ {
		a := args[i]
		name, value, attached := strings.Cut(a.Text, "=")
		switch {
		case !a.Literal && effect.MayBeFlag(a), !a.Literal && strings.HasPrefix(a.Text, "-") && (!attached || effect.Computed(name)):
			e.Unknown = effect.MayBe
			operands = append(operands, a)
		case strings.HasPrefix(a.Text, "--"):
			w := effect.Word{Text: value, Literal: a.Literal}
			for flag := range strings.SplitSeq(codes, " ") {
				if len(name) > 3 && strings.HasPrefix(flag, name) {
					e.Unknown = effect.FlagRuns
				}
			}
			was := mode
			for flag, letter := range map[string]byte{"--create": 'c', "--append": 'r', "--update": 'u', "--extract": 'x', "--get": 'x', "--list": 't', "--diff": 'd', "--compare": 'd', "--concatenate": 'A', "--catenate": 'A', "--delete": 'D'} {
				if len(name) > 3 && strings.HasPrefix(flag, name) && mode == 0 {
					mode = letter
				}
			}
			if len(name) > 4 && strings.HasPrefix("--remove-files", name) {
				e.Unknown = "it removes what it packs"
			}
			if len(name) > 3 && strings.HasPrefix("--absolute-names", name) {
				absolute = true
			}
			for flag, letter := range long {
				if mode != was || len(name) < 4 || !strings.HasPrefix(flag, name) || name == "--file" && flag != name || name == "--files" {
					continue
				}
				if !attached && i+1 < len(args) {
					i++
					w = args[i]
				}
				if letter == 'w' {
					e.Write(w)
				} else {
					take(letter, w)
				}
				break
			}
		case i == 0 && len(a.Text) > 0 && a.Text[0] != '-', len(a.Text) > 1 && a.Text[0] == '-':
			old := a.Text[0] != '-'
			letters := strings.TrimPrefix(a.Text, "-")
			for j := 0; j < len(letters); j++ {
				c := letters[j]
				switch {
				case c == 'P':
					absolute = true
				case mode == 0 && strings.IndexByte("cruxtdA", c) >= 0:
					mode = c
				case strings.IndexByte(values, c) >= 0 || c == 'I' || c == 'F':
					switch {
					case !old && j+1 < len(letters):
						take(c, effect.Word{Text: letters[j+1:], Literal: a.Literal})
						j = len(letters)
					case i+1 < len(args):
						i++
						take(c, args[i])
					}
				}
			}
		default:
			if mode == 'c' || mode == 'r' || mode == 'u' || mode == 0 {
				if dir.Text != "." && !strings.HasPrefix(a.Text, "/") {
					a.Text, a.Literal = dir.Text+"/"+a.Text, a.Literal && dir.Literal
				}
			}
			operands = append(operands, a)
		}
	}
	packs := mode == 'c' || mode == 'r' || mode == 'u' || mode == 'A' || mode == 'D'
	for _, w := range archives {
		if host, _, ok := strings.Cut(w.Text, ":"); ok && host != "" && !strings.Contains(host, "/") {
			e.Opaque = effect.FarAway
		}
		switch {
		case w.Text == "-" && w.Literal:
		case packs:
			e.Files = append(e.Files, effect.File{Write: true, Both: mode != 'c', Path: w})
		default:
			e.Read(w)
		}
	}
	switch {
	case packs:
		for _, w := range operands {
			e.Read(effect.Tree(w))
		}
	case mode == 't':
	case mode == 'x':
		e.Write(effect.Tree(dir))
		if absolute {
			e.Unknown = "it may write anywhere"
		}
	case mode == 'd':
		e.Read(effect.Tree(dir))
	default:
		e.Operands = append(e.Operands, operands...)
		if len(args) > 0 && !effect.VersionOnly(args) {
			e.Unknown = "what it does with its files can't be told"
		}
	}
}
