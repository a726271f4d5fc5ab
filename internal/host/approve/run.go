package approve

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/host"
	"github.com/kxtools/kx/internal/record/state"
)

// Lock is the file that the host holds while it lives.
func Lock(stateDir string) string { return filepath.Join(stateDir, "approvals", "host.lock") }

// Run is the life of a host: it says on said how the start went, serves until it
// is idle or ctx ends, and leaves nothing behind.
func Run(ctx context.Context, stateDir, socket, version string, said io.Writer) error {
	syscall.Umask(0o077)
	st, err := state.Open(stateDir)
	if err != nil {
		return err
	}
	if _, err := st.Sub("approvals"); err != nil {
		return err
	}
	release, ok, err := host.Register(Lock(stateDir), socket)
	if err != nil {
		return err
	}
	if !ok {
		fmt.Fprintln(said, host.Busy)
		return nil
	}
	defer release()
	ln, err := sock.Listen(socket)
	if err != nil {
		return err
	}
	defer os.Remove(socket)
	if _, err := fmt.Fprintln(said, host.Ready); err != nil {
		return fail.Failed("no_client", "the client that started this host has gone")
	}
	h := New(st, time.Now)
	srv := &sock.Server{
		Name: "approve", Version: version, Handle: h.Handle,
		Keys: map[string]func() ([]byte, error){"approver": st.ApproverKey, "host": st.HostKey},
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		h.Idle(ctx)
		cancel()
	}()
	return srv.Serve(ctx, ln)
}
