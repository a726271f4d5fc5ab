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
	"github.com/kxtools/kx/internal/record/resident"
	"github.com/kxtools/kx/internal/record/state"
)

// Options say where a host lives, and for how long.
type Options struct {
	State, Config string // directories
	Socket        string
	Version       string
	// Idle is how long it stays without a client. With 0 it waits for its turn and
	// stays until it is told to end, for a service manager.
	Idle time.Duration
}

// Run is the life of a host: it says on said how the start went, serves until
// nobody needs it or ctx ends, and leaves nothing behind.
func Run(ctx context.Context, o Options, said io.Writer) error {
	st, err := state.Open(o.State)
	if err != nil {
		return err
	}
	if err := resident.Prepare(st, resident.Approve); err != nil {
		return err
	}
	failpoint.Arm(filepath.Join(o.State, "failpoint"))
	h := New(st, time.Now)
	h.config = o.Config
	h.remote = func() (bool, error) {
		user, err := config.LoadApprove(o.Config, os.Getuid())
		return user.Remote, err
	}
	srv := h.Server(o.Version)
	srv.Idle = o.Idle
	return host.Live(ctx, host.Place{Lock: resident.Lock(o.State, resident.Approve), Socket: o.Socket, Said: said, Waits: o.Idle == 0, Begin: h.settle}, srv)
}

// Server returns the host as it stands on its socket.
func (h *Host) Server(version string) *sock.Server {
	return &sock.Server{
		Name: resident.Approve, Version: version, Handle: h.Handle,
		Keys: map[string]func() ([]byte, error){"approver": h.st.ApproverKey, "host": h.st.HostKey},
	}
}
