package main

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/man"
)

// pages returns a page for kx and for every command that is shown.
func pages() map[string][]byte {
	files := map[string][]byte{}
	tree().Walk(func(path []*app.Command) {
		for _, c := range path {
			if c.Hidden {
				return
			}
		}
		files[pageName(path)+".1"] = []byte(page(path))
	})
	return files
}

func pageName(path []*app.Command) string {
	return strings.ReplaceAll(app.Words(path), " ", "-")
}

// roff is a page being written.
type roff struct{ strings.Builder }

// page writes the page of the last command of the path. It bears no date, so
// that the same tree gives the same page.
func page(path []*app.Command) string {
	c, root := path[len(path)-1], path[0]
	r := &roff{}
	r.WriteString(".\\\" Made by \"make man\".\n")
	r.line(`.TH %s 1 "" kx "kx manual"`, strings.ToUpper(escape(pageName(path))))
	r.line(".SH NAME")
	r.line(`%s \- %s`, escape(pageName(path)), escape(c.Usage))
	r.line(".SH SYNOPSIS")
	for i, s := range app.Synopsis(path) {
		if i > 0 {
			r.line(".br")
		}
		words, rest, _ := strings.Cut(s+" ", app.Words(path)+" ")
		r.line(`\fB%s\fR %s`, escape(words+app.Words(path)), synopsis(strings.TrimSpace(rest)))
	}
	r.line(".SH DESCRIPTION")
	for i, p := range app.Paragraphs(c.What) {
		if i > 0 {
			r.line(".PP")
		}
		r.text(p)
	}
	if list := c.Visible(); len(list) > 0 {
		r.line(".SH COMMANDS")
		for _, s := range list {
			r.item(`\fB`+escape(s.Name)+`\fR`, s.Usage+": see "+pageName(path)+"-"+s.Name+"(1)")
		}
	}
	r.line(".SH OPTIONS")
	for _, f := range c.Flags {
		r.item(flagWords(f), app.FlagHelp(f))
	}
	if c == root {
		r.item(`\fB\-h\fR, \fB\-\-help\fR`, "print the help of the command, wherever it stands")
		r.line(".SH ENVIRONMENT")
		for _, e := range app.Env {
			r.item(`\fB`+escape(e.Name)+`\fR`, e.Help)
		}
	} else {
		if len(c.Flags) > 0 {
			r.line(".PP")
		}
		r.line(`The global options stand in \fBkx\fR(1).`)
	}
	r.line(".SH EXAMPLES")
	for _, e := range c.Examples {
		r.item(escape(e.Line), e.Does)
	}
	r.line(".SH EXIT STATUS")
	for _, e := range c.AllExits() {
		r.item(fmt.Sprint(e.Status), e.Means)
	}
	r.line(".SH SEE ALSO")
	r.line("%s", strings.Join(seeAlso(path), ",\n"))
	return r.String()
}

// seeAlso names the pages around a page: the one above, those below, and from
// kx itself those of the other sections.
func seeAlso(path []*app.Command) []string {
	var refs []string
	ref := func(name, section string) {
		refs = append(refs, fmt.Sprintf(`\fB%s\fR(%s)`, escape(name), section))
	}
	if len(path) > 1 {
		ref(pageName(path[:len(path)-1]), "1")
	}
	for _, s := range path[len(path)-1].Visible() {
		ref(pageName(path)+"-"+s.Name, "1")
	}
	own := fmt.Sprintf(`\fB%s\fR(1)`, escape(pageName(path)))
	for _, file := range handwritten() {
		text, err := fs.ReadFile(man.FS, file)
		if err != nil {
			panic(err) // an embedded file can be read
		}
		if len(path) == 1 || strings.Contains(string(text), own) {
			i := strings.LastIndexByte(file, '.')
			ref(file[:i], file[i+1:])
		}
	}
	return refs
}

func (r *roff) line(format string, args ...any) { fmt.Fprintf(r, format+"\n", args...) }

// text writes a paragraph as running text.
func (r *roff) text(p string) { r.line("%s", escape(strings.Join(strings.Fields(p), " "))) }

// item writes a tagged paragraph.
func (r *roff) item(tag, text string) {
	r.line(".TP")
	r.line("%s", tag)
	if text != "" {
		r.text(text)
		return
	}
	r.line(`\&`)
}

// placeholder is the name of a value: a word in capitals.
var placeholder = regexp.MustCompile(`\b[A-Z][A-Z0-9_]*\b`)

func synopsis(s string) string {
	return placeholder.ReplaceAllString(escape(s), `\fI$0\fR`)
}

// flagWords is how a flag is typed: names bold, value in italics.
func flagWords(f cli.Flag) string {
	names, value, _ := strings.Cut(app.FlagWords(f), " ")
	if strings.HasSuffix(names, ",") {
		long, rest, _ := strings.Cut(value, " ")
		names, value = names+" "+long, rest
	}
	words := strings.Split(names, ", ")
	for i, w := range words {
		words[i] = `\fB` + escape(w) + `\fR`
	}
	tag := strings.Join(words, ", ")
	if value != "" {
		tag += ` \fI` + escape(value) + `\fR`
	}
	return tag
}

var roffEscaper = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\`", "~", `\(ti`, "^", `\(ha`, "·", `\(pc`, "…", `\&...`)

// escape writes text so that roff shows it as it is.
func escape(s string) string {
	s = roffEscaper.Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
