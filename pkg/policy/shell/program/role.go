package program

import (
	"path"
	"strings"
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
		if does["tree"] && role == 'r' {
			role = 't'
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
		p.destination(Word{Text: w.Text + "/", Literal: w.Literal, Glob: w.Glob}, operands)
	}
	if len(back) == 1 && back[0] == 'd' && len(p.dests) == 0 && len(operands) == 1 && p.name == "ln" {
		p.destination(Word{Text: ".", Literal: true}, operands)
	}
	if here := (Word{Text: ".", Literal: true}); len(operands) <= len(r.front) && len(p.dests) == 0 && (r.is("none") || does["tree"]) {
		if r.star == 't' || does["tree"] {
			here = tree(here)
		}
		p.e.read(here)
	}
	if p.runs() {
		p.commands()
	}
}

// packed adds the file that a packer makes of another.
func (p *parser) packed(w Word) {
	if input(w.Text) {
		return
	}
	for _, ending := range []string{".gz", ".bz2", ".xz", ".zst", ".lzma", ".Z", ".lz4", ".lzo", ".br", ".tgz"} {
		if name, ok := strings.CutSuffix(w.Text, ending); ok {
			p.e.write(Word{Text: name, Literal: w.Literal})
			return
		}
	}
	endings := map[string]string{"gzip": ".gz", "pigz": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst", "lzma": ".lzma", "compress": ".Z", "lz4": ".lz4", "lzop": ".lzo", "brotli": ".br"}
	if ending := endings[p.name]; ending != "" {
		p.e.write(Word{Text: w.Text + ending, Literal: w.Literal})
	}
}

// hasFiles reports whether operands behind the first may be files.
func (p *parser) hasFiles() bool {
	return p.row.star != 0 && p.row.star != '-' && p.row.star != '?'
}

// destination adds what is written where sources are put in a file or folder.
func (p *parser) destination(w Word, sources []Word) {
	f := File{Write: true, Path: w}
	f.Path.Tree = p.does["tree"]
	folder := strings.HasSuffix(w.Text, "/") || w.Text == "." || w.Text == ".." || len(sources) > 1
	var names []string
	for _, s := range sources {
		if name := path.Base(s.Text); s.Literal && name != "." && name != ".." && name != "/" {
			names = append(names, name)
		} else {
			f.Path.Tree = true // what comes there can't be told
		}
	}
	if p.name == "ln" {
		// A link leads from where it lies.
		for _, s := range sources {
			if s.Literal && !strings.HasPrefix(s.Text, "/") && strings.Contains(w.Text, "/") {
				p.e.Files = append(p.e.Files, File{Write: true, Both: true, Path: Word{Text: path.Dir(w.Text) + "/" + s.Text, Literal: w.Literal}})
			}
		}
	}
	if folder && w.Literal {
		for _, name := range names {
			p.e.Files = append(p.e.Files, File{Write: true, Path: Word{Text: strings.TrimSuffix(w.Text, "/") + "/" + name, Literal: true}})
		}
		f.Names = nil
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

// tree is a folder as a whole.
func tree(w Word) Word {
	w.Tree = true
	return w
}

func (e *Effects) read(w Word)  { e.Files = append(e.Files, File{Path: w}) }
func (e *Effects) write(w Word) { e.Files = append(e.Files, File{Write: true, Path: w}) }

// role adds what a word in a role does.
func (p *parser) role(role byte, w Word) {
	e := p.e
	switch role {
	case '-', 0:
	case 'r':
		e.readOr(w)
	case 't':
		e.readOr(tree(w))
	case 'w':
		if p.name == "flock" && digits(w.Text) {
			return // an open file
		}
		e.writeOr(w)
	case 'W':
		e.write(tree(w))
	case 'b':
		if !input(w.Text) {
			e.Files = append(e.Files, File{Write: true, Both: true, Path: w})
		}
	case 'P':
		p.does["away"] = true
		if dir := path.Dir(w.Text); p.does["quiet"] {
			e.readOr(w)
		} else {
			e.write(tree(Word{Text: dir, Literal: w.Literal}))
			e.Files = append(e.Files, File{Write: true, Both: p.name == "ssh-keygen", Path: w})
		}
	case 'B':
		e.Files = append(e.Files, File{Write: true, Both: true, Path: tree(w)})
	case 'd':
		p.destination(w, nil)
	case 'D':
		e.Dir = &w
	case 'N':
		_, host := cutLast(w.Text, "@")
		e.URLs = append(e.URLs, Word{Text: "ssh://" + host + "/", Literal: w.Literal})
	case 'u':
		p.url(w)
	case '?':
		e.Operands = append(e.Operands, w)
	case 'n':
		if !w.Literal || strings.ContainsAny(w.Text, "[") || Steers(w.Text) {
			e.Unknown = "what " + p.name + " does with the name it gets can't be told"
		}
	case 'f':
		p.script(w)
	case 'c':
		p.does["code"] = true
		e.Operands = append(e.Operands, w)
	case 's':
		if w.Text != "" && w.Text != "-" || !w.Literal {
			e.Runs = append(e.Runs, Run{Code: &w, Posix: p.name != "trap", Far: e.Opaque == FarAway})
		}
		p.does["ran"] = true
	case '@':
		p.at(w)
	case 'h', 'H', 'k':
		p.remote(role, w)
	}
}

// readOr reads a file, if the word is no sign for the input of the program.
func (e *Effects) readOr(w Word) {
	if !input(w.Text) && !w.Pipe && !(w.Literal && Inert(w.Text)) {
		e.read(w)
	}
}

func (e *Effects) writeOr(w Word) {
	if !(w.Literal && (w.Text == "-" || Inert(w.Text))) && !w.Pipe {
		e.write(w)
	}
}

// script is a file of code.
func (p *parser) script(w Word) {
	switch {
	case !w.Literal:
		p.e.Opaque = "which code it runs can't be told"
		p.e.Operands = append(p.e.Operands, w)
	case w.Text == "-" && p.name != "source" && p.name != ".", input(w.Text):
		p.e.Opaque = StdinCode
	default:
		p.e.Files = append(p.e.Files, File{Path: w})
	}
}

// at is for @name, name=@file and the like of curl.
func (p *parser) at(w Word) {
	text := w.Text
	if i := strings.IndexAny(text, "@<"); i >= 0 && (i == 0 || !strings.ContainsAny(text[:i], " {")) {
		name, _, _ := strings.Cut(text[i+1:], ";")
		p.e.readOr(Word{Text: name, Literal: w.Literal, Glob: w.Glob})
		return
	}
	if !w.Literal && (text == "" || computed(text[:1])) {
		p.e.Unknown = "a value is computed, and may name a file"
	}
}

// remote is for host:path.
func (p *parser) remote(role byte, w Word) {
	host, _, ok := strings.Cut(w.Text, ":")
	switch {
	case ok && host != "" && !strings.Contains(host, "/"):
		_, host = cutLast(host, "@")
		p.e.URLs = append(p.e.URLs, Word{Text: "ssh://" + host + "/", Literal: w.Literal})
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

// url is an address; a file: one is a file.
func (p *parser) url(w Word) {
	switch {
	case w.Literal && strings.HasPrefix(w.Text, "ext::"):
		p.does["code"] = true
	case w.Literal && strings.HasPrefix(strings.ToLower(w.Text), "file:"):
		name := w.Text[len("file:"):]
		name = strings.TrimPrefix(name, "//localhost")
		if strings.HasPrefix(name, "//") {
			name = name[2:]
		}
		p.e.read(Word{Text: name, Literal: !strings.ContainsAny(name, "%{[")})
		p.e.URLs = append(p.e.URLs, w)
	default:
		p.e.URLs = append(p.e.URLs, w)
	}
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
		code := join(rest)
		e.Runs = append(e.Runs, Run{Code: &code, Posix: p.name != "eval", Far: far, Dir: e.Dir})
	default:
		if p.row.is("more") {
			rest = p.added(rest)
		}
		e.Runs = append(e.Runs, Run{Argv: rest, Far: far, Dir: e.Dir})
	}
	p.does["ran"] = true
}

// added is a command with the words that xargs puts in it.
func (p *parser) added(rest []Word) []Word {
	out := append([]Word{}, rest...)
	if p.replace == "" {
		return append(out, Word{Text: "…", Split: true})
	}
	for i := range out {
		if strings.Contains(out[i].Text, p.replace) {
			out[i].Literal = false
		}
	}
	return out
}

// join is the words of a command as one piece of code.
func join(words []Word) Word {
	var texts []string
	out := Word{Literal: true}
	for _, w := range words {
		texts = append(texts, w.Text)
		out.Literal = out.Literal && w.Literal
	}
	out.Text = strings.Join(texts, " ")
	return out
}
