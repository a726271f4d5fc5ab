package prompt

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/record/secret"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/wire"
)

// reader opens files as far as policy lets read_file.
type reader struct {
	judge *judge.Judge
	home  string
	hide  func([]byte) []byte // takes known secrets out; nil where nothing is read
}

// file is an open file, or a folder.
type file struct {
	*os.File
	path string // canonical
	show string
	size int64
	dir  bool
	hide func([]byte) []byte
}

// locate returns the canonical path of a name and what is decided of reading it: the
// path that is opened is the one that was judged.
func (r *reader) locate(name string) (string, *wire.Decision, error) {
	j := r.judge.Once()
	input, err := wire.Marshal(map[string]string{"path": name})
	if err != nil {
		return "", nil, err
	}
	whole, err := j.Canonical("read_file", input)
	if err != nil {
		return "", nil, err
	}
	var in struct{ Path string }
	err = json.Unmarshal(whole, &in)
	return in.Path, j.Explain("read_file", input, j.Mode, true), err
}

// open opens a file or folder for reading. Where a person named it on the command line
// (granted), what would be asked is answered; what is denied stays so.
func (r *reader) open(name string, granted bool) (*file, error) {
	where, d, err := r.locate(name)
	if err != nil {
		return nil, err
	}
	switch {
	case !r.judge.Scope.Sees("read_file"):
		return nil, fail.Denied("scope", "the session does not have read_file")
	case d.Guard != nil:
		return nil, fail.Denied("guarded", "it is protected: %s", d.Guard.Reason)
	case d.Decision == wire.Deny && (!granted || d.BaseDecision == wire.Deny):
		return nil, fail.Denied("denied", "reading it is denied: %s", d.Reason)
	case d.Decision == wire.Ask && !granted:
		return nil, fail.Denied("ask", "reading it needs a person's answer: read_file asks for it")
	}
	env := &tool.Env{Workspace: r.judge.Workspace, Cwd: r.judge.Cwd, Home: r.home}
	p, err := place.File(env, where)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	st, err := p.Lstat()
	if err != nil {
		return nil, err
	}
	f := &file{path: where, show: p.Show, size: st.Size(), hide: r.hide}
	if st.IsDir() {
		f.dir = true
		if f.File, err = p.Root.Open(p.Rel); err != nil {
			return nil, place.Explain(err, p.Show)
		}
		return f, nil
	}
	if f.File, st, err = p.OpenFile(); err != nil {
		return nil, err
	}
	f.size = st.Size()
	return f, nil
}

// Close closes the file.
func (f *file) Close() {
	if f.File != nil {
		f.File.Close()
	}
}

// behind is how much is read behind the end of what is kept: half a secret is not
// known as one. In a URL a byte takes three, in JSON up to six.
const behind = 6 * secret.MaxValue

// text returns the first bytes of a file that is text, without known secrets.
func (f *file) text(most int) ([]byte, error) {
	if f.dir {
		return nil, fail.Failed("is_folder", "it is a folder")
	}
	body, err := io.ReadAll(io.LimitReader(f, int64(most+behind)))
	if err != nil {
		return nil, place.Explain(err, f.show)
	}
	if err := place.CheckText(body[:min(len(body), place.SniffLen)], f.size, f.show); err != nil {
		return nil, err
	}
	body = bytes.TrimPrefix(body, place.BOM)
	if f.hide != nil {
		body = f.hide(body)
	}
	return []byte(place.Readable(string(body[:min(len(body), most)]))), nil
}

// missing reports whether an error says that there is no such file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || fail.Exit(err) == fail.ExitNotFound
}

// reason words an error for a note that names the file itself.
func reason(err error, name string) string {
	msg := fail.As(err).Msg
	if rest, ok := strings.CutPrefix(msg, place.Name(name)+" "); ok {
		return "it " + rest
	}
	return msg
}

// lines cuts text behind the last line that fits, or in a line if that is the first.
func lines(text []byte, most int) []byte {
	if len(text) <= most {
		return text
	}
	if i := bytes.LastIndexByte(text[:most], '\n'); i > 0 {
		return text[:i+1]
	}
	head, _ := place.CutRunes(text, most)
	return []byte(strings.ToValidUTF8(string(head), ""))
}

// mayRead is the test that a listing of a folder asks for every name.
func (r *reader) mayRead(dir string) func(path string) bool {
	j := r.judge.Once()
	input, err := wire.Marshal(map[string]string{"path": dir})
	if err != nil {
		return func(string) bool { return false }
	}
	return j.MayRead("list_files", j.Explain("list_files", input, j.Mode, true))
}
