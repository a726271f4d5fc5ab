package file

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/policy/patch"
)

// Change is what a call would make of one file.
type Change struct {
	From, To      string // what it is called before and after, "" where there is none
	Before, After []byte
	Unread        int64    // the bytes of an old file that is too large to be read
	Notes         []string // what was not as the call says, and what else changes
}

// Changes reports whether a call of the tool is about whole files, so that Preview
// can say what it would make of them.
func Changes(name string) bool {
	return name == "write_file" || name == "edit_file" || name == "apply_patch"
}

// Preview returns what a call would change if it ran now. It comes to it the way
// the call does, up to where it would write, and writes nothing. The error is the
// one that the call would end with.
func Preview(ctx context.Context, env *tool.Env, name string, input json.RawMessage) ([]Change, error) {
	if name == "apply_patch" {
		return previewPatch(ctx, env, input)
	}
	var edit editInput
	var write writeInput
	into := any(&edit)
	if name == "write_file" {
		into = &write
	}
	if err := tool.Decode(name, input, into); err != nil {
		return nil, err
	}
	at := edit.Path + write.Path // one of them is there
	switch {
	case name == "write_file" && write.Content == nil:
		return nil, tool.Invalid(name, "content is missing")
	case name == "edit_file" && (edit.Old == "" || edit.New == nil):
		return nil, tool.Invalid(name, "old_string or new_string is missing")
	}
	p, err := place.File(env, at)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	t, err := newTarget(p)
	if err != nil {
		return nil, err
	}
	c := Change{From: t.Show, To: t.Show}
	if name == "edit_file" {
		if c.Before, err = t.editable(ctx); err == nil {
			c.After, _, err = edit.apply(t, c.Before)
		}
		c.Notes = t.notes
		return []Change{c}, err
	}
	c.After, c.Notes = []byte(*write.Content), t.notes
	sum := ""
	switch {
	case t.st == nil:
		c.From = ""
	case t.st.Size() > place.MaxWhole:
		c.Unread = t.st.Size()
	default:
		before, err := t.load(ctx)
		if err != nil {
			return nil, err
		}
		c.Before, sum = before.content, before.sha256
	}
	if write.Expected != nil && c.Unread == 0 && !strings.EqualFold(*write.Expected, sum) {
		c.Notes = append(c.Notes, "the call expects another content than there is, and would write nothing")
	}
	return []Change{c}, nil
}

func previewPatch(ctx context.Context, env *tool.Env, input json.RawMessage) ([]Change, error) {
	var in patchInput
	if err := tool.Decode("apply_patch", input, &in); err != nil {
		return nil, err
	}
	files, err := patch.Parse(in.Patch)
	if err != nil {
		return nil, tool.Invalid("apply_patch", "%s", err)
	}
	set := &changeSet{ctx: ctx, env: env, sections: map[string]int{}}
	defer set.close()
	var list []Change
	for i := range files {
		if err := set.prepare(&files[i]); err != nil {
			return nil, err
		}
		list = append(list, set.changes[i].preview())
	}
	return list, nil
}

func (c *change) preview() Change {
	p := Change{Before: c.before.content, After: c.after, Notes: c.notes}
	if c.from != nil {
		p.From = c.from.Show
		if c.before.content == nil {
			p.Unread = c.from.st.Size()
		}
	}
	if c.to == nil {
		p.After = nil
		return p
	}
	p.To = c.to.Show
	p.Notes = append(p.Notes, c.to.notes...)
	was := fs.FileMode(0o644)
	if c.from != nil {
		was = c.from.st.Mode().Perm()
	}
	switch {
	case c.to.like != nil && c.to.perm() != was:
		p.Notes = append(p.Notes, fmt.Sprintf("its mode changes from %04o to %04o", was, c.to.perm()))
	case c.to.like == nil && c.to.exec == patch.Give:
		p.Notes = append(p.Notes, "it can be run as a program")
	}
	return p
}
