//go:build !race

package find // the race detector slows what is ours, not rg

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/wire"
)

// speedTree makes what a project looks like: the sources of Go's own packages
// in a git repository, a folder that it ignores, a few large files, some that
// are no text. It returns the folder and how many files and bytes are in it.
func speedTree(tb testing.TB) (dir string, files int, size int64) {
	tb.Helper()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	must(err)
	src, err := filepath.EvalSymlinks(filepath.Join(strings.TrimSpace(string(out)), "src"))
	must(err)
	dir, err = filepath.EvalSymlinks(tb.TempDir())
	must(err)
	put := func(rel string, content []byte) {
		p := filepath.Join(dir, rel)
		must(os.MkdirAll(filepath.Dir(p), 0o755))
		must(os.WriteFile(p, content, 0o644))
		files++
		size += int64(len(content))
	}
	for _, pkg := range []string{"cmd/compile", "crypto", "encoding", "internal", "net", "os", "runtime"} {
		must(filepath.WalkDir(filepath.Join(src, pkg), func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			rel, err := filepath.Rel(src, p)
			if err != nil {
				return err
			}
			content, err := os.ReadFile(p)
			put(rel, content)
			return err
		}))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 4 {
		var log strings.Builder
		for n := 0; log.Len() < 6<<20; n++ {
			fmt.Fprintf(&log, "12:%02d:%02d request %d took %d ms: status %d\n", n/60%60, n%60, n, r.IntN(900), 200+r.IntN(300))
		}
		put(fmt.Sprintf("logs/%d.log", i), []byte(log.String()))
	}
	for i := range 40 {
		b := make([]byte, 100<<10)
		for j := range b {
			b[j] = byte(r.Uint32())
		}
		put(fmt.Sprintf("images/%d.png", i), b)
		put(fmt.Sprintf("ignored/%d.go", i), []byte("package ignored // zyzzyva\n"))
	}
	put(".gitignore", []byte("/ignored/\n"))
	put("net/odd.go", []byte("package net // zyzzyva, Zyzzyva\n"))
	cmd := exec.Command("git", "-c", "init.defaultBranch=main", "init", "-q", dir)
	cmd.Env = gitEnv[:4]
	must(cmd.Run())
	return dir, files, size
}

// speedQueries are literals, rare and frequent, in one case and in any, and
// expressions that hold one.
var speedQueries = []grepInput{
	{Pattern: "zyzzyva"},
	{Pattern: "syscallconn", IgnoreCase: true},
	{Pattern: "nonesuchthing", IgnoreCase: true},
	{Pattern: "return nil, err", MaxResults: maxResults},
	{Pattern: "zyzzyva", IgnoreCase: true},
	{Pattern: "SyscallConn"},
	{Pattern: "error", IgnoreCase: true, MaxResults: maxResults},
	{Pattern: `func\s+\w*Conn\(`},
	{Pattern: "zyzzyva|nonesuch|qqq"},
}

func only(program ...string) *search {
	return &search{lookPath: func(name string) (string, error) {
		for _, p := range program {
			if p == name {
				return exec.LookPath(p)
			}
		}
		return "", exec.ErrNotFound
	}}
}

// engineRun searches files that were found before, so that the engines alone
// are compared.
func engineRun(tb testing.TB, env *tool.Env, in grepInput, s *search) func() wire.Output {
	tb.Helper()
	if in.MaxResults == 0 {
		in.MaxResults = defaultResults
	}
	q, err := in.query()
	if err != nil {
		tb.Fatal(err)
	}
	p, err := place.Open(env, env.Cwd)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	if err := q.open(p); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { q.dir.Close() })
	var files []candidate
	w, err := only("git").candidates(context.Background(), env, p, "", q, func(c candidate) { files = append(files, c) })
	if err != nil {
		tb.Fatal(err)
	}
	return func() wire.Output {
		work := q.begin(context.Background(), s.engines(env, q))
		for _, c := range files {
			work.add(c)
		}
		found, err := work.end()
		if err != nil {
			tb.Fatal(err)
		}
		return grepOutput(q, found, w, 0)
	}
}

func BenchmarkGrep(b *testing.B) {
	dir, files, size := speedTree(b)
	b.Logf("%d files, %d MB", files, size>>20)
	env := &tool.Env{Workspace: dir, Cwd: dir, MayRead: func(string) bool { return true }}
	for _, in := range speedQueries {
		name := in.Pattern
		if in.IgnoreCase {
			name = "(?i)" + name
		}
		b.Run(name, func(b *testing.B) {
			takeTurns(b, engineRun(b, env, in, only()), engineRun(b, env, in, only("rg")))
		})
	}
	b.Run("whole call", func(b *testing.B) {
		run := func(s *search) func() wire.Output {
			return func() wire.Output {
				out, err := s.grep(context.Background(), env, json.RawMessage(`{"pattern":"zyzzyva"}`))
				if err != nil {
					b.Fatal(err)
				}
				return out
			}
		}
		takeTurns(b, run(only("git")), run(only("git", "rg")))
	})
}

// takeTurns reports how long our own engine takes beside rg: one after the
// other, so that what else happens on the machine happens to both.
func takeTurns(b *testing.B, own, rg func() wire.Output) {
	var took [2]time.Duration
	for b.Loop() {
		for i, run := range []func() wire.Output{own, rg} {
			start := time.Now()
			run()
			took[i] += time.Since(start)
		}
	}
	for i, unit := range []string{"own-ns/op", "rg-ns/op"} {
		b.ReportMetric(float64(took[i].Nanoseconds())/float64(b.N), unit)
	}
	b.ReportMetric(float64(took[0])/float64(took[1]), "own/rg")
}

// slowest is how many times as long as with rg a search for a literal may take
// without it. The aim is 2; the rest is for busy machines.
const slowest = 3

func TestGrepIsNotSlowWithoutRg(t *testing.T) {
	dir, files, size := speedTree(t)
	t.Logf("%d files, %d MB", files, size>>20)
	env := &tool.Env{Workspace: dir, Cwd: dir, MayRead: func(string) bool { return true }}
	for _, in := range speedQueries[:4] {
		own, rg := engineRun(t, env, in, only()), engineRun(t, env, in, only("rg"))
		if !reflect.DeepEqual(rg(), own()) { // and both are warm
			t.Errorf("%+v: with rg it finds something else", in)
		}
		best := [2]time.Duration{time.Hour, time.Hour}
		for range 3 {
			for i, run := range []func() wire.Output{own, rg} {
				start := time.Now()
				run()
				best[i] = min(best[i], time.Since(start))
			}
		}
		ratio := float64(best[0]) / float64(best[1])
		t.Logf("%q (any case: %v): %v, with rg %v: %.2f times", in.Pattern, in.IgnoreCase, best[0], best[1], ratio)
		if ratio > slowest {
			t.Errorf("%q (any case: %v) takes %v, with rg %v", in.Pattern, in.IgnoreCase, best[0], best[1])
		}
	}
}
