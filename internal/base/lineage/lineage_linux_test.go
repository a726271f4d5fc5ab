package lineage

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAncestors(t *testing.T) {
	list, err := Ancestors(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if list[0].PID != os.Getpid() || list[1].PID != os.Getppid() || list[len(list)-1].Parent != 0 {
		t.Errorf("got %+v", list)
	}
	self, _ := os.Executable()
	if list[0].Exe != self || list[0].Start == 0 || list[0].Nested {
		t.Errorf("self is %+v", list[0])
	}
}

func TestSessionAndName(t *testing.T) {
	// A name that looks like the rest of the line must not shift the fields.
	cmd := exec.Command("bash", "-c", `exec -a "x) R 1 2 3" sleep 60`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var p Process
	for deadline := time.Now().Add(10 * time.Second); ; {
		var err error
		if p, err = Of(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(p.Exe, "sleep") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it is still %s", p.Exe)
		}
	}
	if p.Parent != os.Getpid() || p.Session != p.PID || p.TTY != "" {
		t.Errorf("got %+v", p)
	}
}

func TestOfNobody(t *testing.T) {
	if _, err := Of(1 << 22); err == nil {
		t.Error("a process that can't be there was found")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("1 (a) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 77"), []byte("NSpid:\t1\t2\nNoNewPrivs:\t1\n"))
	f.Fuzz(func(t *testing.T, stat, status []byte) {
		var p Process
		p.readStat(stat)
		p.readStatus(status)
	})
}
