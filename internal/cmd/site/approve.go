package site

import (
	"context"
	"errors"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/host"
	hostapprove "github.com/kxtools/kx/internal/host/approve"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/internal/record/trust"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// poll is how often a waiting call looks at the files where there is no host to
// ring the bell.
const poll = 200 * time.Millisecond

// Kxd returns the program of the residents and of the agent loop.
func (s *Site) Kxd() (string, error) {
	override := s.app.Getenv("KX_KXD")
	if s.below {
		override = "" // the environment is the agent's
	}
	var folders []string
	if override != "" {
		ws, err := s.Workspace()
		if err != nil {
			return "", err
		}
		folders = append(folders, ws)
		if st, err := s.Peek(); err == nil {
			trusted, err := trust.New(st, s.app.Now).List()
			if err != nil {
				return "", err
			}
			for _, t := range trusted {
				folders = append(folders, t.Workspace)
			}
		}
	}
	return host.Kxd(override, folders)
}

// Approve connects to the approval host, starting it if need be. keyName is
// "approver" or "host".
func (s *Site) Approve(ctx context.Context, keyName string) (*approve.Client, error) {
	d, err := s.Dirs()
	if err != nil {
		return nil, err
	}
	st, err := s.State()
	if err != nil {
		return nil, err
	}
	socket, err := d.Socket(hostapprove.Socket)
	if err != nil {
		return nil, err
	}
	kxd, err := s.Kxd()
	if err != nil {
		return nil, err
	}
	r := host.Resident{
		Kxd: kxd, Args: []string{"approve", "--state-dir", d.State, "--config-dir", d.Config}, Socket: socket, Lock: hostapprove.Lock(d.State),
	}
	key, err := keyOf(st, keyName)
	if err != nil {
		return nil, err
	}
	var c *approve.Client
	err = r.Connect(ctx, func(ctx context.Context, socket string) (there bool, err error) {
		c, err = approve.Dial(ctx, approve.Options{Socket: socket, KeyName: keyName, Key: key})
		if errors.Is(err, approve.ErrNoHost) {
			return false, nil
		}
		return true, Failure(err)
	})
	return c, err
}

func keyOf(st *state.State, name string) ([]byte, error) {
	if name == "approver" {
		return st.ApproverKey()
	}
	return st.HostKey()
}

// Failure returns what the approval host answered as an error of kx.
func Failure(err error) error {
	var e *approve.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return &fail.Error{Code: e.Code, Exit: e.Exit, Msg: e.Message, Hint: e.Hint}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fail.Unavailable("no_host", "the approval host can't be reached: %v", err).WithHint("kx doctor").Because(err)
}

// Await returns when a request is answered. The host rings the bell; without one
// the files are looked at, for they are the truth.
func (s *Site) Await(ctx context.Context, store *approval.Store, id string) error {
	if c, err := s.Approve(ctx, "host"); err == nil {
		defer c.Close()
		if _, err := c.Wait(ctx, id); err == nil {
			return nil
		}
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		a, err := store.Get(id)
		if err != nil || a.State != wire.ApprovalPending {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
