package file

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/patch"
)

// raceCalls are how many calls of each tool come to their end beside each swapper,
// in how many rounds at most: others are refused because of what is swapped.
// With KX_STRESS there are many more.
func raceCalls() (calls, rounds int) {
	if os.Getenv("KX_STRESS") != "" {
		return 200, 10_000
	}
	return 10, 500
}

// pause is after how many swaps one call goes without.
const pause = 8

var raced = []string{"read_file", "write_file", "edit_file", "apply_patch"}

// Somebody swaps files and folders for links while calls run. The calls are allowed
// in sub/ only, as a rule for sub/** would: nothing outside of it may be read or
// written, whatever stands in its place at whatever moment.
func TestRaces(t *testing.T) {
	for _, c := range []struct {
		what string
		path string // what is swapped, below the workspace's parent
		to   string // what a link there leads to, "" for none
		hard bool   // it is a hard link
	}{
		{"the file, for a link to one outside", "ws/sub/d/f", "out/d/f", false},
		{"the file, for a link to one inside", "ws/sub/d/f", "ws/other/d/f", false},
		{"the file, for a hard link", "ws/sub/d/f", "out/d/f", true},
		{"its folder, for a link outside", "ws/sub/d", "out/d", false},
		{"its folder, for a link inside", "ws/sub/d", "ws/other/d", false},
		{"a folder above, for a link outside", "ws/sub", "out", false},
		{"a folder above, for a link inside", "ws/sub", "ws/other", false},
		{"a folder above, for another folder", "ws/sub", "", false},
		{"the workspace, for a link", "ws", "trap", false},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			r := newRace(t)
			r.mayShow = c.hard // what has a name in the workspace may be read there
			r.swapping(r.at(c.path), c.to, c.hard, func() {
				calls, rounds := raceCalls()
				for i := 0; i < rounds && slices.ContainsFunc(raced, func(name string) bool { return r.done[name] < calls }); i++ {
					r.calls(i)
				}
			})
			r.check()
		})
	}
}

type race struct {
	*workspace
	root    string
	mayShow bool
	made    atomic.Int64   // calls, and those that the gate does not allow
	done    map[string]int // those of each tool that came to their end
	swaps   int
}

const canary = "CANARY"

func newRace(t *testing.T) *race {
	w := newWorkspace(t)
	r := &race{workspace: w, root: w.dir, done: map[string]int{}}
	for _, f := range []string{"ws/other/d/f", "ws/other/d/g", "out/d/f", "out/d/g", "trap/sub/d/f", "trap/sub/d/g", "ws/other/sub/d/f"} {
		w.put(f, canary+"\n", 0o644)
	}
	w.put("ws/sub/d/f", "mine\n", 0o644)
	w.put("ws/sub/d/g", "mine\n", 0o644)
	w.dir = filepath.Join(w.dir, "ws")
	return r
}

func (r *race) at(rel string) string { return filepath.Join(r.root, rel) }

// swapping runs f while what stands at a path is moved away and comes back, with a
// link in its place in between.
func (r *race) swapping(path, to string, hard bool, f func()) {
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		aside := path + ".aside"
		for {
			select {
			case <-stop:
				return
			default:
			}
			if os.Rename(path, aside) != nil {
				continue
			}
			switch {
			case to == "":
				_ = os.Mkdir(path, 0o755)
			case hard:
				_ = os.Link(r.at(to), path)
			default:
				_ = os.Symlink(r.at(to), path)
			}
			_ = os.Remove(path)
			for os.Rename(aside, path) != nil {
				_ = os.RemoveAll(path) // a call has made it anew
			}
			if r.swaps++; r.swaps%pause == 0 { // let one call come to its end
				for n := r.made.Load() + 2; r.made.Load() < n; runtime.Gosched() {
					select {
					case <-stop:
						return
					default:
					}
				}
			}
		}
	})
	f()
	close(stop)
	swapper.Wait()
}

// calls makes a call of each tool, as the gate would.
func (r *race) calls(i int) {
	section := "*** Add File: sub/d/new/n\n+n\n"
	if i%2 == 1 {
		section = "*** Delete File: sub/d/new/n\n"
	}
	for name, input := range map[string]map[string]any{
		"read_file":   {"path": "sub/d/f"},
		"write_file":  {"path": "sub/d/f", "content": fmt.Sprintf("mine %d\n", i)},
		"edit_file":   {"path": "sub/d/g", "old_string": "\n", "new_string": "!\n", "replace_all": true},
		"apply_patch": {"patch": "*** Begin Patch\n*** Update File: sub/d/f\n@@ -0,0 +1 @@\n+mine\n" + section + "*** End Patch"},
	} {
		env := policy.Env{Workspace: r.dir, Cwd: r.dir, Resolver: judge.Files{}}
		allowed := func(path string) (string, bool) {
			where, err := env.Locate(env.Cwd, path)
			if err != nil || !strings.HasPrefix(where.Resolved, r.at("ws/sub/")) {
				return "", false
			}
			return where.Resolved, true
		}
		to, ok := toolEnv(r.workspace), true
		if text, is := input["patch"].(string); is {
			names, _ := patch.Names(text)
			to.Judged = map[string]string{}
			for _, n := range names {
				abs, may := allowed(n)
				to.Judged[n] = abs
				ok = ok && may
			}
		} else {
			input["path"], ok = allowed(input["path"].(string))
		}
		r.made.Add(1)
		if !ok {
			continue // the gate says no
		}
		raw, err := json.Marshal(input)
		r.must(err)
		out, err := r.reg.Get(name).Run(context.Background(), to, raw)
		if err == nil {
			r.done[name]++
		}
		if shown := fmt.Sprint(out, err); strings.Contains(shown, canary) && !r.mayShow {
			r.t.Errorf("%s shows %s", name, shown)
		}
	}
}

// check looks at what must be as it was.
func (r *race) check() {
	r.t.Helper()
	for _, dir := range []string{"ws/other", "out", "trap"} {
		w := &workspace{t: r.t, dir: r.at(dir)}
		for name, is := range w.tree() {
			if is != "folder" && is != "644 "+canary+"\n" {
				r.t.Errorf("%s/%s is %q", dir, name, is)
			}
		}
	}
	for _, name := range raced {
		if r.done[name] == 0 {
			r.t.Errorf("no call of %s came to its end: %v", name, r.done)
		}
	}
	r.t.Logf("%d calls, %d swaps; came to their end: %v", r.made.Load(), r.swaps, r.done)
}
