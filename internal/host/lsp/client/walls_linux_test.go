package client

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/base/lineage"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/record/scratch"
	"github.com/kxtools/kx/internal/record/state"
)

// walled puts the server behind the walls that this machine has; left counts how often
// they were given back, broken how often they could not be built.
func walled(t *testing.T, opt Options) (walls Options, left, broken *int) {
	t.Helper()
	home := t.TempDir()
	st, err := state.Open(filepath.Join(home, "state"))
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox.Sandbox{
		Dirs:    paths.Dirs{UID: os.Getuid(), Home: home, State: st.Dir(), Config: filepath.Join(home, "config"), Runtime: filepath.Join(home, "run")},
		Scratch: scratch.New(st, time.Now), Passwd: func() string { return home }, Boot: lineage.Boot,
		// The folder of the server stays in sight.
		Getenv: func(name string) string { return map[string]string{"PATH": filepath.Dir(opt.Argv[0])}[name] },
	}
	if opt.Cell, err = s.Confine(sandbox.Place{Session: "s", Workspace: opt.Root}, sandbox.ReadOnly, opt.Argv, opt.Dir); err != nil {
		t.Fatal(err)
	}
	left, broken = new(int), new(int)
	leave := opt.Cell.Leave
	opt.Cell.Leave = func() []string { *left++; return leave() }
	opt.Cell.Broken = func() { *broken++ }
	return opt, left, broken
}

// Behind walls it is the same conversation, and nothing is left of it either.
func TestWalls(t *testing.T) {
	opt := options(t, "stays", "child")
	opt.Grace = 50 * time.Millisecond
	opt, gone, broken := walled(t, opt)
	before := children(t)
	c := start(t, opt)
	mustHover(t, c)
	if left := c.Close(); left != nil || *gone != 1 || *broken != 0 {
		t.Errorf("it left %v, the walls were left %d times, broken %d times", left, *gone, *broken)
	}
	if after := children(t); after > before {
		t.Errorf("%d children more", after-before)
	}
}

// What is killed from outside has ended, with a reason, and is cleaned up.
func TestKilled(t *testing.T) {
	for name, prepare := range map[string]func(Options) Options{
		"bare":   func(o Options) Options { return o },
		"walled": func(o Options) Options { o, _, _ = walled(t, o); return o },
	} {
		before := children(t)
		c := start(t, prepare(options(t, "child")))
		mustHover(t, c)
		if err := syscall.Kill(c.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		select {
		case <-c.Done():
		case <-time.After(patience):
			t.Fatalf("%s: it lives", name)
		}
		if _, err := hover(t, c); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "fakelsp ended (signal: killed)") {
			t.Errorf("%s: %v", name, err)
		}
		if after := children(t); after > before {
			t.Errorf("%s: %d children more", name, after-before)
		}
	}
}

// Walls that can't be built are said to be broken.
func TestBrokenWalls(t *testing.T) {
	opt, gone, broken := walled(t, options(t))
	if opt.Cell.Plan.Kind == jail.None {
		opt.Cell.Plan.Kind = jail.Landlock
	}
	opt.Cell.Plan.Argv = []string{"/nonesuch/server"}
	_, err := Start(within(t), opt)
	if err == nil || !strings.Contains(err.Error(), "no such file or directory") || *gone != 1 || *broken != 1 {
		t.Errorf("%v, the walls were left %d times, broken %d times", err, *gone, *broken)
	}
}
