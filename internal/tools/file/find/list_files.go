package find

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/wire"
)

// maxEntries is what a listing names; more than that nobody reads.
const maxEntries = 1000

const listSchema = `{"type":"object","additionalProperties":false,"properties":{
"path":{"type":"string","minLength":1,"description":"the folder; default: the current folder"}}}`

// entry is one file of a listing.
type entry struct {
	Path string `json:"path"`
	Type string `json:"type"`
	Size int64  `json:"size"`
}

func newEntry(show string, st fs.FileInfo) entry {
	e := entry{Path: show, Type: "other"}
	switch {
	case st.Mode().IsRegular():
		e.Type, e.Size = "file", st.Size()
	case st.IsDir():
		e.Type = "dir"
	case st.Mode()&fs.ModeSymlink != 0:
		e.Type = "symlink"
	}
	return e
}

func (e entry) String() string {
	switch e.Type {
	case "dir":
		return place.Name(e.Path) + "/"
	case "symlink":
		return place.Name(e.Path) + "  (symbolic link)"
	case "other":
		return place.Name(e.Path) + "  (special file)"
	}
	return place.Name(e.Path) + "  " + place.Size(e.Size)
}

func listFiles(ctx context.Context, env *tool.Env, input json.RawMessage) (wire.Output, error) {
	var in struct {
		Path string `json:"path"`
	}
	if err := tool.Decode("list_files", input, &in); err != nil {
		return nil, err
	}
	if in.Path == "" {
		in.Path = env.Cwd
	}
	p, err := place.Open(env, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	names, err := namesIn(p)
	if err != nil {
		return nil, err
	}
	found := list{entries: []entry{}}
	for _, n := range names {
		if ctx.Err() != nil {
			return nil, fail.As(ctx.Err())
		}
		if len(found.entries) == maxEntries {
			found.truncated = true
			break
		}
		if !place.MayRead(env, path.Join(p.Abs, n)) {
			found.skipped++
			continue
		}
		st, err := p.Root.Lstat(path.Join(p.Rel, n))
		if err != nil {
			continue // it has gone meanwhile
		}
		found.entries = append(found.entries, newEntry(path.Join(p.Show, n), st))
	}
	return found.output(place.Name(p.Show)), nil
}

// namesIn returns the sorted names in a place that must be a folder.
func namesIn(p *place.Place) ([]string, error) {
	if err := checkFolder(p); err != nil {
		return nil, err
	}
	f, err := p.Root.Open(p.Rel)
	if err != nil {
		return nil, place.Explain(err, p.Show)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, place.Explain(err, p.Show)
	}
	slices.Sort(names)
	return names, nil
}

func checkFolder(p *place.Place) error {
	st, err := p.Lstat()
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return fail.Failed("not_a_folder", "%s is not a folder", place.Name(p.Show)).WithHint("%s", place.Hint("read_file", "path", p.Abs))
	}
	return nil
}

// list is what a listing or a glob has found.
type list struct {
	entries   []entry
	skipped   int
	truncated bool
}

func (l list) output(where string) wire.Output {
	var b strings.Builder
	for _, e := range l.entries {
		fmt.Fprintln(&b, e)
	}
	if len(l.entries) == 0 {
		fmt.Fprintf(&b, "[nothing in %s]\n", where)
	}
	if l.truncated {
		fmt.Fprintf(&b, "[only the first %d are shown]\n", len(l.entries))
	}
	b.WriteString(skippedNote(l.skipped))
	return wire.Output{
		"text": strings.TrimSuffix(b.String(), "\n"), "entries": l.entries, "skipped": l.skipped, "truncated": l.truncated,
	}
}

func skippedNote(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("[%d skipped: policy does not allow to read them]\n", n)
}
