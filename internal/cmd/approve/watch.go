package approve

import (
	"context"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/approve/feed"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/host/notify"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// WatchOptions of kx approve watch.
type WatchOptions struct {
	App     *app.App
	Open    func() (*approval.Store, error)
	Connect func(ctx context.Context, key string) (*approve.Client, error)

	Notify string
}

// NewWatch returns the command; a nil run is the real one.
func NewWatch(a *app.App, run func(context.Context, *WatchOptions) error) *app.Command {
	o := &WatchOptions{App: a, Open: func() (*approval.Store, error) { return open(a) }, Connect: site.Of(a).Approve}
	if run == nil {
		run = watch
	}
	return &app.Command{
		Name:  "watch",
		Usage: "print requests and answers as they come",
		What: `
Prints the requests that wait, then every new one and every answer, until it is interrupted. With --session only those of one session.

With --notify CMD a shell runs CMD for each request that waits, with the request as JSON on its input. It is your own command, in your environment and in no sandbox; what it reads was written by a model, so don't make shell text of it. Nothing waits for it: 8 run at once, each for at most 30 s, and 100 wait for their turn. To be told without a terminal that watches, set notify in [approve] of your config.toml.
`,
		Flags: []cli.Flag{&cli.StringFlag{Name: "notify", Usage: "run `CMD` for each request", Destination: &o.Notify}},
		Examples: []app.Example{
			{Line: "kx approve watch"},
			{Line: `kx approve watch --notify 'notify-send kx "$(jq -r .tool)"'`},
		},
		Exits: []app.Exit{{Status: 5, Means: "the approval host can't be started"}, {Status: 130}},
		Run:   func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func watch(ctx context.Context, o *WatchOptions) error {
	store, err := o.Open()
	if err != nil {
		return err
	}
	f := &feed.Feed{Store: store, Connect: o.Connect, Session: o.App.Globals.Session}
	told := func(*wire.Approval) {}
	if o.Notify != "" {
		stderr, end, err := o.App.IO.Err.Pipe()
		if err != nil {
			return err
		}
		defer end()
		var logging sync.Mutex
		queue := notify.NewQueue(o.Notify, stderr, func(text string) {
			logging.Lock()
			defer logging.Unlock()
			o.App.Log().Warn().Msg(text)
		})
		queue.Clean = o.App.IO.Clean
		defer queue.Close()
		told = func(a *wire.Approval) {
			if a.State == wire.ApprovalPending {
				queue.Add(a)
			}
		}
	}
	follow := func(emit func(wire.Approval) error) error {
		return f.Follow(ctx, func(a *wire.Approval) error {
			if err := emit(*a); err != nil {
				return err
			}
			told(a)
			return nil
		})
	}
	if !o.App.Printer().Format().Data() {
		reader := sheet.New(o.App)
		return follow(func(a wire.Approval) error {
			return o.App.Printer().Text(func(t *out.Text) { line(t, o.App.Now(), reader.Hidden(&a)) })
		})
	}
	return out.Each(o.App.Printer(), out.Columns[wire.Approval]{}, follow)
}

// line is what a person sees of a request or an answer.
func line(t *out.Text, now time.Time, a *wire.Approval) {
	at, style := a.CreatedAt, out.Bold
	if a.State != wire.ApprovalPending {
		at = now
		if style = out.Dim; a.DecidedAt != nil {
			at = *a.DecidedAt
		}
	}
	t.Printf("%s  %s  %s  %s %s", at.Local().Format(time.TimeOnly), t.Paint(style, a.ID), a.State, a.Tool, sheet.Brief(a))
	if a.Note != "" {
		t.Printf("  %s", a.Note)
	}
	t.Printf("\n")
}
