package kxdmain_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMemoryOfAScript runs 10,000 equal turns and reads how much memory kxd has near
// the beginning and at the end. Only the conversation, which every request has in it,
// may make it more.
func TestMemoryOfAScript(t *testing.T) {
	const turns = 10_000
	u := newUser(t)
	state, err := os.MkdirTemp("/dev/shm", "kx") // where no disk keeps 10,000 turns waiting
	if err != nil {
		state = filepath.Join(u.dir, "many")
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	u.write("home/ws/a.txt", "hello\n")
	path := u.script(strings.Repeat(`{"calls":[{"tool":"read_file","input":{"path":"a.txt"}}]}`+"\n", turns) + done)
	cmd := exec.Command(filepath.Join(bin, "kx"), "--state-dir", state, "agent", "run", "x", "--script", path, "-o", "jsonl")
	cmd.Dir, cmd.Env = u.ws, u.env
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	lines := bufio.NewReaderSize(out, 4<<10)
	reaches := func(turn int) (kib int) {
		t.Helper()
		for mark := fmt.Sprintf(`"event":"turn_start","data":{"turn":%d,`, turn); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("turn %d does not begin: %v", turn, err)
			}
			if strings.Contains(line, mark) {
				break
			}
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "\nVmRSS:")
		if _, err := fmt.Sscan(rest, &kib); err != nil {
			t.Fatal(err)
		}
		return kib
	}
	early, late := reaches(turns/10), reaches(turns)
	t.Logf("kxd has %d KiB at turn %d and %d KiB at turn %d", early, turns/10, late, turns)
	const perTurn = 2 << 10 // bytes: two messages, and as much again that the collector leaves
	if grown := (late - early) << 10; grown > turns*perTurn {
		t.Errorf("it takes %d bytes a turn", grown/turns)
	}
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
