package language

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/paths"
)

// maxBeside is how many files and folders outside of a workspace are looked at before
// each question: a look takes some microseconds.
const maxBeside = 4000

// goBeside are the sources of the modules that lie outside of a workspace and belong to it
// all the same: its go.mod or go.work names them, or they are around it.
func goBeside(at Start) (list []string) {
	var dirs []string
	for _, file := range at.Files {
		if filepath.Base(file) == "go.mod" {
			dirs = append(dirs, replaced(file)...)
		}
	}
	if around := inOrAbove(at.Root, "go.mod"); around != "" {
		dirs = append(append(dirs, filepath.Dir(around)), replaced(around)...)
	}
	if work := inOrAbove(at.Root, "go.work"); work != "" {
		list = append(list, work) // one in the workspace is one file more
		dirs = append(dirs, used(work)...)
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		if !paths.Inside(at.Root, dir) {
			list = append(list, goSources(dir, at.Root, maxBeside-len(list))...)
		}
	}
	return list
}

// inOrAbove is the nearest file of that name in a folder or around it, "" for none.
func inOrAbove(dir, name string) string {
	for {
		if path := filepath.Join(dir, name); isFile(path) {
			return path
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// used are the folders that a go.work names.
func used(file string) (dirs []string) {
	text, _, err := fsx.ReadRegular(file, maxGoFile)
	if err != nil {
		return nil
	}
	work, err := modfile.ParseWork(file, text, nil)
	if err != nil {
		return nil
	}
	for _, u := range work.Use {
		dirs = append(dirs, besides(file, u.Path))
	}
	return append(dirs, local(file, work.Replace)...)
}

// replaced are the folders that a go.mod names.
func replaced(file string) []string {
	text, _, err := fsx.ReadRegular(file, maxGoFile)
	if err != nil {
		return nil
	}
	mod, err := modfile.Parse(file, text, nil)
	if err != nil {
		return nil
	}
	return local(file, mod.Replace)
}

func local(file string, list []*modfile.Replace) (dirs []string) {
	for _, r := range list {
		if modfile.IsDirectoryPath(r.New.Path) {
			dirs = append(dirs, besides(file, r.New.Path))
		}
	}
	return dirs
}

// besides is a path that a file names, which may be relative to it.
func besides(file, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(file), path)
}

// goSources are up to most files and folders of a module, but for those of the modules and
// of the workspace in it.
func goSources(dir, root string, most int) (list []string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch name := filepath.Base(path); {
		case len(list) >= most:
			return fs.SkipAll
		case err != nil:
			return nil
		case !d.IsDir():
			if strings.HasSuffix(name, ".go") || name == "go.mod" {
				list = append(list, path)
			}
			return nil
		case path == dir:
		case path == root || strings.HasPrefix(name, ".") || name == "node_modules":
			return fs.SkipDir
		default:
			if _, err := os.Lstat(filepath.Join(path, "go.mod")); err == nil {
				return fs.SkipDir
			}
		}
		list = append(list, path)
		return nil
	})
	return list
}
