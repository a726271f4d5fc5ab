package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/hunk"
	"github.com/kxtools/kx/internal/tools/file/match"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/policy/patch"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// maxPatched is how much the files of a patch may hold together: they are in
	// memory before the first of them is changed.
	maxPatched = 4 * place.MaxWhole
	// maxDiffs bounds the diffs of all files together.
	maxDiffs = 4 * maxDiffBytes
)

const patchSchema = `{"type":"object","additionalProperties":false,"required":["patch"],"properties":{
"patch":{"type":"string","minLength":1,"description":"the patch: *** Begin Patch ... *** End Patch, or a unified diff"}}}`

type patchInput struct {
	Patch string `json:"patch"`
}

func (w *writer) patch(ctx context.Context, env *tool.Env, input json.RawMessage) (wire.Output, error) {
	var in patchInput
	if err := tool.Decode("apply_patch", input, &in); err != nil {
		return nil, err
	}
	files, err := patch.Parse(in.Patch)
	if err != nil {
		return nil, tool.Invalid("apply_patch", "%s", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	set := &changeSet{ctx: ctx, env: env, sections: map[string]int{}}
	defer set.close()
	for i := range files {
		if err := set.prepare(&files[i]); err != nil {
			return nil, err
		}
	}
	if err := set.commit(); err != nil {
		return nil, err
	}
	return set.output(), nil
}

// prepare makes a change of a section: everything is read and the new content is
// ready, but nothing is written.
func (s *changeSet) prepare(f *patch.File) error {
	if err := s.ctx.Err(); err != nil {
		return fail.As(err)
	}
	c := &change{notes: f.Notes}
	s.changes = append(s.changes, c)
	from, err := s.target(f, f.Path, f.Op == patch.Delete || f.To != "")
	if err != nil {
		return err
	}
	op := f.Op
	if op == patch.Update && from.st == nil && f.To == "" && makes(f) {
		op = patch.Add
		c.notes = append(c.notes, "the file did not exist: it was made")
	}
	switch {
	case op == patch.Add && from.st != nil:
		return fail.Conflict("file_exists", "%s exists already: a section that adds it can't be applied", place.Name(from.Show)).
			WithHint("%s", place.Hint("read_file", "path", from.Abs))
	case op == patch.Add:
		from.exec = f.Exec
		c.to = from
		c.after, err = hunk.New(s.ctx, f.Hunks)
		return s.explain(from, err)
	case from.st == nil:
		return fail.NotFound("no_such_file", "%s does not exist, and the patch changes it", place.Name(from.Show)).
			WithHint("%s", place.Hint("glob_search", "pattern", "**/"+filepath.Base(from.Rel)))
	}
	c.from, c.to = from, from
	if err := s.load(f, c); err != nil {
		return err
	}
	if op == patch.Delete {
		c.to = nil
		if len(c.after) > 0 && len(f.Hunks) > 0 {
			return fail.Failed("no_match", "%s is to be deleted, but it has more lines than the patch takes out", place.Name(from.Show)).
				WithHint("%s", place.Hint("read_file", "path", from.Abs))
		}
		return nil
	}
	from.exec = f.Exec
	if f.To != "" && s.env.Judged[f.To] != from.Abs {
		return s.move(f, c)
	}
	if bytes.Equal(c.before.content, c.after) && from.perm() == from.st.Mode().Perm() {
		return fail.Failed("no_change", "%s is as the patch makes it already", place.Name(from.Show)).
			WithHint("%s", place.Hint("read_file", "path", from.Abs))
	}
	return nil
}

// makes reports whether a section that does not say so can only mean a new file.
func makes(f *patch.File) bool {
	return len(f.Hunks) == 1 && f.Hunks[0].At == 0 && f.Hunks[0].Old == 0 &&
		!slices.ContainsFunc(f.Hunks[0].Lines, func(l patch.Line) bool { return l.Kind != '+' })
}

// target opens a path of the patch, as it was judged. Of a link the file is changed
// that it leads to; a link itself is neither deleted nor moved.
func (s *changeSet) target(f *patch.File, name string, itself bool) (*target, error) {
	abs, ok := s.env.Judged[name]
	if !ok {
		return nil, fail.Conflict("not_judged", "%s was not judged with the rest of the call, and is left alone", place.Name(name))
	}
	if line, twice := s.sections[abs]; twice {
		return nil, tool.Invalid("apply_patch", "%s stands in two sections, at lines %d and %d of the patch", place.Name(name), line, f.Line)
	}
	for other, line := range s.sections {
		if place.Within(other, abs) || place.Within(abs, other) {
			return nil, tool.Invalid("apply_patch", "%s can't be both a file and a folder, as the sections at lines %d and %d of the patch say", place.Name(name), line, f.Line)
		}
	}
	s.sections[abs] = f.Line
	if itself && isLink(s.env, name) {
		return nil, fail.Failed("is_link", "%s is a symbolic link, which a patch neither deletes nor moves", place.Name(name))
	}
	p, err := place.File(s.env, abs)
	if err != nil {
		return nil, err
	}
	s.places = append(s.places, p)
	return newTarget(p)
}

// isLink looks at a path as it is written. It is for the message only: what is
// opened is what was judged.
func isLink(env *tool.Env, name string) bool {
	switch {
	case strings.HasPrefix(name, "~/"):
		name = env.Home + name[1:]
	case !filepath.IsAbs(name):
		name = env.Cwd + "/" + name
	}
	st, err := os.Lstat(name)
	return err == nil && st.Mode()&fs.ModeSymlink != 0
}

// load reads the file of a section and puts its hunks in.
func (s *changeSet) load(f *patch.File, c *change) (err error) {
	t := c.from
	whole := f.Op != patch.Delete || len(f.Hunks) > 0
	if size := t.st.Size(); whole && size > place.MaxWhole {
		return fail.Limit("too_large", "%s has %s; apply_patch works on at most %s", place.Name(t.Show), place.Size(size), place.Size(place.MaxWhole))
	}
	if c.before, err = t.load(s.ctx); err != nil {
		return err
	}
	c.after = c.before.content
	if len(f.Hunks) > 0 {
		if err := place.CheckText(c.before.content, t.st.Size(), t.Show); err != nil {
			return err
		}
		if c.after, err = hunk.Apply(s.ctx, c.before.content, f.Hunks, &c.notes); err != nil {
			return s.explain(t, err)
		}
	}
	if s.bytes += int64(len(c.before.content) + len(c.after)); s.bytes > maxPatched {
		return fail.Limit("too_large", "the files of the patch have more than %s together", place.Size(maxPatched))
	}
	return nil
}

// move sets the other end of a move.
func (s *changeSet) move(f *patch.File, c *change) (err error) {
	if c.to, err = s.target(f, f.To, true); err != nil {
		return err
	}
	if c.to.st != nil {
		return fail.Conflict("file_exists", "%s exists already: %s can't be moved onto it", place.Name(c.to.Show), place.Name(c.from.Show)).
			WithHint("%s", place.Hint("read_file", "path", c.to.Abs))
	}
	c.to.like, c.to.exec = c.from.st, c.from.exec
	return nil
}

// explain says which hunk of which file has no place. What stands in the file is
// told to those who may read it.
func (s *changeSet) explain(t *target, err error) error {
	var m *hunk.Mismatch
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &m):
		return fail.As(err)
	}
	code, msg := "no_match", m.Why
	if n := len(m.Places); n > 0 {
		code = "ambiguous_match"
		shown := strings.Trim(fmt.Sprint(m.Places[:min(n, match.MaxPlaces)]), "[]")
		if n > match.MaxPlaces {
			shown += " ..."
		}
		msg += fmt.Sprintf(" (it fits at lines %s)", strings.ReplaceAll(shown, " ", ", "))
	}
	const most = 200 // of a line tell it apart
	switch {
	case m.Near == 0 && m.Want != "":
		msg += fmt.Sprintf(": nothing is like %.*q", most, m.Want)
	case m.Want == "" && m.Have == "" && !m.Ended || !place.MayRead(s.env, t.Abs):
	case m.Ended:
		msg += fmt.Sprintf(": the patch has %.*q, and the file has ended", most, m.Want)
	default:
		msg += fmt.Sprintf(": the patch has %.*q, the file %.*q", most, m.Want, most, m.Have)
	}
	return fail.Failed(code, "hunk %d of %s (line %d of the patch) can't be applied: %s. Nothing was changed", m.Hunk, place.Name(t.Show), m.Line, msg).
		WithHint("%s", place.Hint("read_file", "path", t.Abs))
}

