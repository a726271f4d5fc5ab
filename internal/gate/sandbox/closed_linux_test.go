package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// A folder that a program has closed is masked where rules hide files: what is in it
// can't be told, and it may be opened again. The superuser sees into it.
func TestClosedFolder(t *testing.T) {
	if os.Getuid() == 0 {
		dir, err := os.MkdirTemp("", "kx-closed-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		text, err := os.ReadFile("/proc/self/exe")
		program := filepath.Join(dir, "sandbox.test")
		if err == nil {
			err = os.WriteFile(program, text, 0o755)
		}
		if err == nil {
			err = os.Chmod(dir, 0o777)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "-test.run=^TestClosedFolder$")
		cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	w := newWorld(t, full)
	w.make("home/ws/sub/.env", "")
	w.at.Hidden = []string{"**/.env*"}
	closed := w.path("home/ws/sub")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(closed, 0o700)
	if masked := w.confine(Default).Plan.Masked; !slices.Contains(masked, closed) {
		t.Errorf("masked %v", w.short(masked))
	}
}
