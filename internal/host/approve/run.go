package approve

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/kxtools/kx/internal/base/failpoint"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/host"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/internal/record/state"
)

// Lock is the file that the host holds while it lives.
func Lock(stateDir string) string { return filepath.Join(stateDir, "approvals", "host.lock") }

// Run is the life of a host: it says on said how the start went, serves until
// nobody needs it or ctx ends, and leaves nothing behind.
func Run(ctx context.Context, stateDir, configDir, socket, version string, said io.Writer) error {
	st, err := state.Open(stateDir)
	if err != nil {
		return err
	}
	if _, err := st.Sub("approvals"); err != nil {
		return err
	}
	failpoint.Arm(filepath.Join(stateDir, "failpoint"))
	h := New(st, time.Now)
	h.config = configDir
	h.remote = func() (bool, error) {
		user, err := config.LoadApprove(configDir, os.Getuid())
		return user.Remote, err
	}
	return host.Live(ctx, host.Place{Lock: Lock(stateDir), Socket: socket, Said: said, Begin: h.settle}, h.Server(version))
}

// Server returns the host as it stands on its socket.
func (h *Host) Server(version string) *sock.Server {
	return &sock.Server{
		Name: "approve", Version: version, Handle: h.Handle, Idle: idle,
		Keys: map[string]func() ([]byte, error){"approver": h.st.ApproverKey, "host": h.st.HostKey},
	}
}
