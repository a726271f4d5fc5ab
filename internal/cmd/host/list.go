package host

import (
	"context"
	"strconv"
	"time"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/host"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// ListOptions of kx host list.
type ListOptions struct {
	App  *app.App
	Peek func() (*state.State, error)
}

// NewList returns the command; a nil run is the real one.
func NewList(a *app.App, run func(context.Context, *ListOptions) error) *app.Command {
	o := &ListOptions{App: a, Peek: site.Of(a).Peek}
	if run == nil {
		run = list
	}
	return &app.Command{
		Name:     "list",
		Usage:    "list the residents that run",
		What:     "Lists the residents of this state directory that run, with the memory that each takes together with all that it has started. One that does not answer has a ? for its version.",
		Examples: []app.Example{{Line: "kx host list"}, {Line: "kx host list -o jsonl | jq -r '[.name, .memory_bytes] | @tsv'"}},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func list(ctx context.Context, o *ListOptions) error {
	st, err := o.Peek()
	if err != nil {
		return err
	}
	hosts, err := host.List(ctx, st)
	if err != nil {
		return err
	}
	return out.List(o.App.Printer(), out.Columns[wire.Host]{
		Header: []string{"NAME", "PID", "UPTIME", "MEMORY", "VERSION", "SOCKET"},
		Row: func(h wire.Host) []string {
			uptime, version := "", "?"
			if h.State == wire.HostRunning {
				uptime, version = lasting(time.Duration(h.UptimeMS)*time.Millisecond), h.Version
			}
			return []string{h.Name, strconv.Itoa(h.PID), uptime, mebi(h.MemoryBytes), version, h.Socket}
		},
		Empty: "no residents run",
	}, hosts)
}
