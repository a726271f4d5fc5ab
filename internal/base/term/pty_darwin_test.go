package term

import (
	"bytes"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func openSlave(t *testing.T, master *os.File) *os.File {
	t.Helper()
	var name [128]byte
	for _, call := range []struct {
		req uintptr
		arg uintptr
	}{
		{unix.TIOCPTYGRANT, 0}, {unix.TIOCPTYUNLK, 0}, {unix.TIOCPTYGNAME, uintptr(unsafe.Pointer(&name[0]))},
	} {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, master.Fd(), call.req, call.arg); errno != 0 {
			t.Fatal(errno)
		}
	}
	path, _, _ := bytes.Cut(name[:], []byte{0})
	slave, err := os.OpenFile(string(path), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return slave
}
