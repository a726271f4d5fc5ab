package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/kxtools/kx/pkg/policy/shell/effect"
	"github.com/kxtools/kx/pkg/policy/shell/word"
)

// redirects returns the files that redirects open.
func (w *walker) redirects(list []*syntax.Redirect, s scope) (files []File, fed *input, unknown string) {
	for _, r := range list {
		w.words(s, r.Word, r.Hdoc)
		target := word.Of(r.Word)
		write := true
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			text := heredoc(r)
			w.input = append(w.input, text)
			if r.N == nil || r.N.Value == "0" {
				fed = &input{text: text, sure: true}
			}
			continue
		case syntax.WordHdoc:
			w.input = append(w.input, target)
			if r.N == nil || r.N.Value == "0" {
				fed = &input{text: Word{Text: target.Text + "\n", Literal: target.Literal || target.Glob && !target.Split}, sure: true}
			}
			continue
		case syntax.DplIn, syntax.DplOut:
			if target.Literal && (effect.Digits(strings.TrimSuffix(target.Text, "-")) || target.Text == "-") {
				continue
			}
			if r.Op == syntax.DplIn || r.N != nil {
				unknown = "a file descriptor that is computed"
				continue
			}
		case syntax.RdrIn:
			write = false
			if r.N == nil || r.N.Value == "0" {
				fed = &input{}
			}
		case syntax.RdrInOut:
			files = append(files, File{Path: target})
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.RdrAllClob, syntax.AppAll, syntax.AppAllClob:
		default:
			unknown = "a redirect that kx does not know"
			continue
		}
		if target.Literal && effect.Inert(target.Text) || target.Pipe {
			continue
		}
		if t := path.Clean(target.Text); strings.HasPrefix(t, "/dev/tcp/") || strings.HasPrefix(t, "/dev/udp/") {
			unknown = "bash opens a network connection for " + target.Text
			continue
		}
		files = append(files, File{Write: write, Path: target})
	}
	return files, fed, unknown
}

// heredoc is the text of a here-document, as the command reads it.
func heredoc(r *syntax.Redirect) Word {
	out := Word{Literal: true}
	quoted := false
	for _, part := range r.Word.Parts {
		lit, ok := part.(*syntax.Lit)
		quoted = quoted || !ok || strings.Contains(lit.Value, `\`)
	}
	if r.Hdoc == nil {
		return out
	}
	var b strings.Builder
	for _, part := range r.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		switch {
		case ok && quoted:
			b.WriteString(lit.Value)
		case ok:
			b.WriteString(word.Unescape(lit.Value, "$`\\\n"))
		default:
			out.Literal = false
			b.WriteString(word.Source(part))
		}
	}
	out.Text = b.String()
	if r.Op == syntax.DashHdoc {
		out.Text = strings.ReplaceAll("\n"+out.Text, "\n\t", "\n")[1:]
	}
	return out
}

// printed is what a statement prints, of the few that are known. It is good for a
// deny and no more: how echo prints depends on options.
func printed(st *syntax.Stmt) *input {
	if pipe, ok := st.Cmd.(*syntax.BinaryCmd); ok {
		return printed(pipe.Y)
	}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	var words []Word
	for _, arg := range call.Args {
		words = append(words, word.Of(arg))
	}
	switch words[0].Text {
	case "echo", "printf":
		words = words[1:]
		for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
			words = words[1:]
		}
		var texts []string
		for _, word := range words {
			texts = append(texts, word.Text)
		}
		text := strings.NewReplacer(`\n`, "\n", `%s`, "", `%b`, "").Replace(strings.Join(texts, " "))
		return &input{text: Word{Text: text}}
	case "cat", "tee":
		for _, r := range st.Redirs {
			if r.Hdoc != nil {
				return &input{text: heredoc(r)}
			}
			if r.Op == syntax.WordHdoc {
				return &input{text: word.Of(r.Word)}
			}
		}
	}
	return nil
}
