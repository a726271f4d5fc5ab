package trust

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
)

// Names are the files by which a workspace speaks, as paths from its root.
var Names = []string{".kx/config.toml", ".kx/policy.toml", ".mcp.json"}

// maxFile caps a file that a person is asked to read.
const maxFile = 1 << 20

// Change is a file that is not what was trusted.
type Change struct {
	File    string
	Old     string // sha256, "" if it was not there
	New     string // sha256, "" if it is not there now
	Problem string // why the file can't be read, or ""

	before, now []byte
}

// Diff is the change as a unified diff, without the line that names a command:
// a person reads this, not patch.
func (c Change) Diff() string {
	from, to := "trusted "+c.File, c.File
	if c.Old == "" {
		from = "/dev/null"
	}
	if c.New == "" {
		to = "/dev/null"
	}
	_, d, _ := bytes.Cut(diff.Diff(from, c.before, to, c.now), []byte("\n"))
	return string(d)
}

// Read reads the files by which a workspace speaks. One that is not there is
// left out. Only regular files count, reached without any symlink: what a
// person trusts must be what lies in the workspace.
func Read(workspace string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range Names {
		data, err := readOne(workspace, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fail.Usage("%s can't be trusted: %v", filepath.Join(workspace, name), fsx.Reason(err)).
				WithHint("ls -l %s", filepath.Join(workspace, name)).Because(err)
		}
		files[name] = data
	}
	return files, nil
}

func readOne(workspace, name string) ([]byte, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		fi, err := root.Lstat(dir)
		switch {
		case err != nil:
			return nil, err
		case fi.Mode()&fs.ModeSymlink != 0:
			return nil, errors.New(dir + " is a symlink")
		case !fi.IsDir():
			return nil, errors.New(dir + " is not a folder")
		}
	}
	seen, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, errors.New("it is a symlink")
	case !seen.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, fi, err := fsx.ReadOpen(f, maxFile)
	if err == nil && !os.SameFile(seen, fi) {
		err = errors.New("it is being replaced")
	}
	return data, err
}

// compare says how the workspace's files differ from what is trusted.
func compare(workspace string, trusted map[string][]byte) []Change {
	var all []Change
	for _, name := range Names {
		c := Change{File: name}
		if before, ok := trusted[name]; ok {
			c.Old, c.before = digest(before), before
		}
		now, err := readOne(workspace, name)
		switch {
		case err == nil:
			c.New, c.now = digest(now), now
		case !errors.Is(err, fs.ErrNotExist):
			c.Problem = fsx.Reason(err).Error()
		}
		if c.Old != c.New || c.Problem != "" {
			all = append(all, c)
		}
	}
	return all
}

func sortByWorkspace(all []Status) {
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Workspace, b.Workspace) })
}
