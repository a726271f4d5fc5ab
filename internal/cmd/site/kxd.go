package site

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/pkg/wire"
)

// Become turns this process into a verb of kxd, and hands it a document of at most max
// bytes. It goes through an open file, never through arguments or the environment,
// where others could read it.
func (s *Site) Become(verb string, doc any, max int) error {
	kxd, err := s.Kxd()
	if err != nil {
		return err
	}
	raw, err := wire.Marshal(doc)
	if err != nil {
		return err
	}
	if len(raw) > max {
		return fail.Limit("run_bytes", "what was given takes %d bytes, more than %d", len(raw), max)
	}
	f, err := os.CreateTemp("", "kx-"+verb+"-")
	if err != nil {
		return fail.Failed("temp", "%s can't be handed over: %v", verb, err).Because(err)
	}
	os.Remove(f.Name())
	if _, err := f.Write(raw); err != nil {
		return fail.Failed("temp", "%s can't be handed over: %v", verb, err).Because(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD, 3) // a duplicate stays open across exec
	if err != nil {
		return err
	}
	err = syscall.Exec(kxd, []string{"kxd", verb, "--spec", strconv.Itoa(fd)}, paths.Environ())
	return fail.Unavailable("no_kxd", "%s can't be run: %v", kxd, err).WithHint("kx doctor").Because(err)
}

// Handed reads the document that kx left open for a verb of kxd, and reports whether
// there is one.
func Handed(fd, max int, doc any) bool {
	f := os.NewFile(uintptr(fd), "spec")
	if f == nil {
		return false
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, int64(max)))
	return err == nil && json.Unmarshal(raw, doc) == nil
}
