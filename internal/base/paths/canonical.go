package paths

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
)

const (
	maxPath      = 4096 // PATH_MAX of Linux: the kernel takes no longer path
	maxName      = 255  // NAME_MAX of every common file system
	maxLinkSteps = 40   // as many symlinks as the kernel follows in one path
)

// Canonical returns what path names: absolute, clean, every symlink resolved.
// A relative path starts at base, which is absolute. ".." goes to the parent of
// what a symlink points to, as the kernel has it. What does not exist (a file
// to be written) is kept as it is below the nearest parent that exists. A
// leading ~ has no meaning here.
func Canonical(base, path string) (string, error) {
	switch {
	case path == "":
		return "", fail.Usage("the path is empty")
	case strings.ContainsRune(path, 0):
		return "", fail.Usage("the path %q has a NUL byte", path)
	}
	if !strings.HasPrefix(path, "/") {
		if !strings.HasPrefix(base, "/") {
			return "", fail.Usage("the folder %q is not absolute", base)
		}
		path = base + "/" + path
	}
	if len(path) > maxPath {
		return "", fail.Usage("the path is %d bytes long, at most %d are possible", len(path), maxPath)
	}

	return resolve("/", path)
}

// Below returns what a name in a folder names. The folder is canonical, the name is
// one without a slash, and neither "." nor "..".
func Below(dir, name string) (string, error) { return resolve(dir, name) }

// resolve follows a path from a canonical folder.
func resolve(at, rest string) (string, error) {
	path, steps := rest, 0
	missing := false // at does not exist: nothing below it can be a symlink
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			at, missing = filepath.Dir(at), false
			continue
		}
		if len(name) > maxName {
			return "", fail.Usage("%.40s...: a name of %d bytes, at most %d are possible", name, len(name), maxName)
		}
		next := filepath.Join(at, name)
		if missing {
			at = next
			continue
		}
		fi, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			at, missing = next, true
			continue
		case err != nil:
			return "", fail.Failed("path", "%s: %v", next, fsx.Reason(err)).Because(err)
		case fi.Mode()&fs.ModeSymlink == 0:
			at = next
			continue
		}
		if steps++; steps > maxLinkSteps {
			return "", fail.Failed("path", "%s: too many symlinks, one of them points back to itself", path)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", fail.Failed("path", "%s: %v", next, fsx.Reason(err)).Because(err)
		}
		if strings.HasPrefix(target, "/") {
			at = "/"
		}
		rest = target + "/" + rest
		if len(rest) > 2*maxPath {
			return "", fail.Usage("%s: the symlinks make a path that is too long", next)
		}
	}
	if len(at) > maxPath {
		return "", fail.Usage("the path is %d bytes long, at most %d are possible", len(at), maxPath)
	}
	return at, nil
}

// Inside reports whether path is root or lies below it. Both are canonical.
func Inside(root, path string) bool {
	if !filepath.IsAbs(root) || !filepath.IsAbs(path) {
		return false
	}
	return path == root || root == "/" || strings.HasPrefix(path, root+"/")
}
