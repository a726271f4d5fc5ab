package file

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/policy/patch"
)

// writer has the tools that change files. Calls of one batch that change the same
// file do so one after the other.
type writer struct{ mu sync.Mutex }

// target is the file that a call is about to replace.
type target struct {
	*place.Place
	st    fs.FileInfo // nil where there is none yet
	like  fs.FileInfo // the file whose owner and mode it gets, nil for those of a new one
	exec  patch.Exec  // what becomes of the permission to run it
	notes []string
}

// newTarget looks at what is there, and refuses what a file can't replace.
func newTarget(p *place.Place) (*target, error) {
	st, err := p.Lstat()
	if errors.Is(err, fs.ErrNotExist) {
		return &target{Place: p}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := p.CheckRegular(st); err != nil {
		return nil, err
	}
	if err := checkWritable(p, st); err != nil {
		return nil, err
	}
	t := &target{Place: p, st: st, like: st}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Nlink > 1 {
		t.notes = append(t.notes, fmt.Sprintf("the file had %d names (hard links); the others keep the old content", sys.Nlink))
	}
	return t, nil
}

// checkWritable refuses a file that its permissions protect. A rename would
// not ask them.
func checkWritable(p *place.Place, st fs.FileInfo) error {
	protected := st.Mode().Perm()&0o222 == 0 // this holds for the superuser too
	if !protected {
		f, err := p.Root.OpenFile(p.Rel, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			f.Close()
		}
		protected = errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
	}
	if protected {
		return fail.Failed("read_only", "%s is read-only (mode %04o): it was not changed", place.Name(p.Show), st.Mode().Perm())
	}
	return nil
}

// old is what a target holds. Content is there only up to place.MaxWhole.
type old struct {
	content []byte
	sha256  string
	lines   int
}

func (t *target) load(ctx context.Context) (o old, err error) {
	f, err := place.OpenRegular(t.Root, t.Rel, t.st)
	if err != nil {
		return o, place.Explain(err, t.Show)
	}
	defer f.Close()
	h := sha256.New()
	buf := make([]byte, 256<<10)
	last := byte('\n')
	for err == nil {
		if ctx.Err() != nil {
			return o, fail.As(ctx.Err())
		}
		var n int
		n, err = f.Read(buf)
		h.Write(buf[:n])
		o.lines += bytes.Count(buf[:n], []byte("\n"))
		if n > 0 {
			last = buf[n-1]
		}
		if t.st.Size() <= place.MaxWhole {
			o.content = append(o.content, buf[:n]...)
		}
	}
	if !errors.Is(err, io.EOF) {
		return o, place.Explain(err, t.Show)
	}
	if last != '\n' {
		o.lines++
	}
	o.sha256 = hex.EncodeToString(h.Sum(nil))
	return o, nil
}

// replace puts content in the place of the file, whole or not at all: a temp
// file beside it, on the disk before it takes the name. The mode stays, less
// set-uid and set-gid, which a change takes from any file.
func (t *target) replace(content []byte) error {
	temp, err := t.stage(content)
	if err != nil {
		return t.unwritten(err)
	}
	if err = t.unchanged(); err == nil {
		err = t.Root.Rename(temp, t.Rel)
	}
	if err != nil {
		_ = t.Root.Remove(temp)
		return t.unwritten(err)
	}
	t.settle()
	return nil
}

// stage writes content to a file beside the target that is ready to take its name,
// and returns what it is called. Folders that are missing are made.
func (t *target) stage(content []byte) (temp string, err error) {
	if err := t.MakeFolders(); err != nil {
		return "", err
	}
	mode := fs.FileMode(0o644) // less the umask
	switch {
	case t.like != nil:
		mode = 0o600 // until it has the mode of the old one
	case t.exec == patch.Give:
		mode = 0o755
	}
	temp = t.beside()
	f, err := t.Root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return "", err
	}
	if err := t.fill(f, content); err != nil {
		_ = t.Root.Remove(temp)
		return "", err
	}
	return temp, nil
}

// beside is a name in the folder of the target that nobody else has.
func (t *target) beside() string {
	return filepath.Join(filepath.Dir(t.Rel), ".kx-"+rand.Text()[:12]+".tmp")
}

// settle sees to it that the names in the folder are on the disk, too.
func (t *target) settle() {
	if d, err := t.Root.Open(filepath.Dir(t.Rel)); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

// fill writes all that a file needs before it takes the name of the target.
func (t *target) fill(f *os.File, content []byte) error {
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := t.keepOwner(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// unwritten explains why there was no replacement.
func (t *target) unwritten(err error) error {
	e := fail.As(place.Explain(err, t.Show))
	if e.Code != "io" {
		return e
	}
	return fail.Failed("not_written", "not written, and left as it was: %s", e.Msg).Because(err)
}

// keepOwner gives f the owner and the mode of the file that it replaces.
func (t *target) keepOwner(f *os.File) error {
	if t.like == nil {
		return nil
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	was, ok1 := t.like.Sys().(*syscall.Stat_t)
	is, ok2 := now.Sys().(*syscall.Stat_t)
	if ok1 && ok2 && (was.Uid != is.Uid || was.Gid != is.Gid) && f.Chown(int(was.Uid), int(was.Gid)) != nil {
		t.notes = append(t.notes, "the file has another owner or group now")
	}
	return f.Chmod(t.perm())
}

// perm is the mode that the file gets which takes the place of another.
func (t *target) perm() fs.FileMode {
	perm := t.like.Mode().Perm()
	switch t.exec {
	case patch.Give:
		perm |= (perm & 0o444) >> 2 // whoever may read it may run it
	case patch.Take:
		perm &^= 0o111
	}
	return perm
}

// unchanged refuses to write over what another process has just written.
func (t *target) unchanged() error {
	now, err := t.Root.Lstat(t.Rel)
	switch {
	case t.st == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case t.st != nil && err == nil && os.SameFile(now, t.st) && now.Size() == t.st.Size() && now.ModTime().Equal(t.st.ModTime()):
		return nil
	}
	return fail.Conflict("changed_meanwhile", "%s was changed by somebody else meanwhile: it was left alone", place.Name(t.Show)).
		WithHint("%s", place.Hint("read_file", "path", t.Abs))
}

// Diff compares two contents: a unified diff, and its added and removed lines.
func Diff(before, after []byte) (text string, added, removed int) {
	const header = 3 // "diff", "---" and "+++" name the two
	parts := strings.SplitAfterN(string(diff.Diff("before", before, "after", after)), "\n", header+1)
	if len(parts) <= header {
		return "", 0, 0
	}
	text = parts[header]
	for line := range strings.Lines(text) {
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return text, added, removed
}
