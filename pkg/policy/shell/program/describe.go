package program

import (
	"strings"

	"github.com/kxtools/kx/pkg/policy/shell/effect"
	"github.com/kxtools/kx/pkg/policy/shell/language"
)

// Describe says what a command does whose first word is literal. The name is that
// word without its folder.
func Describe(name string, args []effect.Word) effect.Effects {
	var e effect.Effects
	if language.Describe(&e, name, args) {
		return e
	}
	r := lookup(name)
	if name == "command" && len(args) > 0 && (args[0].Text == "-v" || args[0].Text == "-V") {
		e.Neutral = true
		return e
	}
	runs := r != nil && r.runsProject(args)
	// A subcommand may have a row of its own.
	for i, a := range args {
		if !a.Literal || i == 3 {
			break
		}
		if sub := lookup(name + " " + a.Text); sub != nil && !strings.HasPrefix(a.Text, "-") {
			if rest, first := among([]string{a.Text}, args); first {
				runs = sub.runsProject(rest)
			}
			r, args = sub, append(append([]effect.Word{}, args[:i]...), args[i+1:]...)
			break
		}
	}
	if r == nil {
		e.Unlisted = true
		unknown(&e, args)
		return e
	}
	if runs {
		e.Project = effect.ProjectCode
	}
	p := parser{e: &e, row: r, name: name}
	p.run(args)
	return e
}

// unknown looks at arguments of which nothing is known but that they may
// be paths.
func unknown(e *effect.Effects, args []effect.Word) {
	for _, a := range args {
		if _, value, ok := strings.Cut(a.Text, "="); ok {
			e.Operands = append(e.Operands, effect.Word{Text: value, Literal: a.Literal, Glob: a.Glob, Split: a.Split})
		}
		switch {
		case strings.HasPrefix(a.Text, "--"):
		case strings.HasPrefix(a.Text, "-") && len(a.Text) > 2:
			e.Operands = append(e.Operands, effect.Word{Text: a.Text[2:], Literal: a.Literal})
		default:
			e.Operands = append(e.Operands, a)
		}
	}
}

// parser sorts the arguments of a program by its row.
type parser struct {
	e        *effect.Effects
	row      *row
	name     string
	does     map[string]bool // what flags do beside
	operands []effect.Word
	rest     []effect.Word // the command behind the operands, where the row has one
	dests    []effect.Word // folders that flags name as the destination
	replace  string        // what xargs replaces
}

func (p *parser) run(args []effect.Word) {
	r, e := p.row, p.e
	p.does = map[string]bool{}
	e.Neutral, e.Through = r.is("neutral"), r.is("through")
	for mark, why := range map[string]string{"code": effect.InlineCode, "stdin": effect.StdinCode, "far": effect.FarAway, "file": effect.ThisShell, "names": effect.Renames} {
		if r.is(mark) {
			e.Opaque = why
		}
	}
	if r.is("lost") {
		e.Opaque = effect.LostFlag
	}
	p.split(args)
	p.give()
	if p.does["lost"] {
		p.lost()
	}
	switch {
	case p.does["code"] && (r.is("bare") || r.is("code")):
		e.Opaque = effect.InlineCode
	case p.does["code"]:
		e.Unknown = effect.FlagRuns
	case p.does["far"]:
		e.Opaque = effect.FarAway
	}
	if r.is("bare") && e.Opaque == "" && !p.does["ran"] && !effect.VersionOnly(args) && (len(p.operands) == 0 || effect.Input(p.operands[0].Text)) {
		e.Opaque = effect.StdinCode
	}
	if (r.is("here") || p.does["here"]) && !p.does["quiet"] && !p.does["away"] && !effect.VersionOnly(args) {
		e.Files = append(e.Files, effect.File{Write: true, Path: effect.Word{Text: ".", Literal: true, Tree: true}})
	}
	if len(r.front)+len(r.back) == 0 && r.star == 'u' && len(e.URLs) == 0 && !effect.VersionOnly(args) {
		e.Unknown = "which address it reaches can't be told"
	}
}

func (p *parser) lost() {
	if p.e.Through || !p.runs() {
		p.e.Unknown = effect.LostFlag
		if !p.runs() {
			p.e.Unknown = "what one of its flags does can't be told"
		}
	} else if p.e.Opaque == "" {
		p.e.Opaque = effect.LostFlag
	}
}

// runs reports whether the row ends in a command.
func (p *parser) runs() bool {
	n := len(p.row.front)
	return n > 0 && (p.row.front[n-1] == 'x' || p.row.front[n-1] == 'S')
}

