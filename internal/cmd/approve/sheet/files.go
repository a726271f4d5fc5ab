package sheet

import (
	"bytes"
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
		return w.said(line(remark, "as it was asked for; the files may have changed since"))
	case w.judge == nil:
		return w.said(line(warning, "the files can't be looked at: %v", w.err))
	}
	// The paths are those that were asked about: a link that came since is not followed.
	env := w.env()
	for name, to := range env.Judged {
		if _, known := w.asked.Digests[to]; !known && !w.InputEdited {
			return w.said(line(warning, "%s leads elsewhere than when this was asked: to %s", name, to))
		}
	}
	changes, err := file.Preview(context.Background(), env, w.Tool, w.asked.Input)
	if err != nil && foreign(w.Approval) && fail.As(err).Code == "invalid_input" {
		return w.input("input", nil) // a tool of another agent, with fields of its own
	}
	if err != nil {
		return w.said(line(warning, "as the files are now, it would fail: %s", fail.As(err).Msg))
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
	p := Part{Name: out.Sprintf("%s", title(c))}
	for _, n := range c.Notes {
		p.Lines = append(p.Lines, line(warning, "%s", n))
	}
	before, after := w.Clean(string(c.Before)), w.Clean(string(c.After))
	same := bytes.Equal(c.Before, c.After)
	odd := "" // why the old file can't be shown
	if c.Unread > 0 {
		odd = "it has " + place.Size(c.Unread) + ", too much to be compared"
	} else if err := place.CheckText(c.Before, int64(len(c.Before)), c.From); err != nil {
		odd = fail.As(err).Msg
	}
	switch {
	case c.From == "":
		return p.add(w.all('+', after, true)...)
	case c.To == "" && odd != "":
		return p.add(line(warning, "%s", odd))
	case c.To == "":
		return p.add(w.all('-', before, true)...)
	case c.Unread == 0 && same && c.From == c.To && len(c.Notes) == 0:
		return p.add(line(remark, "the file is like this already"))
	case c.Unread == 0 && same:
		return p // its name or its mode changes
	case odd != "":
		return p.add(line(warning, "%s; it is replaced as a whole by:", odd)).add(w.all('+', after, true)...)
	}
	if before == after {
		return p.add(line(warning, "only how a secret stands in it changes"))
	}
	return p.add(w.diff(before, after)...)
}

func (p Part) add(lines ...Line) Part {
	p.Lines = append(p.Lines, lines...)
	return p
}

// title says what becomes of a file.
func title(c *file.Change) string {
	from, to := place.Name(c.From), place.Name(c.To)
	switch {
	case c.From == "":
		return "new file " + to
	case c.To == "":
		return "delete " + from
	case c.From != c.To:
		return "move " + from + " to " + to
	}
	return "diff " + to
}

// said shows a change as the call has it, without the files.
func (w *world) said(why Line) []Part {
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
		p.Lines = append(p.Lines, w.all('+', in.Content, true)...)
	case "edit_file":
		shown = "old_string"
		p.Lines = append(append(p.Lines, w.all('-', in.Old, false)...), w.all('+', in.New, false)...)
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
