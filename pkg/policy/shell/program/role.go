package program

import (
	"path"
	"strings"

	"github.com/kxtools/kx/pkg/policy/shell/effect"
)

// give gives every operand the role of its place.
func (p *parser) give() {
	r, does := p.row, p.does
	operands := p.operands
	front, back := r.front, r.back
	if p.runs() {
		front = front[:len(front)-1]
	}
	if does["skip"] && len(front) > 0 && (front[0] == '-' || front[0] == 'f') {
		front = front[1:]
	}
	for i, w := range operands {
		role := r.star
		fromEnd := len(operands) - i
		switch {
		case does["dirs"]:
			role = 'w'
		case i < len(front):
			role = front[i]
			if role == '-' && w.Split && p.hasFiles() {
				role = r.star // it may become several words, and the others move up
			}
		case fromEnd <= len(back) && len(p.dests) == 0 && len(operands) > 1:
			role = back[len(back)-fromEnd]
		}
		switch {
		case role == 0 && len(front) > 0:
			role = '?'
		case does["inplace"] && (role == 'r' || role == 't' || role == '?'):
			role = 'b'
		case role == 'b' && does["quiet"], role == 'w' && does["quiet"] && r.is("here"):
			role = 'r'
		}
		if does["tree"] {
			w.Tree = w.Tree || role == 'w'
			if role == 'r' {
				role = 't'
			}
		}
		if role == 'd' {
			p.destination(w, operands[:i])
			continue
		}
		p.role(role, w)
		if role == 'b' && r.is("packs") && !does["quiet"] {
			p.packed(w)
		}
	}
	for _, w := range p.dests {
		p.destination(effect.Word{Text: w.Text + "/", Literal: w.Literal, Glob: w.Glob}, operands)
	}
	if len(back) == 1 && back[0] == 'd' && len(p.dests) == 0 && len(operands) == 1 && p.name == "ln" {
		p.destination(effect.Word{Text: ".", Literal: true}, operands)
	}
	if here := (effect.Word{Text: ".", Literal: true}); len(operands) <= len(r.front) && len(p.dests) == 0 && (r.is("none") || does["tree"] && r.star == 'r' && len(r.back) == 0) {
		if r.star == 't' || does["tree"] {
			here = effect.Tree(here)
		}
		p.e.Read(here)
	}
	if p.runs() {
		p.commands()
	}
}

