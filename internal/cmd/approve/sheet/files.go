package sheet

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/tools/file"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/wire"
)

// files are the diffs of a call that changes files, against the files as they are.
// What can't be compared any more, or not at all, is shown as it was asked for.
func (w *world) files() []Part {
	switch {
	case w.State != wire.ApprovalPending && w.State != wire.ApprovalAllowed:
		return w.asked(line(remark, "as it was asked for; the files may have changed since"))
	case w.judge == nil:
		return w.asked(line(warning, "the files can't be looked at: %v", w.err))
	}
	input, err := w.judge.Canonical(w.Tool, w.Input)
	if err != nil {
		return w.asked(line(warning, "it would fail: %v", err))
	}
	changes, err := file.Preview(context.Background(), w.env(input), w.Tool, input)
	if err != nil {
		return w.asked(line(warning, "as the files are now, it would fail: %s", fail.As(err).Msg))
	}
	var parts []Part
	left := maxLines
	for i := range changes {
		p := w.change(&changes[i])
		if !w.Uncut && len(p.Lines) > left {
			p.Lines = append(p.Lines[:left:left], line(warning, "… %d more lines: kx approve show %s -o table", len(p.Lines)-left, w.ID))
		}
		left = max(0, left-len(p.Lines))
		parts = append(parts, p)
	}
	return parts
}

// change shows what becomes of one file.
func (w *world) change(c *file.Change) Part {
	before, after := string(c.Before), string(c.After)
	name, noted := place.Name(c.To), len(c.Notes) == 0
	var p Part
	for _, n := range c.Notes {
		p.Lines = append(p.Lines, line(warning, "%s", n))
	}
	odd := ""
	switch err := place.CheckText(c.Before, int64(len(c.Before)), c.From); {
	case c.Unread > 0:
		odd = "it has " + place.Size(c.Unread) + ", too much to be compared"
	case err != nil:
		odd = fail.As(err).Msg
	}
	switch {
	case c.From == "":
		p.Name = "new file " + name
		p.Lines = append(p.Lines, w.all('+', after)...)
	case c.To == "":
		p.Name = "delete " + place.Name(c.From)
		if odd == "" {
			p.Lines = append(p.Lines, w.all('-', before)...)
		}
	case c.From != c.To:
		p.Name = "move " + place.Name(c.From) + " to " + name
	default:
		p.Name = "diff " + name
	}
	if odd != "" {
		p.Lines = append(p.Lines, line(warning, "%s", odd))
	}
	if c.From != "" && c.To != "" {
		switch {
		case odd == "" && before == after && c.From == c.To && noted:
			p.Lines = append(p.Lines, line(remark, "the file is like this already"))
		case odd == "" && before == after:
		case odd != "" && c.Unread == 0 && before == after:
		case odd != "":
			p.Lines = append(p.Lines, line(warning, "the file is replaced as a whole by:"))
			p.Lines = append(p.Lines, w.all('+', after)...)
		default:
			p.Lines = append(p.Lines, w.diff(before, after)...)
		}
	}
	p.Name = out.Sprintf("%s", p.Name)
	return p
}

// asked shows a change as the call has it, without the files.
func (w *world) asked(why Line) []Part {
	var in struct {
		Path    string `json:"path"`
		Content string `json:"content"`
		Old     string `json:"old_string"`
		New     string `json:"new_string"`
		Patch   string `json:"patch"`
	}
	if json.Unmarshal(w.Input, &in) != nil {
		return w.input("input", nil)
	}
	p := Part{Name: out.Sprintf("%s %s", strings.TrimSuffix(w.Tool, "_file"), in.Path), Lines: []Line{why}}
	var shown string
	switch w.Tool {
	case "write_file":
		shown = "content"
		p.Lines = append(p.Lines, w.all('+', in.Content)...)
	case "edit_file":
		shown = "old_string"
		p.Lines = append(append(p.Lines, w.all('-', in.Old)...), w.all('+', in.New)...)
	default:
		shown = "patch"
		p.Name = "patch"
		for row := range strings.Lines(in.Patch) {
			p.Lines = append(p.Lines, w.raw(strings.TrimSuffix(row, "\n")))
		}
	}
	p.Lines = w.most(p.Lines, w.ID)
	return append([]Part{p}, w.input("with", []string{"path", shown, "new_string"})...)
}

// styles are those of the lines of a diff, by their first character.
var styles = map[byte]out.Style{'+': added, '-': removed, '@': remark, '*': remark, '\\': remark}

// raw is a line of a diff as it is.
func (w *world) raw(row string) Line {
	if row == "" {
		return Line{}
	}
	return Line{Text: w.edge(row), Style: styles[row[0]], Hang: 1}
}
