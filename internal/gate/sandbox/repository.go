package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/base/paths"
)

// runsCode are the files of a git directory that make git run something, or look
// for such files elsewhere.
var runsCode = []string{"hooks", "config", "config.worktree", "commondir"}

// repository lets git work and keeps what it runs: commits, branches and checkouts
// change the git directory; hooks and configuration stay, and the directory can't
// be replaced by another one.
func (b *build) repository() error {
	if !b.prof.Write {
		return nil
	}
	dot := filepath.Join(b.place.Workspace, ".git")
	fi, err := os.Lstat(dot)
	switch {
	case err != nil:
	case fi.IsDir():
		b.gitDir(dot)
	case fi.Mode().IsRegular():
		b.plan.Fixed = append(b.plan.Fixed, dot)
		if common := worktree(dot); common != "" {
			b.mount(jail.Mount{Source: common, Target: common})
			b.gitDir(common)
		}
	default:
		b.plan.Fixed = append(b.plan.Fixed, dot)
	}
	return nil
}

// gitDir keeps a git directory in its place, and what runs code in it and in those
// of its submodules.
func (b *build) gitDir(dir string) {
	b.plan.Pinned = append(b.plan.Pinned, dir)
	for _, name := range runsCode {
		b.keep(filepath.Join(dir, name))
	}
	modules := filepath.Join(dir, "modules")
	_ = filepath.WalkDir(modules, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir():
			b.keep(path) // what can't be looked into stays closed
			return fs.SkipDir
		case err != nil || !d.IsDir():
			return nil
		case slices.Contains([]string{"objects", "refs", "logs", "hooks"}, d.Name()) && mayBeGitDir(filepath.Dir(path)) && !mayBeGitDir(path):
			return fs.SkipDir
		case mayBeGitDir(path):
			for up := path; up != dir; up = filepath.Dir(up) {
				if !slices.Contains(b.plan.Pinned, up) {
					b.plan.Pinned = append(b.plan.Pinned, up)
				}
			}
			for _, name := range runsCode {
				b.keep(filepath.Join(path, name))
			}
		}
		return nil
	})
	b.worktrees(filepath.Join(dir, "worktrees"))
	slices.Sort(b.plan.Pinned) // a folder before those inside of it
}

// worktrees keeps what tells git in linked worktrees where their repository and its
// configuration are: this one, and those elsewhere, where a person works. One inside
// of the workspace says so in a file that programs write anyway.
func (b *build) worktrees(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		own := filepath.Join(dir, e.Name())
		tree, err := paths.Canonical(own, firstLine(filepath.Join(own, "gitdir")))
		if err != nil || paths.Inside(b.place.Workspace, tree) && tree != filepath.Join(b.place.Workspace, ".git") {
			continue
		}
		for _, d := range []string{dir, own} {
			if !slices.Contains(b.plan.Pinned, d) {
				b.plan.Pinned = append(b.plan.Pinned, d)
			}
		}
		for _, name := range []string{"gitdir", "commondir", "config.worktree"} {
			b.keep(filepath.Join(own, name))
		}
	}
}

// mayBeGitDir reports whether a folder is a git directory, or was one before a
// program moved a part of it away.
func mayBeGitDir(dir string) bool {
	return slices.ContainsFunc([]string{"HEAD", "objects", "config", "hooks"}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// worktree returns the git directory that a linked worktree shares with others, if
// both say the same: a file alone must not open a repository of its choice.
func worktree(dot string) (common string) {
	link, ok := strings.CutPrefix(firstLine(dot), "gitdir: ")
	if !ok {
		return ""
	}
	own, err := paths.Canonical(filepath.Dir(dot), link)
	if err != nil {
		return ""
	}
	back, err := paths.Canonical(own, firstLine(filepath.Join(own, "gitdir")))
	if err != nil || back != dot {
		return ""
	}
	common, err = paths.Canonical(own, firstLine(filepath.Join(own, "commondir")))
	if err != nil || filepath.Dir(filepath.Dir(own)) != common || filepath.Base(filepath.Dir(own)) != "worktrees" || !isGitDir(common) {
		return ""
	}
	return common
}

// maxLine bounds the small files of git that hold a path.
const maxLine = 8 << 10

func firstLine(file string) string {
	fi, err := os.Lstat(file)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > maxLine {
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSuffix(line, "\r")
}
