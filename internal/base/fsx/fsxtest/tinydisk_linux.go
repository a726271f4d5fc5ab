package fsxtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// tinyTask is the task of the child that has the tiny disk.
const tinyTask = "tinydisk"

// OnTinyDisk runs f with a directory on a disk of kib KiB of its own: a tmpfs
// in a new user and mount namespace, so no privilege is needed. Where the
// kernel forbids these namespaces it asserts that this is so.
func OnTinyDisk(t *testing.T, kib int, f func(dir string)) {
	t.Helper()
	if task, ok := Child(); ok && task == tinyTask {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=700,size="+strconv.Itoa(kib)+"k"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
		f(dir)
		return
	}
	cmd := Command(t, tinyTask)
	cmd.Stdout = os.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := cmd.Start(); err != nil {
		if why := forbidden(); why == "" {
			t.Fatalf("no tiny disk: %v, and nothing forbids user namespaces", err)
		} else {
			t.Logf("the kernel forbids user namespaces (%s): %v", why, err)
		}
		return
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("on the tiny disk: %v", err)
	}
}

// forbidden names the kernel setting that forbids user namespaces, or "".
func forbidden() string {
	for file, off := range map[string]string{
		"kernel/unprivileged_userns_clone":             "0",
		"kernel/apparmor_restrict_unprivileged_userns": "1",
		"user/max_user_namespaces":                     "0",
		"user/max_mnt_namespaces":                      "0",
	} {
		if v, err := os.ReadFile(filepath.Join("/proc/sys", file)); err == nil && strings.TrimSpace(string(v)) == off {
			return file + " = " + off
		}
	}
	return ""
}

// Fill takes all the space that is left beside dir's files, and returns what
// gives it back.
func Fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, ".ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for {
		if _, err := f.Write(block); err != nil {
			break
		}
	}
	return func() { os.Remove(path) }
}
