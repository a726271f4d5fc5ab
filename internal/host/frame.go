package host

import (
	"context"
	"io"
	"time"

	"github.com/rs/zerolog"

	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/record/resident"
	"github.com/kxtools/kx/internal/record/state"
)

// Frame is what a resident is made of.
type Frame struct {
	Name    string // of its lock and its log in hosts/ of the state directory
	State   string // the state directory
	Socket  string // where it shall listen
	Version string
	Idle    time.Duration // it ends when there was no client for so long; 0 for never

	// Begin makes the resident, once no other one of the name lives and before it
	// listens. ctx is for what lives as long as the resident does. end, which may be
	// nil, ends what it has started; it is called however the resident ends, before
	// another one may start. Nothing secret goes into the log.
	Begin func(ctx context.Context, st *state.State, log zerolog.Logger) (answer sock.Handler, end func(), err error)
}

// Run is the life of a resident in a frame: it says on said how the start went, serves
// until nobody needs it or ctx ends, and leaves nothing behind. Whoever has the host key
// may use it.
func Run(ctx context.Context, f Frame, said io.Writer) error {
	st, err := state.Open(f.State)
	if err != nil {
		return err
	}
	if err := resident.Prepare(st, f.Name); err != nil {
		return err
	}
	ctx, over := context.WithCancel(ctx)
	defer over()
	srv := &sock.Server{Name: f.Name, Version: f.Version, Idle: f.Idle, Keys: map[string]func() ([]byte, error){"host": st.HostKey}}
	var log *resident.Log
	var end func()
	at := Place{Lock: resident.Lock(f.State, f.Name), Socket: f.Socket, Said: said}
	at.Begin = func() (err error) {
		if log, err = resident.OpenLog(st, f.Name, time.Now()); err != nil {
			return err
		}
		srv.Handle, end, err = f.Begin(ctx, st, zerolog.New(log).With().Timestamp().Logger())
		return err
	}
	at.End = func() {
		if end != nil {
			end()
		}
		over()
		proc.KillAll() // what end has left
		if log != nil {
			log.Close()
		}
	}
	return Live(ctx, at, srv)
}
