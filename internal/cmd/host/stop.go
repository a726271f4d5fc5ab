package host

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/host"
	"github.com/kxtools/kx/internal/record/resident"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// StopOptions of kx host stop.
type StopOptions struct {
	App      *app.App
	Peek     func() (*state.State, error)
	Person   func(line string) (wire.Decider, error)
	Patience time.Duration // before a resident is killed

	All   bool
	Names []string
}

// NewStop returns the command; a nil run is the real one.
func NewStop(a *app.App, run func(context.Context, *StopOptions) error) *app.Command {
	o := &StopOptions{App: a, Peek: site.Of(a).Peek, Person: site.Of(a).Person, Patience: host.Patience}
	if run == nil {
		run = stop
	}
	return &app.Command{
		Name:  "stop",
		Usage: "end residents",
		What: `
Ends residents with all that they have started, and waits until they have gone. Requests that are under way have 2 s to end. A resident that is still there after 10 s is killed. The unique beginning of a name is enough.

Only a person may do this, not what a tool or an agent has started; it needs neither a terminal nor a key.
`,
		Args:  "[NAME...]",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "all that run", Destination: &o.All}},
		Examples: []app.Example{
			{Line: "kx host stop approve"},
			{Line: "kx host stop --all", Does: "before an upgrade, say; none running is fine"},
		},
		Exits: []app.Exit{
			{Status: fail.ExitDenied, Means: "a tool or an agent has started this"},
			{Status: fail.ExitConflict, Means: "one could not even be killed"},
			{Status: fail.ExitNotFound, Means: "no resident of that name runs"},
		},
		Complete: map[string]app.Completer{"": names(a)},
		Run: func(ctx context.Context, args []string) error {
			o.Names = args
			return run(ctx, o)
		},
	}
}

func stop(ctx context.Context, o *StopOptions) error {
	if o.All == (len(o.Names) > 0) {
		return fail.Usage("kx host stop takes names, or --all").WithHint("kx host list")
	}
	if _, err := o.Person("kx host stop"); err != nil {
		return err
	}
	st, err := o.Peek()
	if err != nil {
		return err
	}
	chosen := resident.List(st.Dir())
	if !o.All {
		if chosen, err = choose(chosen, o.Names); err != nil {
			return err
		}
	}
	hosts, errs := make([]wire.Host, len(chosen)), make([]error, len(chosen))
	var all sync.WaitGroup
	for i, e := range chosen {
		all.Go(func() { hosts[i], errs[i] = host.Stop(ctx, st, e, o.Patience) })
	}
	all.Wait()
	var failed error
	var done []wire.Host
	for i, h := range hosts {
		switch {
		case errs[i] == nil:
			done = append(done, h)
		case failed == nil:
			failed = errs[i]
		default:
			o.App.Log().Warn().Msg(errs[i].Error())
		}
		if errs[i] == nil && h.State == wire.HostKilled {
			o.App.Log().Warn().Msgf("%s did not end in %v, and was killed with all that it had started", h.Name, o.Patience)
		}
	}
	cols := out.Columns[wire.Host]{
		Header: []string{"NAME", "STATE", "PID"},
		Row:    func(h wire.Host) []string { return []string{h.Name, h.State, strconv.Itoa(h.PID)} },
		Empty:  "no residents run",
	}
	if failed != nil {
		cols.Empty = ""
	}
	if err := out.List(o.App.Printer(), cols, done); err != nil {
		return err
	}
	return failed
}

// choose returns the residents of the given names, each once.
func choose(live []resident.Entry, names []string) ([]resident.Entry, error) {
	var chosen []resident.Entry
	for _, name := range names {
		e, err := find(live, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(chosen, e) {
			chosen = append(chosen, e)
		}
	}
	return chosen, nil
}

func find(live []resident.Entry, name string) (resident.Entry, error) {
	var like []resident.Entry
	var names []string
	for _, e := range live {
		if e.Name == name {
			return e, nil
		}
		if name != "" && strings.HasPrefix(e.Name, name) {
			like, names = append(like, e), append(names, e.Name)
		}
	}
	switch len(like) {
	case 0:
		return resident.Entry{}, fail.NotFound("no_such_host", "no resident %q runs", name).WithHint("kx host list")
	case 1:
		return like[0], nil
	}
	return resident.Entry{}, fail.Usage("%q is the beginning of %s", name, strings.Join(names, " and ")).WithHint("kx host stop %s", names[0])
}
