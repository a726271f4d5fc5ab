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
		if own, common := worktree(dot); own != "" {
			b.mount(jail.Mount{Source: common, Target: common})
			b.gitDir(common)
			for _, name := range []string{"gitdir", "commondir", "config.worktree"} {
				b.keep(filepath.Join(own, name))
			}
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
		case err != nil || !d.IsDir():
			return nil
		case slices.Contains([]string{"objects", "refs", "logs", "hooks"}, d.Name()):
			return fs.SkipDir
		case isGitDir(path):
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
	slices.Sort(b.plan.Pinned) // a folder before those inside of it
}

func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// worktree returns the git directory of a linked worktree and the one that it
// shares with others, if these say the same: a file alone must not open a
// repository of its choice.
func worktree(dot string) (own, common string) {
	link, ok := strings.CutPrefix(firstLine(dot), "gitdir: ")
	if !ok {
		return "", ""
	}
	own, err := paths.Canonical(filepath.Dir(dot), link)
	if err != nil {
		return "", ""
	}
	back, err := paths.Canonical(own, firstLine(filepath.Join(own, "gitdir")))
	if err != nil || back != dot {
		return "", ""
	}
	common, err = paths.Canonical(own, firstLine(filepath.Join(own, "commondir")))
	if err != nil || filepath.Dir(filepath.Dir(own)) != common || filepath.Base(filepath.Dir(own)) != "worktrees" || !isGitDir(common) {
		return "", ""
	}
	return own, common
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
