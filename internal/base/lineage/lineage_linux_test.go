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
	if p.Parent != os.Getpid() || p.UID != os.Getuid() || p.Session != p.PID || p.TTY != "" {
		t.Errorf("got %+v", p)
	}
}

func TestName(t *testing.T) {
	var p Process
	if err := p.readStat([]byte("7 (a) S (b) S 3 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 77")); err != nil || p.Name != "a) S (b" || p.Parent != 3 {
		t.Errorf("got %+v, %v", p, err)
	}
}

// A parent that is younger than its child is somebody else.
func TestWalkSeesAnotherParent(t *testing.T) {
	tree := map[int]Process{9: {PID: 9, Parent: 5, Start: 70}, 5: {PID: 5, Parent: 1, Start: 60}, 1: {PID: 1}}
	of := func(pid int) (Process, error) { return tree[pid], nil }
	if list, err := walk(9, of); err != nil || len(list) != 3 {
		t.Errorf("got %+v, %v", list, err)
	}
	tree[5] = Process{PID: 5, Parent: 1, Start: 71}
	if list, err := walk(9, of); err != errChanged {
		t.Errorf("got %+v, %v", list, err)
	}
	tree[5] = Process{PID: 5, Parent: 9, Start: 70}
	if list, err := walk(9, of); err == nil {
		t.Errorf("a circle is %d processes", len(list))
	}
}

func TestNamespace(t *testing.T) {
	for _, kind := range []string{"pid", "user", "mnt"} {
		own, err := Namespace(os.Getpid(), kind)
		if want, _ := os.Readlink("/proc/self/ns/" + kind); err != nil || own != want {
			t.Errorf("%s is %q, want %q, %v", kind, own, want, err)
		}
	}
	if got, err := Namespace(1<<22, "mnt"); err == nil {
		t.Errorf("a process that can't be there is in %q", got)
	}
}

func TestSelf(t *testing.T) {
	p, err := Self()
	if err != nil || p.PID != os.Getpid() || p.Parent != os.Getppid() {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestOfNobody(t *testing.T) {
	if _, err := Of(1 << 22); err == nil {
		t.Error("a process that can't be there was found")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("1 (a) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 77"), []byte("Uid:\t0\t0\t0\t0\nNSpid:\t1\t2\nNoNewPrivs:\t1\n"))
	f.Fuzz(func(t *testing.T, stat, status []byte) {
		var p Process
		p.readStat(stat)
		p.readStatus(status)
	})
}
