package find

import (
	"context"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/place"
)

// maxCandidates bounds the memory of a search to some 100 MB. A tree with more
// files is searched folder by folder.
const maxCandidates = 200_000

// search has glob_search and grep_search.
type search struct {
	lookPath func(string) (string, error)
}

// program finds a helper program, or returns "". One that lies in the
// workspace is none: whoever writes there could choose what it does.
func (s *search) program(env *tool.Env, name string) string {
	p, err := s.lookPath(name)
	if err != nil || place.Within(env.Workspace, p) {
		return ""
	}
	return p
}

// walk finds the candidates below a folder, in the order of their paths: where
// git knows the folder, those that git does not ignore, else all but what is in
// .git. No symbolic link is followed, and each folder and file is asked for
// before it is entered or named.
type walk struct {
	ctx    context.Context
	env    *tool.Env
	git    string            // the path of git, or ""
	want   func(string) bool // whether the file of that name is looked for
	take   func(candidate)
	abs    string          // the folder
	real   string          // for the system
	files  opener          // below it
	folder map[string]bool // whether a folder may be entered
	todo   []string        // paths to look at, the first one last

	taken     int
	skipped   int
	truncated bool
}

// walk hands each candidate to take.
func (s *search) walk(ctx context.Context, env *tool.Env, p *place.Place, dir *os.Root, want func(string) bool, take func(candidate)) (*walk, error) {
	if slices.Contains(strings.Split(p.Abs, "/"), ".git") {
		return nil, fail.New("invalid_input", fail.ExitUsage, "%s: git's own files are not searched", place.Name(p.Show))
	}
	w := &walk{
		ctx: ctx, env: env, git: s.program(env, "git"), want: want, take: take, abs: p.Abs, real: p.Real,
		files: opener{root: dir}, folder: map[string]bool{".": true},
	}
	defer w.files.close()
	if err := w.enter(".", true); err != nil {
		return nil, place.Explain(err, p.Show)
	}
	for last := ""; len(w.todo) > 0 && ctx.Err() == nil && !w.truncated; {
		rel := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		if rel != last { // an unmerged file is in git's list once for each side
			w.look(rel)
		}
		last = rel
	}
	if err := ctx.Err(); err != nil {
		return nil, fail.As(err)
	}
	return w, nil
}

// enter puts what is in a folder on the list. Git is asked at the top, and for
// every work tree below (a submodule, a repository in a folder of many).
func (w *walk) enter(rel string, top bool) error {
	f, err := w.files.root.Open(rel)
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	f.Close()
	if err != nil {
		return err
	}
	repository := slices.Contains(names, ".git")
	if top || repository {
		// A folder that is ignored as a whole, but was asked for, is walked.
		if listed, ok := w.gitFiles(rel); ok && (len(listed) > 0 || repository) {
			names = listed
		}
	}
	before, largest := len(w.todo), ""
	for _, n := range names {
		n = path.Clean(n) // git writes "a/" for a repository that it does not track
		if n == ".git" || !filepath.IsLocal(n) {
			continue
		}
		if rel != "." {
			n = rel + "/" + n
		}
		w.todo, largest = append(w.todo, n), max(largest, n)
	}
	// What is in "a" comes after "a-b", which was on the list before.
	from := sort.Search(before, func(i int) bool { return w.todo[i] < largest })
	slices.SortFunc(w.todo[from:], func(a, b string) int { return strings.Compare(b, a) })
	return nil
}

func (w *walk) look(rel string) {
	if !w.enterable(path.Dir(rel)) {
		return
	}
	st, err := w.files.lstat(rel)
	switch {
	case err != nil: // it has gone, or git knows it from another day
	case st.IsDir():
		if w.enterable(rel) {
			_ = w.enter(rel, false) // a folder that can't be read has no candidates
		}
	case !w.want(rel):
	case !place.MayRead(w.env, path.Join(w.abs, rel)):
		w.skipped++
	case w.taken == maxCandidates:
		w.truncated = true
	default:
		w.taken++
		w.take(candidate{rel, st})
	}
}

// enterable reports whether a folder, and each above it, is one that may be
// read and no symbolic link. One that may not be read counts as skipped, once.
func (w *walk) enterable(rel string) bool {
	ok, known := w.folder[rel]
	if known {
		return ok
	}
	if path.Base(rel) != ".git" && w.enterable(path.Dir(rel)) {
		st, err := w.files.lstat(rel)
		ok = err == nil && st.IsDir()
		if ok && !place.MayRead(w.env, path.Join(w.abs, rel)) {
			w.skipped++
			ok = false
		}
	}
	w.folder[rel] = ok
	return ok
}

// gitEnv keeps git to the repository: no configuration of the machine or the
// user, no lock, no fetch of what a partial clone lacks.
var gitEnv = []string{
	"LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_OPTIONAL_LOCKS=0",
	"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
}

// gitFiles returns the files below a folder that git tracks or does not
// ignore, and whether git knows the folder at all.
func (w *walk) gitFiles(rel string) ([]string, bool) {
	if w.git == "" {
		return nil, false
	}
	cmd := exec.CommandContext(w.ctx, w.git, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
		"ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = path.Join(w.real, rel)
	cmd.Env = gitEnv
	cmd.WaitDelay = time.Second // what git may have started does not hold us up
	out, err := cmd.Output()
	if err != nil {
		return nil, false
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), true
}
