package paths

import (
	"os"
	"path/filepath"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
)

// markers make a folder the root of a workspace.
var markers = []string{".git", ".kx"}

// Root returns the workspace: the folder of -C or KX_WORKSPACE, else the
// nearest one from the current folder up that has .git or .kx, belongs to the
// user and, where the current folder is below $HOME, is below it too; else the
// current folder.
func (e Env) Root(d Dirs) (string, error) {
	explicit := first(e.Workspace, e.Get("KX_WORKSPACE"))
	start, err := Canonical(e.Cwd, first(explicit, "."))
	if err != nil {
		return "", err
	}
	if fi, err := os.Stat(start); err != nil {
		return "", fail.Usage("the workspace %s can't be used: %v", start, fsx.Reason(err)).WithHint("ls -ld %s", start)
	} else if !fi.IsDir() {
		return "", fail.Usage("the workspace %s is not a folder", start).WithHint("ls -ld %s", start)
	}
	if explicit != "" {
		return start, nil
	}
	return Workspace(start, d.Home, d.UID), nil
}

// Workspace finds the root that the canonical folder start belongs to.
func Workspace(start, home string, uid int) string {
	inHome := Inside(home, start)
	for dir := start; ; dir = filepath.Dir(dir) {
		if inHome && Inside(dir, home) { // home itself, or above it
			return start
		}
		if ownedBy(dir, uid) {
			for _, m := range markers {
				if ownedBy(filepath.Join(dir, m), uid) {
					return dir
				}
			}
		}
		if dir == "/" {
			return start
		}
	}
}

func ownedBy(path string, uid int) bool {
	fi, err := os.Lstat(path)
	return err == nil && fsx.Owner(fi) == uid
}

// CheckWorkspace refuses a workspace in which no tool may run: one that is / or
// the home or holds it, and one that holds kx's own directories or lies in them.
func CheckWorkspace(root string, d Dirs) error {
	why := d.TooWide(root)
	if why == "" {
		return nil
	}
	return fail.New("workspace", fail.ExitUsage, "no tool runs in the workspace %s: %s", root, why).
		WithHint("kx -C DIR ...")
}

// TooWide says why programs may not have the canonical folder dir to write in,
// or "".
func (d Dirs) TooWide(dir string) string {
	switch {
	case dir == "/":
		return "it is the whole file system"
	case dir == d.Home:
		return "it is your home"
	case Inside(dir, d.Home):
		return "it holds your home"
	}
	for _, own := range append([]string{d.State, d.Config, d.Runtime}, d.Defaults...) {
		switch {
		case Inside(dir, own):
			return "it holds kx's directory " + own
		case Inside(own, dir):
			return "it lies in kx's directory " + own
		}
	}
	return ""
}
