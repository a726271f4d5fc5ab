package jail

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// keyCalls are the numbers of add_key, request_key and keyctl, which follow each
// other, where a kernel of 64 bits also takes those of 32.
var keyCalls = []struct{ arch, first uint32 }{
	{unix.AUDIT_ARCH_X86_64, 248}, {unix.AUDIT_ARCH_I386, 286},
	{unix.AUDIT_ARCH_AARCH64, 217}, {unix.AUDIT_ARCH_ARM, 309}, {unix.AUDIT_ARCH_RISCV64, 217},
}

// noKeys takes the keyrings of the kernel from the calling thread and from what it
// starts. Namespaces don't: a key of the user is the user's in all of them.
func noKeys() error {
	const (
		load, and     = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		equal, from   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		above, answer = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, unix.BPF_RET | unix.BPF_K

		number, arch = 0, 4            // where they are in what is judged
		x32          = uint32(1) << 30 // a mark in the number, for the same call
	)
	var prog []unix.SockFilter
	for _, c := range keyCalls {
		prog = append(prog,
			unix.SockFilter{Code: load, K: arch},
			unix.SockFilter{Code: equal, K: c.arch, Jf: 5},
			unix.SockFilter{Code: load, K: number},
			unix.SockFilter{Code: and, K: ^x32},
			unix.SockFilter{Code: from, K: c.first, Jf: 2},
			unix.SockFilter{Code: above, K: c.first + 2, Jt: 1},
			unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}, // as without keyrings
		)
	}
	prog = append(prog, unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW})
	f := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&f)), 0, 0)
}