// split sorts arguments into flags, whose values it looks at, and operands.
func (p *parser) split(args []effect.Word) {
	r := p.row
	first, closed, assigns := r.is("first"), r.is("closed"), r.is("assigns")
	before := len(r.front) - 1 // operands in front of a command
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.Text == "--" && a.Literal:
			p.operands = append(p.operands, args[i+1:]...)
			p.cut(before)
			return
		case a.Text == "-" && r.is("dash"):
		case r.is("plus") && strings.HasPrefix(a.Text, "+"):
			p.does["code"] = true
		case r.is("num") && len(a.Text) > 1 && a.Text[0] == '-' && effect.Digits(a.Text[1:]):
		case len(a.Text) > 1 && a.Text[0] == '-':
			n, ok := p.flag(args[i:])
			if !ok && (closed || r.danger && !a.Literal) {
				p.does["lost"] = true
				if p.runs() {
					return
				}
			}
			i += n - 1
		default:
			if name, _, ok := strings.Cut(a.Text, "="); ok && assigns && len(p.operands) == 0 {
				if effect.Steers(name) {
					p.e.Unknown = "it sets " + name + ", which can change what a command runs"
				}
				continue
			}
			// Where a glob is a file, its names are looked at when they are known.
			named := a.Glob && p.hasFiles() && !strings.ContainsAny(a.Text, "$`{")
			if r.danger && effect.MayBeFlag(a) && !named && (!p.runs() || len(p.operands) < before) {
				p.e.Unknown = effect.MayBe
			}
			if first {
				if p.runs() && len(p.operands) < before {
					p.operands = append(p.operands, a)
					continue
				}
				p.operands = append(p.operands, args[i:]...)
				p.cut(before)
				return
			}
			p.operands = append(p.operands, a)
		}
	}
	p.cut(before)
}

// cut takes the command from the operands.
func (p *parser) cut(before int) {
	if p.runs() && len(p.operands) > before {
		p.rest, p.operands = p.operands[before:], p.operands[:before]
	}
}

// flag looks at the flag in front of args, and returns how many words it takes
// and whether it is known.
func (p *parser) flag(args []effect.Word) (int, bool) {
	text := args[0].Text
	if strings.HasPrefix(text, "--") || p.row.is("long") {
		name, value, attached := strings.Cut(text, "=")
		if !args[0].Literal && (!attached || effect.Computed(name)) {
			return 1, false
		}
		n, found := 1, false
		for i := range p.row.flags {
			f := &p.row.flags[i]
			if f.name != name && !(len(name) > 2 && strings.HasPrefix(f.name, name) && strings.HasPrefix(name, "--") && !p.exact(name)) {
				continue
			}
			found = true
			n = max(n, p.take(f, args, effect.Word{Text: value, Literal: args[0].Literal}, attached))
		}
		if !found && attached {
			p.e.Operands = append(p.e.Operands, effect.Word{Text: value, Literal: args[0].Literal})
		}
		return n, found
	}
	// A cluster such as -lc.
	known := true
	for i := 1; i < len(text); i++ {
		f := p.short(text[i])
		if f == nil {
			if effect.Computed(text[i : i+1]) {
				return 1, false
			}
			known = false
			if i == 1 && len(text) > 2 {
				p.e.Operands = append(p.e.Operands, effect.Word{Text: text[2:], Literal: args[0].Literal})
			}
			continue
		}
		if f.role == 0 {
			p.note(f)
			continue
		}
		attached := i+1 < len(text)
		n := p.take(f, args, effect.Word{Text: strings.TrimPrefix(text[i+1:], "="), Literal: args[0].Literal}, attached)
		if attached && text[i+1] == '=' {
			p.e.Operands = append(p.e.Operands, effect.Word{Text: text[i+1:], Literal: args[0].Literal})
		}
		return n, known
	}
	if !args[0].Literal {
		return 1, false
	}
	return 1, known
}

// take looks at the value of a flag, and returns how many words it takes.
func (p *parser) take(f *flag, args []effect.Word, value effect.Word, attached bool) int {
	p.note(f)
	switch {
	case f.role == 0:
		return 1
	case attached:
		p.value(f, value)
		return 1
	case f.attached:
		if p.name == "xargs" && (f.name == "-i" || f.name == "--replace") {
			p.replace = "{}"
		}
		return 1
	case len(args) > 1:
		p.value(f, args[1])
		return 2
	}
	return 1
}

func (p *parser) exact(name string) bool {
	for i := range p.row.flags {
		if p.row.flags[i].name == name {
			return true
		}
	}
	return false
}

func (p *parser) short(letter byte) *flag {
	for i := range p.row.flags {
		if f := &p.row.flags[i]; len(f.name) == 2 && f.name[1] == letter {
			return f
		}
	}
	return nil
}

func (p *parser) note(f *flag) {
	if f.does != "" {
		p.does[f.does] = true
	}
}

// value gives the value of a flag its role.
func (p *parser) value(f *flag, w effect.Word) {
	switch f.role {
	case 'd':
		p.dests = append(p.dests, w)
	case 'W':
		p.e.Write(effect.Tree(w))
	case 'D':
		p.e.Dir = &w
	default:
		if p.name == "xargs" && effect.In("-I -i -J --replace", f.name) {
			p.replace = w.Text
		}
		p.role(f.role, w)
	}
}
