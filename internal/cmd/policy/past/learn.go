package past

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/policy/change"
	"github.com/kxtools/kx/internal/cmd/policy/view"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/replay"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/rulefile"
	"github.com/kxtools/kx/pkg/wire"
)

// LearnOptions of kx policy learn.
type LearnOptions struct {
	App    *app.App
	Open   func() (*view.Deps, error)
	Record func(file string) (replay.Options, error)
	Human  change.Human

	Since string
	Min   int
	Write bool
}

// LearnedDoc is a rule that would have spared questions.
type LearnedDoc struct {
	Type   string     `json:"type"`
	V      int        `json:"v"`
	Rule   *wire.Rule `json:"rule"`
	Calls  int        `json:"calls"`
	LastAt time.Time  `json:"last_at"`
}

// NewLearn returns the command; a nil run is the real one.
func NewLearn(a *app.App, run func(context.Context, *LearnOptions) error) *app.Command {
	o := &LearnOptions{
		App: a, Open: func() (*view.Deps, error) { return view.Open(a) }, Human: site.Of(a).Human,
		Record: func(file string) (replay.Options, error) { return OpenReplay(a, file) },
	}
	if run == nil {
		run = learn
	}
	return &app.Command{
		Name:  "learn",
		Usage: "make rules of what people allowed",
		What: `
Reads the calls that people allowed, and prints the smallest literal rules that would have allowed them without a question, the most used first. There is none for what only a person may allow each time, for what a person denied, and for what today's rules decide already.

Nothing is written without --write, which only a person may use: on a terminal, or with the approver key in --key FILE. Read what you write: a rule holds in every workspace.
`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "since", Usage: "only calls from `TIME` on: RFC 3339, a date, or how long ago", Destination: &o.Since},
			&cli.IntFlag{Name: "min", Value: 1, Usage: "only rules for at least `N` calls", Destination: &o.Min},
			&cli.BoolFlag{Name: "write", Usage: "add the rules to the user's policy.toml", Destination: &o.Write},
		},
		Examples: []app.Example{
			{Line: "kx policy learn --since 30d --min 3"},
			{Line: "kx policy learn --min 3 --write"},
		},
		Exits: []app.Exit{{Status: fail.ExitDenied, Means: "nobody confirmed it"}},
		Run:   func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func learn(ctx context.Context, o *LearnOptions) error {
	if o.Min < 1 {
		return fail.Usage("--min %d: expected 1 or more", o.Min).WithHint("kx policy learn --min 3")
	}
	since, err := app.Moment("kx policy learn", "since", o.Since, o.App.Now())
	if err != nil {
		return err
	}
	opts, err := o.Record("")
	if err != nil {
		return err
	}
	opts.Since = since
	got, err := replay.Learn(ctx, opts, o.Min)
	if err != nil {
		return err
	}
	tellSkipped(o.App, &got.Skipped)
	if o.Write && len(got.Rules) > 0 {
		d, err := o.Open()
		if err != nil {
			return err
		}
		var list []policy.Rule
		for _, l := range got.Rules {
			r := l.Rule
			r.Reason = "learned from " + view.Count(l.Calls, "call", "calls") + " that a person allowed"
			list = append(list, r)
		}
		return change.Add(ctx, o.App, d, o.Human, "kx policy learn --write", list, false)
	}
	p := o.App.Printer()
	if p.Format().Data() {
		docs := []LearnedDoc{}
		for _, l := range got.Rules {
			w := l.Rule.Wire()
			w.Source = "" // it stands nowhere yet
			docs = append(docs, LearnedDoc{"learned_rule", wire.Version, w, l.Calls, l.Last})
		}
		return out.List(p, out.Columns[LearnedDoc]{}, docs)
	}
	return p.Text(func(t *out.Text) {
		t.Printf("# %s that people allowed", view.Count(got.Answered, "call", "calls"))
		if got.Already > 0 {
			t.Printf(" · %d are decided by today's rules", got.Already)
		}
		if got.OnlyOnce > 0 {
			t.Printf(" · %d can only be allowed by a person", got.OnlyOnce)
		}
		t.Printf("\n")
		for _, l := range got.Rules {
			t.Printf("\n# %s, the last on %s\n", view.Count(l.Calls, "call", "calls"), l.Last.Local().Format(time.DateOnly))
			t.Printf("%s", out.Block(rulefile.TOML(&l.Rule)))
		}
	})
}
