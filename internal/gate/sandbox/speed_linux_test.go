package sandbox_test

import (
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/base/lineage"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/record/scratch"
	"github.com/kxtools/kx/internal/record/state"
)

// maxWalls is what the walls may add to a command: nobody is to notice them.
const maxWalls = 6 * time.Millisecond

// maxTimes is the same as a multiple of what bare namespaces add, which a slow
// machine slows down, too.
const maxTimes = 8.0

// A round takes the median of a few commands of each kind, by turns. What else
// this machine does makes the walls slower than what has none, so a round that is
// over is measured again: one of these falls into a moment of quiet. -v reports
// the median of speedReport commands.
const (
	speedRuns   = 9
	speedRounds = 30
	speedReport = 50
)

// A command behind full walls, in a repository and with a cache laid over, takes
// hardly longer than without. -v also shows it with four caches.
func TestSpeed(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures for seconds")
	}
	home, err := os.MkdirTemp("", "kx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = filepath.WalkDir(home, func(path string, d fs.DirEntry, _ error) error { // overlayfs makes folders that nobody may read
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
		os.RemoveAll(home)
	})
	work := filepath.Join(home, "work")
	for _, dir := range []string{"work/.git/hooks", "work/.git/objects", ".cache", ".ssh", ".aws", ".config/gh"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"work/.git/HEAD", "work/.git/config", ".bash_history"} {
		if err := os.WriteFile(filepath.Join(home, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st, err := state.Open(filepath.Join(home, "state"))
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox.Sandbox{
		Dirs:    paths.Dirs{UID: os.Getuid(), Home: home, State: st.Dir(), Config: filepath.Join(home, "config"), Runtime: filepath.Join(home, "run")},
		Scratch: scratch.New(st, time.Now), Getenv: func(string) string { return "" }, Passwd: func() string { return "" }, Boot: lineage.Boot,
	}
	if w := s.Walls(); w.Kind != jail.Full {
		if w.Why == "" || w.Hint == "" || s.Label(sandbox.Default) == sandbox.Default.Name {
			t.Errorf("without full walls it says %+v", w)
		}
		return // half of them are as fast as it gets
	}
	argv := []string{"/bin/bash", "--noprofile", "--norc", "-c", "true"}
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + home}
	walled := func() {
		cell, err := s.Confine(sandbox.Place{Session: "s", Workspace: work}, sandbox.Default, argv, work)
		if err != nil {
			t.Fatal(err)
		}
		res, err := proc.Run(t.Context(), proc.Spec{Argv: argv, Dir: work, Env: proc.With(env, cell.Env), Jail: cell.Plan})
		if notes := cell.Leave(); err != nil || res.ExitCode != 0 || len(notes) > 0 {
			t.Fatalf("%v, %+v, %q", err, res, notes)
		}
	}
	outside := func(argv ...string) func() {
		return func() {
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Dir, cmd.Env = work, env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%q: %v %s", argv, err, out)
			}
		}
	}
	kinds := map[string]func(){"plain": outside(argv...), "walled": walled}
	kinds["namespaces"] = outside(append([]string{"unshare", "--user", "--map-current-user", "--mount", "--pid", "--ipc", "--fork", "--mount-proc"}, argv...)...)
	if bwrap, err := exec.LookPath("bwrap"); err == nil {
		line := []string{bwrap, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"}
		line = append(line, "--bind", work, work, "--ro-bind", filepath.Join(work, ".git/hooks"), filepath.Join(work, ".git/hooks"))
		for _, dir := range []string{".ssh", ".aws", ".config/gh", "state", "config"} {
			line = append(line, "--tmpfs", filepath.Join(home, dir))
		}
		kinds["bwrap"] = outside(append(line, argv...)...)
	}
	best, times := time.Duration(math.MaxInt64), math.Inf(1)
	for round := 0; round < speedRounds && best > maxWalls && times > maxTimes; round++ {
		median := measure(kinds, speedRuns)
		walls, bare := median["walled"]-median["plain"], median["namespaces"]-median["plain"]
		best, times = min(best, walls), min(times, float64(walls)/float64(max(bare, time.Microsecond)))
	}
	if best > maxWalls && times > maxTimes {
		t.Errorf("the walls add %v, allowed are %v; %.1f times what bare namespaces add, allowed are %v", best, maxWalls, times, maxTimes)
	}
	if !testing.Verbose() {
		return
	}
	t.Logf("with one cache: %v", measure(kinds, speedReport))
	for _, dir := range []string{".npm", "go/pkg", ".cargo"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("with four caches: %v", measure(kinds, speedReport))
}

// measure runs each kind by turns and returns the median times.
func measure(kinds map[string]func(), runs int) map[string]time.Duration {
	times := map[string][]time.Duration{}
	for range runs {
		for name, run := range kinds {
			begin := time.Now()
			run()
			times[name] = append(times[name], time.Since(begin))
		}
	}
	median := map[string]time.Duration{}
	for name, list := range times {
		slices.Sort(list)
		median[name] = list[len(list)/2].Round(10 * time.Microsecond)
	}
	return median
}
