package agent

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// StopOptions of kx agent stop.
type StopOptions struct {
	App   *app.App
	State func() (*state.State, error)

	ID string
}

// NewStop returns the command; a nil run is the real one.
func NewStop(a *app.App, run func(context.Context, *StopOptions) error) *app.Command {
	o := &StopOptions{App: a, State: site.Of(a).State}
	if run == nil {
		run = stop
	}
	return &app.Command{
		Name:     "stop",
		Usage:    "end a run for good",
		What:     "Ends the process of a run with all that it started, and cancels the requests that it waits for. A run that is stopped can't be resumed.",
		Args:     "ID",
		Examples: []app.Example{{Line: "kx agent stop a3fk"}},
		Exits:    []app.Exit{{Status: 7, Means: "it is over already, or does not end"}, {Status: 8}},
		Complete: map[string]app.Completer{"": ids(a)},
		Run: func(ctx context.Context, args []string) error {
			o.ID = args[0]
			return run(ctx, o)
		},
	}
}

const (
	// stopTime is how long a run may take to end: its tools get 800 ms, the
	// rest is for writing down how they ended.
	stopTime = 5 * time.Second
	stopPoll = 20 * time.Millisecond
)

func stop(ctx context.Context, o *StopOptions) error {
	st, err := o.State()
	if err != nil {
		return err
	}
	store := session.New(st, o.App.Now)
	m, err := store.Meta(o.ID)
	if err != nil {
		return err
	}
	if shared(m.ID) {
		return fail.Usage("session %s is no run of an agent", m.ID).WithHint("kx agent list")
	}
	if err := Over(m); err != nil {
		return err
	}
	pid := 0
	if store.Running(m.ID) {
		pid = store.PID(m.ID)
		if err := end(ctx, store, m.ID, pid); err != nil {
			return err
		}
	}
	w, err := store.OpenWriter(m.ID)
	if err != nil {
		return err
	}
	defer w.Close()
	if m, err = store.Meta(m.ID); err != nil {
		return err
	}
	if err := Over(m); err != nil { // it got to its end by itself
		return err
	}
	uid := os.Getuid()
	by := wire.Decider{Kind: "human", PID: os.Getpid(), UID: &uid}
	cancelled, err := approval.New(st, o.App.Now).Cancel(m.ID, by)
	if err != nil {
		return err
	}
	if _, err := w.Append("done", map[string]any{"state": session.Stopped, "exit": fail.ExitTerminated}); err != nil {
		return err
	}
	m.State, m.Pending = session.Stopped, []string{}
	if err := store.Save(m); err != nil {
		return err
	}
	if _, err := audit.New(st, o.App.Now).Append(audit.SessionStop{
		Type: audit.TypeSessionStop, V: wire.Version, Session: m.ID, PID: pid, Cancelled: cancelled, DecidedBy: by,
	}, true); err != nil {
		return err
	}
	return o.App.Printer().Record(m.Session, func(t *out.Text) { t.Printf("%s  %s\n", m.ID, m.State) })
}

// end asks the process of a run to end, and insists after a while.
func end(ctx context.Context, store *session.Store, id string, pid int) error {
	if pid <= 0 {
		return fail.Conflict("session_running", "session %s is running, and its process is not known", id)
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(pid, sig); err != nil && err != syscall.ESRCH {
			return fail.Failed("kill", "process %d can't be ended: %v", pid, err).Because(err)
		}
		_ = syscall.Kill(pid, syscall.SIGCONT) // a stopped process would not hear of the TERM
		for deadline := time.Now().Add(stopTime); time.Now().Before(deadline); time.Sleep(stopPoll) {
			if !store.Running(id) {
				return nil
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return fail.Conflict("session_running", "process %d of session %s does not end", pid, id)
}
