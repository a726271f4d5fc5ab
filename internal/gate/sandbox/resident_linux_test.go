package sandbox

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/base/lineage"
	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/record/scratch"
)

// probe is a bash behind the walls of a resident, which does a line after the other.
type probe struct {
	t    *testing.T
	cell *Cell
	cmd  *exec.Cmd
	out  *bufio.Reader
	in   *os.File
}

func (w *world) probe() *probe {
	w.t.Helper()
	argv := []string{"/bin/bash", "--noprofile", "--norc"}
	cell, err := w.Resident(w.at, "probe", argv, w.at.Workspace)
	if err != nil {
		w.t.Fatal(err)
	}
	inTheirs, in, err1 := os.Pipe()
	out, outTheirs, err2 := os.Pipe()
	if err1 != nil || err2 != nil {
		w.t.Fatal(err1, err2)
	}
	s := &probe{t: w.t, cell: cell, out: bufio.NewReader(out), in: in}
	s.cmd = &exec.Cmd{Env: append([]string{"PATH=/usr/bin:/bin", "HOME=" + w.Dirs.Home}, cell.Env...), Stdin: inTheirs, Stdout: outTheirs, Stderr: outTheirs}
	child, err := proc.Start(s.cmd, cell.Plan)
	inTheirs.Close()
	outTheirs.Close()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		in.Close()
		child.End()
		_ = s.cmd.Wait()
		out.Close()
		cell.Leave()
	})
	return s
}

// end ends the shell, as at the end of a resident.
func (s *probe) end() {
	s.in.Close()
	_ = s.cmd.Wait()
	s.cell.Leave()
}

// do runs a line and returns what it says.
func (s *probe) do(format string, args ...any) (said string) {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.in, "{ "+format+"; } 2>&1; echo; echo \"@@ $?\"\n", args...); err != nil {
		s.t.Fatal(err)
	}
	var lines []string
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%v after %q", err, lines)
		}
		if strings.HasPrefix(line, "@@ ") {
			return strings.TrimSpace(strings.Join(lines, ""))
		}
		lines = append(lines, line)
	}
}

// A resident reads what is there at any time, and writes only what is its own.
func TestResidentWalls(t *testing.T) {
	w := newWorld(t, full)
	w.known = nil
	w.Boot, w.Dirs.UID = lineage.Boot, os.Getuid()
	if w.Walls().Kind != jail.Full {
		return // TestResidentKinds has the others
	}
	t.Cleanup(func() { _ = scratch.Remove(filepath.Join(w.Dirs.State, "scratch")) })
	for _, f := range []string{"home/go/pkg/mod/old", "home/.cache/go-build/old", "home/.cache/other/old", "home/ws/.env", "home/.aws/credentials"} {
		w.make(f, "old")
	}
	secret, err := os.CreateTemp("/tmp", "kx-resident-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(secret.Name())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w.at.Hidden = []string{"**/.env"}
	s := w.probe()
	can := func(line string, want string) {
		t.Helper()
		if said := s.do("(%s) && echo yes || echo no", line); !strings.HasSuffix(said, want) {
			t.Errorf("%s: %q, want %s", line, said, want)
		}
	}
	can("echo x >"+w.path("home/ws/new"), "no")
	can("echo x >"+w.path("home/go/pkg/mod/new"), "no")
	can("echo x >"+w.path("home/.cache/other/new"), "no")
	can("echo x >$XDG_CACHE_HOME/own", "yes")
	can("echo x >/tmp/own", "yes")
	can("cat $GOCACHE/old && echo x >$GOCACHE/own && echo x >$GOPLSCACHE/gopls/own", "no") // there is no folder of gopls
	can("cat $GOCACHE/old && echo x >$GOCACHE/own", "yes")
	can("test -e "+secret.Name(), "no")
	can("exec 3<>/dev/tcp/"+strings.Replace(l.Addr().String(), ":", "/", 1), "no")
	can("test -s "+w.path("home/ws/.env"), "no")
	can("test -e "+w.path("home/.aws/credentials"), "no")
	if _, err := os.Lstat(w.path("home/.cache/go-build/own")); err == nil {
		t.Error("the user's cache was changed")
	}

	// What is installed and edited while it runs is there.
	for _, f := range []string{"home/go/pkg/mod/new/x", "home/.cache/other/new", "home/ws/sub/new"} {
		w.make(f, "new")
		can("grep new "+w.path(f), "yes")
	}
	if !s.cell.Holds() {
		t.Error("what is masked is another one")
	}
	// A file put in the place of a masked one would be seen.
	w.make("home/ws/.env-new", "new")
	if err := os.Rename(w.path("home/ws/.env-new"), w.path("home/ws/.env")); err != nil {
		t.Fatal(err)
	}
	if s.cell.Holds() {
		t.Error("what is masked is said to be the same")
	}

	// A second one at the same time has a place of its own; the next one has the first.
	other := w.probe()
	if said := other.do("cat $XDG_CACHE_HOME/own"); !strings.Contains(said, "No such file") {
		t.Errorf("two share a cache: %q", said)
	}
	s.end()
	s = w.probe()
	can("cat $XDG_CACHE_HOME/own $GOCACHE/own /tmp/own && test ! -s "+w.path("home/ws/.env"), "yes")
	if !s.cell.Holds() {
		t.Error("what is masked is another one, at the start")
	}
}
