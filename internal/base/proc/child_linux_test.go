package proc

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/jail"
)

// A child of Start and what stays in its session live beside commands; its end
// takes along whatever came from it.
func TestStartEndsAllThatCameFromIt(t *testing.T) {
	for name, script := range leavers {
		t.Run(name, func(t *testing.T) {
			pids := filepath.Join(t.TempDir(), "pids")
			// The orphan's parent has gone: it is a child of this process now.
			cmd := exec.Command("bash", "-c", `(sleep 100 & echo $! >>$PIDS)`+"\n"+script+"\necho ready; read || sleep 100")
			cmd.Env = []string{"PATH=/usr/bin:/bin", "PIDS=" + pids}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			child, err := Start(cmd, nil)
			if err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
				t.Fatalf("it says %q, %v", line, err)
			}
			b, _ := os.ReadFile(pids)
			orphan, _, _ := strings.Cut(string(b), "\n")
			run(t, sh("sleep 100 & true"))
			for _, f := range []string{orphan, strconv.Itoa(cmd.Process.Pid)} {
				if pid, _ := strconv.Atoi(f); syscall.Kill(pid, 0) != nil {
					t.Errorf("a command's end took process %d along", pid)
				}
			}
			if left := child.End(); len(left) > 0 {
				t.Errorf("left %v", left)
			}
			_ = cmd.Wait()
			for _, f := range strings.Fields(string(b)) {
				pid, _ := strconv.Atoi(f)
				if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
					t.Errorf("process %d survived: %v", pid, err)
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		})
	}
}

// What runs behind walls goes on though nobody holds on to its Child.
func TestChildForgotten(t *testing.T) {
	cmd := &exec.Cmd{Env: []string{}}
	if _, err := Start(cmd, &jail.Plan{Kind: jail.Full, Argv: []string{"/bin/sleep", "100"}, Dir: "/", Network: true, Minimal: os.Getuid() == 0}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for range 10 {
		runtime.GC()
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	c, _ := leaders.Load(cmd.Process.Pid)
	if left := c.(*Child).End(); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
