package host

import (
	"context"
	"os"
	"time"

	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/pkg/wire"
)

// The verbs that every resident knows, with any key.
const (
	verbInfo  = "info"  // what it is
	verbReady = "ready" // whether it takes requests
	verbStop  = "stop"  // that it shall end once it has answered
)

// life answers for a resident what is the same for all.
type life struct {
	srv    *sock.Server
	handle sock.Handler // of what it is for
	socket string
	began  time.Time
}

func (l *life) answer(ctx context.Context, r *sock.Request, send func(any) error) (any, error) {
	switch r.Verb {
	case verbReady:
		if l.srv.Outdated() {
			return nil, l.srv.Older()
		}
		return map[string]any{"type": "ready", "v": wire.Version}, nil
	case verbInfo:
		return l.info(wire.HostRunning), nil
	case verbStop:
		l.srv.Leave()
		return l.info(wire.HostStopped), nil
	}
	return l.handle(ctx, r, send)
}

func (l *life) info(state string) wire.Host {
	began := l.began.UTC()
	return wire.Host{
		Type: "host", V: wire.Version, Name: l.srv.Name, State: state, PID: os.Getpid(), Socket: l.socket, Version: l.srv.Version,
		StartedAt: &began, UptimeMS: time.Since(l.began).Milliseconds(),
		MemoryBytes: proc.Memory(os.Getpid()), Clients: l.srv.Clients() - 1,
	}
}
