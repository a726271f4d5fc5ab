package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// without runs a program on a kernel that lacks something: "userns" has neither
// namespaces, "walls" nor Landlock either. The superuser of a user namespace may
// filter system calls without a mark (no_new_privs) that kx takes for a sandbox's.
func without() {
	if err := runWithout(os.Args[1], os.Args[2:]); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			os.Exit(exit.ExitCode())
		}
		fmt.Fprintln(os.Stderr, "without:", err)
		os.Exit(125)
	}
}

func runWithout(what string, args []string) error {
	if os.Getuid() != 0 {
		cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
		cmd.Args[0] = os.Args[0]
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		return cmd.Run()
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	// What the filter says of a call: the number, an errno, and whether only with
	// the flag of user namespaces, which is in the first argument.
	rules := []struct {
		call, errno uint32
		flag        bool
	}{{unix.SYS_CLONE, uint32(unix.EPERM), true}, {unix.SYS_UNSHARE, uint32(unix.EPERM), true}, {unix.SYS_CLONE3, uint32(unix.ENOSYS), false}}
	if what == "walls" {
		rules = append(rules, struct {
			call, errno uint32
			flag        bool
		}{unix.SYS_LANDLOCK_CREATE_RULESET, uint32(unix.ENOSYS), false})
	}
	const load, equal, set, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	var prog []unix.SockFilter
	for _, r := range rules {
		refuse := unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ERRNO | r.errno}
		prog = append(prog, unix.SockFilter{Code: load, K: 0})
		if r.flag {
			prog = append(prog, unix.SockFilter{Code: equal, K: r.call, Jf: 3}, unix.SockFilter{Code: load, K: 16}, unix.SockFilter{Code: set, K: unix.CLONE_NEWUSER, Jf: 1}, refuse)
		} else {
			prog = append(prog, unix.SockFilter{Code: equal, K: r.call, Jf: 1}, refuse)
		}
	}
	prog = append(prog, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&fprog)), 0, 0); err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return unix.Exec(path, args, os.Environ())
}
