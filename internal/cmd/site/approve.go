package site

import (
	"context"
	"time"

	"github.com/kxtools/kx/internal/host"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/resident"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/internal/record/trust"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/socket"
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

// Dial connects to a resident, starting it if need be. name is that of its lock and,
// with .sock, of its socket; keyName is "approver" or "host"; args are the verb of kxd
// and what it has to know besides the directories of the user.
func (s *Site) Dial(ctx context.Context, name, keyName string, args ...string) (*socket.Client, error) {
	d, err := s.Dirs()
	if err != nil {
		return nil, err
	}
	st, err := s.State()
	if err != nil {
		return nil, err
	}
	path, err := d.Socket(name + ".sock")
	if err != nil {
		return nil, err
	}
	kxd, err := s.Kxd()
	if err != nil {
		return nil, err
	}
	key, err := keyOf(st, keyName)
	if err != nil {
		return nil, err
	}
	return host.Resident{
		Kxd: kxd, Args: append(args, "--state-dir", d.State, "--config-dir", d.Config),
		Socket: path, Lock: resident.Lock(d.State, name), Version: s.app.Version, KeyName: keyName, Key: key,
	}.Connect(ctx)
}

// Approve connects to the approval host, starting it if need be. keyName is
// "approver" or "host".
func (s *Site) Approve(ctx context.Context, keyName string) (*approve.Client, error) {
	c, err := s.Dial(ctx, resident.Approve, keyName, "approve")
	if err != nil {
		return nil, err
	}
	return approve.New(c), nil
}

func keyOf(st *state.State, name string) ([]byte, error) {
	if name == "approver" {
		return st.ApproverKey()
	}
	return st.HostKey()
}

// Failure returns what the approval host answered as an error of kx.
func Failure(err error) error { return host.Failure("the approval host", err) }

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
