package lsp

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/wire"
)

// rename makes a patch of the edits of an answer, and applies them if it is not dry.
// A rename that touches one file that it may not touch is refused as a whole.
func rename(ctx context.Context, env *tool.Env, a *wire.CodeAnswer, dry bool) error {
	if len(a.Edits) == 0 {
		return fail.NotFound("nothing_to_rename", "there is nothing to rename here")
	}
	var files []file.Rewrite
	for _, f := range a.Edits {
		if err := mayEdit(env, f.Path, dry); err != nil {
			return err
		}
		files = append(files, file.Rewrite{Path: f.Path, SHA256: f.SHA256, Edit: func(before []byte) ([]byte, error) {
			return apply(relative(env, f.Path), before, f.Edits)
		}})
	}
	changes, err := file.RewriteAll(ctx, env, files, dry)
	if err != nil {
		return err
	}
	var patch strings.Builder
	for i, c := range changes {
		text, added, removed := file.Diff(c.Before, c.After)
		if !utf8.ValidString(text) {
			if dry {
				return fail.Failed("not_utf8", "%s is not UTF-8 there, so that there is no patch of it", place.Name(c.To))
			}
			text = strings.ToValidUTF8(text, "\uFFFD")
		}
		if text == "" {
			continue
		}
		name := fromCwd(env, a.Edits[i].Path)
		fmt.Fprintf(&patch, "--- %s\n+++ %s\n%s", patchName("a/"+name), patchName("b/"+name), text)
		a.Paths = append(a.Paths, c.To)
		a.Added, a.Removed = a.Added+added, a.Removed+removed
	}
	if len(a.Paths) == 0 {
		return fail.NotFound("nothing_to_rename", "there is nothing to rename here: it has that name already")
	}
	a.Patch, a.Applied, a.Edits = patch.String(), !dry, nil
	return nil
}

// mayEdit says why a file may not be part of a rename.
func mayEdit(env *tool.Env, path string, dry bool) error {
	show := place.Name(relative(env, path))
	outside, refused := look(env, path)
	switch {
	case outside:
		return fail.Denied("outside_workspace", "the rename would change %s, which is outside the workspace: nothing was changed", show)
	case refused:
		return fail.Denied("denied", "the rename would change a file that policy does not allow to read: nothing was changed")
	case dry:
		return nil
	case env.MayWrite == nil || !env.MayWrite(path):
		return fail.Denied("denied", "the rename would change %s, which this call may not write: nothing was changed", show).
			WithHint("kx policy check --tool lsp_rename")
	}
	return nil
}

// apply puts edits into a text.
func apply(show string, before []byte, edits []wire.CodeEdit) ([]byte, error) {
	var after bytes.Buffer
	at := 0
	for _, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > len(before) {
			return nil, fail.Failed("bad_answer", "the edits of %s don't fit its text: nothing was changed", place.Name(show))
		}
		after.Write(before[at:e.Start])
		after.WriteString(e.NewText)
		at = e.End
	}
	after.Write(before[at:])
	return after.Bytes(), nil
}

// fromCwd is a path as apply_patch has to read it: seen from the folder of the calls.
func fromCwd(env *tool.Env, abs string) string {
	if rel, err := filepath.Rel(env.Cwd, abs); err == nil && place.Within(env.Cwd, abs) {
		return rel
	}
	return abs
}

// patchName is a name in a patch, quoted as git does where it has to be.
func patchName(s string) string {
	quote := !utf8.ValidString(s)
	for i := range len(s) {
		quote = quote || s[i] < ' ' || s[i] == 0x7f || s[i] == '"' || s[i] == '\\'
	}
	if !quote {
		if strings.Contains(s, " ") {
			return s + "\t" // what ends the name
		}
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