// output is what a patch that was applied answers.
func (s *changeSet) output() wire.Output {
	var text, diffs strings.Builder
	sums, names := map[string]string{}, []string{}
	added, removed := 0, 0
	left := false
	for _, c := range s.changes {
		diff, a, r := Diff(c.before.content, c.after)
		what, size := "wrote", fmt.Sprintf(", %s", place.Size(int64(len(c.after))))
		t := c.to
		switch {
		case c.to == nil:
			what, size, t = "deleted", "", c.from
			diff, a, r = "", 0, c.before.lines
		case c.from == nil:
			what, diff = "created", ""
		case c.from != c.to:
			what = "moved " + place.Name(c.from.Show) + " to"
			sums[c.from.Show], names = "", append(names, c.from.Show)
		}
		added, removed = added+a, removed+r
		fmt.Fprintf(&text, "%s %s (+%d -%d lines%s)\n", what, place.Name(t.Show), a, r, size)
		for _, n := range append(c.notes, t.notes...) {
			fmt.Fprintf(&text, "[%s]\n", n)
		}
		names = append(names, t.Show)
		if sums[t.Show] = ""; c.to != nil {
			sum := sha256.Sum256(c.after)
			sums[t.Show] = hex.EncodeToString(sum[:])
		}
		switch {
		case diff == "" || !place.MayRead(s.env, t.Abs):
		case diffs.Len() > maxDiffs:
			left = true
		case len(s.changes) > 1:
			fmt.Fprintf(&diffs, "%s:\n%s\n", place.Name(t.Show), shorten(diff))
		default:
			diffs.WriteString(shorten(diff))
		}
	}
	if left {
		diffs.WriteString("[the other diffs are left out]")
	}
	return wire.Output{
		"text":  strings.TrimSuffix(text.String()+diffs.String(), "\n"),
		"paths": names, "sha256": sums, "added": added, "removed": removed,
	}
}
