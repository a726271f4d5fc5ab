// Package place opens the paths of the file tools' calls, and says in one way
// what they are called and what is wrong with them.
//
// A path comes from the gate, absolute, canonical and allowed. It is opened
// through os.Root; a symbolic link in it was not there when it was judged, and
// is refused, also one that comes while the call runs. Only regular files are
// opened, and nothing that blocks.
//
// internal/tools/file and its find call it.
package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
)

// Place is a path of a call, opened: a root that can't be left, and the path
// below it. Inside the workspace the root is the workspace; elsewhere it is
// the nearest folder above the path that exists.
type Place struct {
	Root *os.Root
	Rel  string // below Root, "." for Root itself
	Abs  string
	Real string // Abs for the system: what lies in /tmp may be in a folder of the session
	Show string // how results name it: relative to the workspace, if it is there

	made []made // folders that were missing
}

// Open takes a path as the gate judged it: absolute and canonical. A symbolic
// link in it was not there then, so it is refused.
func Open(env *tool.Env, abs string) (*Place, error) {
	if !filepath.IsAbs(abs) || filepath.Clean(abs) != abs || strings.ContainsRune(abs, 0) {
		return nil, fail.New("invalid_input", fail.ExitUsage, "the path %q is not absolute and clean", abs)
	}
	p := &Place{Abs: abs, Real: abs, Show: show(env, abs)}
	if env.Real != nil {
		p.Real = env.Real(abs)
	}
	base := env.Workspace
	switch {
	case p.Real != abs:
		base = env.Real(temp)
	case !Within(base, abs):
		base = existingFolder(abs)
	}
	rel, err := filepath.Rel(base, p.Real)
	if err != nil {
		return nil, fail.Failed("unreadable", "%s can't be opened: %s", Name(p.Show), err).Because(err)
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, Explain(err, p.Show)
	}
	p.Root, p.Rel = root, rel
	if !isAt(root, base) {
		root.Close()
		return nil, changed(p.Show)
	}
	if err := p.checkLinks(); err != nil {
		root.Close()
		return nil, err
	}
	return p, nil
}

// temp is where the private temp of a session begins.
const temp = "/tmp"

// Close closes the root.
func (p *Place) Close() {
	p.Root.Close()
	for _, m := range p.made {
		m.root.Close()
	}
}

// checkLinks refuses symbolic links on the way to the place and at its end.
// What does not exist yet is no link.
func (p *Place) checkLinks() error {
	for i := range len(p.Rel) + 1 {
		if i < len(p.Rel) && p.Rel[i] != filepath.Separator {
			continue
		}
		st, err := p.Root.Lstat(p.Rel[:i])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return Explain(err, p.Show)
		case st.Mode()&fs.ModeSymlink != 0:
			return changed(p.Show)
		case i < len(p.Rel) && !st.IsDir():
			above := strings.TrimSuffix(p.Abs, p.Rel[i:])
			return fail.Failed("not_a_folder", "%s is not a folder, so there is nothing in it", Name(above))
		}
	}
	return nil
}

// Lstat looks at what is there.
func (p *Place) Lstat() (fs.FileInfo, error) {
	st, err := p.Root.Lstat(p.Rel)
	if err != nil {
		return nil, Explain(err, p.Show)
	}
	return st, nil
}

// OpenFile opens a regular file for reading. Nothing else can block it.
func (p *Place) OpenFile() (*os.File, fs.FileInfo, error) {
	st, err := p.Lstat()
	if err != nil {
		return nil, nil, err
	}
	if err := p.CheckRegular(st); err != nil {
		return nil, nil, err
	}
	f, err := OpenRegular(p.Root, p.Rel, st)
	if err != nil {
		return nil, nil, Explain(err, p.Show)
	}
	return f, st, nil
}

// CheckRegular refuses what is no regular file.
func (p *Place) CheckRegular(st fs.FileInfo) error {
	switch {
	case st.IsDir():
		return fail.Failed("is_folder", "%s is a folder", Name(p.Show)).WithHint("%s", Hint("list_files", "path", p.Abs))
	case st.Mode()&fs.ModeSymlink != 0:
		return changed(p.Show)
	case !st.Mode().IsRegular():
		return fail.Failed("not_a_file", "%s is %s, not a file", Name(p.Show), kindOf(st.Mode()))
	}
	return nil
}

var errChanged = errors.New("it is another file than a moment ago")

// OpenRegular opens what Lstat has seen as a regular file. If something else
// has taken its place since, neither a link is followed nor a pipe waited for.
func OpenRegular(root *os.Root, rel string, seen fs.FileInfo) (*os.File, error) {
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(seen, now) {
		f.Close()
		return nil, errChanged
	}
	return f, nil
}

// existingFolder returns the nearest parent of p that is a folder.
func existingFolder(p string) string {
	for {
		parent := filepath.Dir(p)
		if st, err := os.Lstat(parent); parent == p || err == nil && st.IsDir() {
			return parent
		}
		p = parent
	}
}

// Within reports whether p is dir or below it.
func Within(dir, p string) bool {
	return dir != "" && (p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/"))
}

// show is how results name an absolute path: relative to the workspace in it.
func show(env *tool.Env, abs string) string {
	if !Within(env.Workspace, abs) {
		return abs
	}
	rel, err := filepath.Rel(env.Workspace, abs)
	if err != nil {
		return abs
	}
	return filepath.ToSlash(rel)
}

// Name is a path as it stands in text: quoted where it could be mistaken for
// something else.
func Name(p string) string {
	odd := func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }
	if p == "" || strings.IndexFunc(p, odd) >= 0 {
		return strconv.Quote(p)
	}
	return p
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

func changed(show string) *fail.Error {
	return fail.Conflict("path_changed", "%s leads through a symbolic link that was not there when the call was judged", Name(show))
}

// Explain turns an error of the system into one of the tool.
func Explain(err error, show string) error {
	var known *fail.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fail.NotFound("no_such_file", "%s does not exist", Name(show)).WithHint("%s", Hint("glob_search", "pattern", "**/"+path.Base(show))).Because(err)
	case errors.Is(err, fs.ErrPermission):
		return fail.Failed("unreadable", "%s can't be opened: permission denied", Name(show)).Because(err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fail.New("invalid_input", fail.ExitUsage, "%s: the name is too long", Name(show)).Because(err)
	case errors.Is(err, errChanged), errors.Is(err, syscall.ELOOP):
		return fail.Conflict("path_changed", "%s changed while it was opened", Name(show)).Because(err)
	}
	why := err
	if no := syscall.Errno(0); errors.As(err, &no) {
		why = no // without the path, which may be hostile
	}
	return fail.Failed("io", "%s: %s", Name(show), why).Because(err)
}

// Hint is the command to type next, or the tool's own page where a value is
// not one to type.
func Hint(toolName, field, value string) string {
	if strings.IndexFunc(value, func(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune(`'"\\`, r) }) >= 0 {
		return "kx tool show " + toolName
	}
	return fmt.Sprintf(`kx call %s '{"%s":"%s"}'`, toolName, field, value)
}

// MayRead asks the gate; without an answer the answer is no.
func MayRead(env *tool.Env, abs string) bool { return env.MayRead != nil && env.MayRead(abs) }

// Size is a number of bytes for people.
func Size(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
