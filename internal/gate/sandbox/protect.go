package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/record/scratch"
)

// settings are files and folders of a workspace that tell a person's programs what
// to run. Programs behind the walls neither change nor make them.
var settings = []string{".kx", ".mcp.json", ".envrc", ".claude", ".codex", ".gemini", ".cursor"}

// protect keeps the settings of the workspace as they are.
func (b *build) protect() error {
	if !b.prof.Write {
		return nil
	}
	for _, name := range settings {
		b.keep(filepath.Join(b.place.Workspace, name))
	}
	return nil
}

// maxLinks is how many links the kernel follows to a file.
const maxLinks = 40

// keep makes a path stay as it is, or stay away; so also, where it is a link, what
// it leads to, if that can be written.
func (b *build) keep(path string) {
	for range maxLinks {
		fi, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			b.absent = append(b.absent, path)
			return
		}
		b.plan.Fixed = append(b.plan.Fixed, path)
		if err != nil || fi.Mode()&fs.ModeSymlink == 0 {
			return
		}
		to, err := os.Readlink(path)
		if err != nil {
			return
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		if path = filepath.Clean(to); paths.Inside(path, b.place.Workspace) || !inside(b.roots(), path) {
			return
		}
		b.pinAbove(path)
	}
}

// takeAway moves what a program has made where it may not into a folder aside.
// While it runs nothing can keep it from making what is not there.
func (b *build) takeAway() []string {
	var notes []string
	if len(b.absent) > 0 {
		for _, dir := range append(b.roots(), b.plan.Pinned...) {
			regain(dir)
		}
	}
	for _, path := range b.absent {
		regain(path)
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		name := path
		if rel, err := filepath.Rel(b.place.Workspace, path); err == nil {
			name = rel
		}
		aside, err := b.Scratch.Aside()
		if err == nil {
			aside = filepath.Join(aside, filepath.Base(path))
			err = os.Rename(path, aside)
			if errors.Is(err, syscall.EXDEV) { // another file system
				err = scratch.Remove(path)
				aside = ""
			}
		}
		switch {
		case err != nil:
			notes = append(notes, fmt.Sprintf("%s was made by the command, which only people may, and can't be taken away: %v", name, err))
		case aside == "":
			notes = append(notes, name+" was made by the command, which only people may: it was removed")
		default:
			notes = append(notes, fmt.Sprintf("%s was made by the command, which only people may: it was moved to %s", name, aside))
		}
	}
	b.absent = nil
	return notes
}

// regain gives the owner all rights over a folder, if there is one: a program may
// have taken them away, so that nothing in it can be moved.
func regain(dir string) {
	root, err := os.OpenRoot(filepath.Dir(dir)) // another program may put a link in its place
	if err != nil {
		return
	}
	defer root.Close()
	name := filepath.Base(dir)
	if fi, err := root.Lstat(name); err == nil && fi.IsDir() && fi.Mode().Perm()&0o700 != 0o700 {
		_ = root.Chmod(name, fi.Mode().Perm()|0o700)
	}
}

// maxHidden is how many files are masked by rules: each costs the kernel a mount.
const maxHidden = 4096

// hide masks the files that rules hide from every program. A pattern is absolute;
// where it begins with **/ the workspace and what else can be written is searched.
func (b *build) hide() error {
	var found []string
	for _, pattern := range b.place.Hidden {
		bases := []string{"/"}
		if rest, ok := strings.CutPrefix(pattern, "**/"); ok {
			bases, pattern = b.roots(), "**/"+rest
		} else {
			base, rest := doublestar.SplitPattern(pattern)
			bases, pattern = []string{base}, rest
		}
		for _, base := range bases {
			err := doublestar.GlobWalk(os.DirFS(base), pattern, func(path string, _ fs.DirEntry) error {
				if found = append(found, filepath.Join(base, path)); len(found) > maxHidden {
					return errTooMany
				}
				return nil
			}, doublestar.WithNoFollow())
			if errors.Is(err, errTooMany) {
				return fail.Limit("too_many_hidden", "rules hide more than %d files from programs; a rule for their folder hides them at once", maxHidden).WithHint("kx policy rules")
			}
		}
	}
	if len(b.place.Hidden) > 0 {
		found = append(found, b.closed()...)
	}
	slices.Sort(found)
	above := ""
	for _, path := range slices.Compact(found) {
		if above != "" && paths.Inside(above, path) {
			continue // hidden with its folder
		}
		real, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if above = path; err != nil {
			real = path
		}
		b.conceal(real)
	}
	return nil
}

// closed are the folders that can't be looked into. A program may have closed one,
// to open it again when what is in it is not masked.
func (b *build) closed() (list []string) {
	for _, root := range b.roots() {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil && d != nil && d.IsDir() && path != root {
				list = append(list, path)
				return fs.SkipDir
			}
			return nil
		})
	}
	return list
}

var errTooMany = errors.New("too many files")

// roots are the folders in which programs write.
func (b *build) roots() []string { return append([]string{b.place.Workspace}, b.place.Writable...) }

// conceal masks a path.
func (b *build) conceal(path string) {
	b.plan.Masked = append(b.plan.Masked, path)
	b.pinAbove(path)
}

// pinAbove pins the folders above a path: moved away, its name would be another
// one in the next call.
func (b *build) pinAbove(path string) {
	for _, root := range b.roots() {
		if !paths.Inside(root, path) {
			continue
		}
		var above []string
		for dir := filepath.Dir(path); dir != root && paths.Inside(root, dir); dir = filepath.Dir(dir) {
			above = append(above, dir)
		}
		slices.Reverse(above)
		for _, dir := range above {
			if !slices.Contains(b.plan.Pinned, dir) {
				b.plan.Pinned = append(b.plan.Pinned, dir)
			}
		}
	}
}