// packed adds the file that a packer makes of another.
func (p *parser) packed(w effect.Word) {
	if effect.Input(w.Text) {
		return
	}
	for _, ending := range []string{".gz", ".bz2", ".xz", ".zst", ".lzma", ".Z", ".lz4", ".lzo", ".br", ".tgz"} {
		if name, ok := strings.CutSuffix(w.Text, ending); ok {
			p.e.Write(effect.Word{Text: name, Literal: w.Literal})
			return
		}
	}
	endings := map[string]string{"gzip": ".gz", "pigz": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst", "lzma": ".lzma", "compress": ".Z", "lz4": ".lz4", "lzop": ".lzo", "brotli": ".br"}
	if ending := endings[p.name]; ending != "" {
		p.e.Write(effect.Word{Text: w.Text + ending, Literal: w.Literal})
	}
}

// hasFiles reports whether operands behind the first may be files.
func (p *parser) hasFiles() bool {
	return p.row.star != 0 && p.row.star != '-' && p.row.star != '?'
}

// destination adds what is written where sources are put in a file or folder.
func (p *parser) destination(w effect.Word, sources []effect.Word) {
	f := effect.File{Write: true, Path: w}
	if f.Path.Tree = p.does["tree"] || p.name == "mv"; f.Path.Tree {
		f.From = sources
	}
	folder := strings.HasSuffix(w.Text, "/") || w.Text == "." || w.Text == ".." || len(sources) > 1
	var names []string
	for _, s := range sources {
		if name := path.Base(s.Text); s.Literal && name != "." && name != ".." && name != "/" {
			names = append(names, name)
		} else {
			f.Path.Tree, f.From = true, nil // what comes there can't be told
		}
	}
	if p.name == "ln" {
		// A link leads from where it lies.
		for _, s := range sources {
			if s.Literal && !strings.HasPrefix(s.Text, "/") && strings.Contains(w.Text, "/") {
				p.e.Files = append(p.e.Files, effect.File{Write: true, Both: true, Path: effect.Word{Text: path.Dir(w.Text) + "/" + s.Text, Literal: w.Literal}})
			}
		}
	}
	if folder && w.Literal {
		for _, name := range names {
			p.e.Files = append(p.e.Files, effect.File{Write: true, Path: effect.Word{Text: strings.TrimSuffix(w.Text, "/") + "/" + name, Literal: true, Tree: f.Path.Tree}, From: f.From})
		}
		if len(names) == len(sources) {
			f.Path.Tree = false // only what has these names
		}
	} else {
		f.Names = names
	}
	f.Path.Text = trimSlash(w.Text)
	p.e.Files = append(p.e.Files, f)
}

func trimSlash(s string) string {
	if len(s) > 1 {
		return strings.TrimRight(s[:1], "") + strings.TrimRight(s[1:], "/")
	}
	return s
}

// role adds what a word in a role does.
func (p *parser) role(role byte, w effect.Word) {
	e := p.e
	switch role {
	case '-', 0:
	case 'r':
		e.ReadOr(w)
	case 't':
		e.ReadOr(effect.Tree(w))
	case 'w':
		if p.name == "flock" && effect.Digits(w.Text) {
			return // an open file
		}
		e.WriteOr(w)
	case 'W':
		e.Write(effect.Tree(w))
	case 'b':
		if !effect.Input(w.Text) {
			e.Files = append(e.Files, effect.File{Write: true, Both: true, Path: w})
		}
	case 'P':
		p.does["away"] = true
		if dir := path.Dir(w.Text); p.does["quiet"] {
			e.ReadOr(w)
		} else {
			e.Write(effect.Tree(effect.Word{Text: dir, Literal: w.Literal}))
			e.Files = append(e.Files, effect.File{Write: true, Both: p.name == "ssh-keygen", Path: w})
		}
	case 'B':
		e.Files = append(e.Files, effect.File{Write: true, Both: true, Path: effect.Tree(w)})
	case 'd':
		p.destination(w, nil)
	case 'D':
		e.Dir = &w
	case 'N':
		_, host := cutLast(w.Text, "@")
		e.URLs = append(e.URLs, effect.Word{Text: "ssh://" + host + "/", Literal: w.Literal})
	case 'u':
		e.Address(w)
	case '?':
		e.Operands = append(e.Operands, w)
	case 'n':
		if !w.Literal || strings.ContainsAny(w.Text, "[") || effect.Steers(w.Text) {
			e.Unknown = "what " + p.name + " does with the name it gets can't be told"
		}
	case 'f':
		p.script(w)
	case 'c':
		p.does["code"] = true
		e.Operands = append(e.Operands, w)
	case 's':
		if w.Text != "" && w.Text != "-" || !w.Literal {
			e.Runs = append(e.Runs, effect.Run{Code: &w, Posix: p.name != "trap", Far: e.Opaque == effect.FarAway})
		}
		p.does["ran"] = true
	case '@':
		p.at(w)
	case 'h', 'H', 'k':
		p.remote(role, w)
	}
}

// script is a file of code.
func (p *parser) script(w effect.Word) {
	switch {
	case !w.Literal:
		p.e.Opaque = "which code it runs can't be told"
		p.e.Operands = append(p.e.Operands, w)
	case w.Text == "-" && p.name != "source" && p.name != ".", effect.Input(w.Text):
		p.e.Opaque = effect.StdinCode
	default:
		p.e.Files = append(p.e.Files, effect.File{Path: w})
		p.e.Scripts = append(p.e.Scripts, w)
	}
}

// at is for @name, name=@file and the like of curl.
func (p *parser) at(w effect.Word) {
	text := w.Text
	if i := strings.IndexAny(text, "@<"); i >= 0 && (i == 0 || !strings.ContainsAny(text[:i], " {")) {
		name, _, _ := strings.Cut(text[i+1:], ";")
		p.e.ReadOr(effect.Word{Text: name, Literal: w.Literal, Glob: w.Glob})
		return
	}
	if !w.Literal && (text == "" || effect.Computed(text[:1])) {
		p.e.Unknown = "a value is effect.Computed, and may name a file"
	}
}

// remote is for host:path.
func (p *parser) remote(role byte, w effect.Word) {
	host, _, ok := strings.Cut(w.Text, ":")
	switch {
	case ok && host != "" && !strings.Contains(host, "/"):
		_, host = cutLast(host, "@")
		p.e.URLs = append(p.e.URLs, effect.Word{Text: "ssh://" + host + "/", Literal: w.Literal})
	case role == 'H':
		p.destination(w, p.operands[:max(0, len(p.operands)-1)])
		if p.name == "rsync" {
			p.e.Files[len(p.e.Files)-1].Path.Tree = true
		}
	case role == 'k':
		p.role('t', w)
	case p.does["tree"]:
		p.role('t', w)
	default:
		p.role('r', w)
	}
}

func cutLast(s, sep string) (string, string) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):]
	}
	return "", s
}

// commands adds the command behind the operands.
func (p *parser) commands() {
	rest, e := p.rest, p.e
	if len(rest) == 0 || p.does["lost"] && e.Through {
		return
	}
	far := p.row.is("far")
	switch p.row.front[len(p.row.front)-1] {
	case 'S':
		code := effect.Join(rest)
		e.Runs = append(e.Runs, effect.Run{Code: &code, Posix: p.name != "eval", Far: far, Dir: e.Dir})
	default:
		if p.row.is("more") {
			rest = p.added(rest)
		}
		e.Runs = append(e.Runs, effect.Run{Argv: rest, Far: far, Dir: e.Dir})
	}
	p.does["ran"] = true
}

// added is a command with the words that xargs puts in it.
func (p *parser) added(rest []effect.Word) []effect.Word {
	out := append([]effect.Word{}, rest...)
	if p.replace == "" {
		return append(out, effect.Word{Text: "…", Split: true})
	}
	for i := range out {
		if strings.Contains(out[i].Text, p.replace) {
			out[i].Literal = false
		}
	}
	return out
}
