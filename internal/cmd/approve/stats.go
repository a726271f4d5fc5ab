package approve

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/policy/past"
	"github.com/kxtools/kx/internal/cmd/policy/view"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/fatigue"
	"github.com/kxtools/kx/internal/gate/replay"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/wire"
)

// StatsOptions of kx approve stats.
type StatsOptions struct {
	App    *app.App
	Record func() (fatigue.Options, error)
	Learn  func(ctx context.Context, since time.Time) (*replay.Lessons, error)

	Since string
}

// StatsDoc says what people were asked, and how they answered.
type StatsDoc struct {
	Type         string     `json:"type"`
	V            int        `json:"v"`
	Since        *time.Time `json:"since,omitempty"`
	Session      string     `json:"session,omitempty"`
	Asked        int        `json:"asked"`
	Allowed      int        `json:"allowed"`
	Denied       int        `json:"denied"`
	Answered     int        `json:"answered"`
	Expired      int        `json:"expired"`
	Cancelled    int        `json:"cancelled"`
	Waiting      int        `json:"waiting"`
	MedianMS     *int64     `json:"median_ms"` // from asking to an answer; null without one
	P90MS        *int64     `json:"p90_ms"`
	Causes       []CauseDoc `json:"causes"`
	Learn        *LearnDoc  `json:"learn,omitempty"`
	DamagedLines int        `json:"damaged_lines"`
}

// CauseDoc is what made kx ask, and how often.
type CauseDoc struct {
	Asked   int        `json:"asked"`
	Allowed int        `json:"allowed"`
	Denied  int        `json:"denied"`
	Tool    string     `json:"tool"`
	Command string     `json:"command,omitempty"`
	Rule    *wire.Rule `json:"rule"` // null where kx itself asks
	Reason  string     `json:"reason,omitempty"`
}

// LearnDoc says what kx policy learn has to offer.
type LearnDoc struct {
	Min   int `json:"min"`
	Rules int `json:"rules"`
	Calls int `json:"calls"`
}

// learnFrom is how often a call was allowed until a rule for it is proposed: twice
// may be chance.
const learnFrom = 3

// NewStats returns the command; a nil run is the real one.
func NewStats(a *app.App, run func(context.Context, *StatsOptions) error) *app.Command {
	o := &StatsOptions{
		App: a, Record: func() (fatigue.Options, error) { return openRecord(a) },
		Learn: func(ctx context.Context, since time.Time) (*replay.Lessons, error) { return lessons(ctx, a, since) },
	}
	if run == nil {
		run = stats
	}
	return &app.Command{
		Name:  "stats",
		Usage: "count what was asked and how it was answered",
		What: `
Counts the requests of the record: how many there were, how they ended, how long an answer took, and what made kx ask most often. A call that was asked for again while it waited is one request. With --session only those of one session.

What made kx ask is a rule of a policy, or kx itself, together with the tool and, of bash, the first words of the command. A call that asked for two reasons counts at both.
`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "since", Usage: "only requests from `TIME` on: RFC 3339, a date, or how long ago", Destination: &o.Since},
		},
		Examples: []app.Example{
			{Line: "kx approve stats --since 30d"},
			{Line: `kx approve stats -o json | jq -r '.causes[] | select(.denied == 0) | "\(.asked) \(.command)"'`, Does: "what nobody ever denied"},
		},
		Run: func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func openRecord(a *app.App) (fatigue.Options, error) {
	st, err := site.Of(a).Peek()
	if err != nil {
		return fatigue.Options{}, err
	}
	store, err := open(a)
	if err != nil {
		return fatigue.Options{}, err
	}
	return fatigue.Options{Log: audit.New(st, a.Now), Look: store.Get}, nil
}

func lessons(ctx context.Context, a *app.App, since time.Time) (*replay.Lessons, error) {
	opts, err := past.OpenReplay(a, "")
	if err != nil {
		return nil, err
	}
	opts.Since = since
	return replay.Learn(ctx, opts, learnFrom)
}

func stats(ctx context.Context, o *StatsOptions) error {
	since, err := app.Moment("kx approve stats", "since", o.Since, o.App.Now())
	if err != nil {
		return err
	}
	opts, err := o.Record()
	if err != nil {
		return err
	}
	opts.Since, opts.Session = since, o.App.Globals.Session
	c, err := fatigue.Read(ctx, opts)
	if err != nil {
		return err
	}
	d := statsDoc(c)
	if d.Session = opts.Session; !since.IsZero() {
		utc := since.UTC()
		d.Since = &utc
	}
	// A rule speaks for all sessions. Where today's policy is not valid there is
	// nothing to say of it here.
	if d.Session == "" && d.Allowed >= learnFrom {
		if l, err := o.Learn(ctx, since); err == nil && len(l.Rules) > 0 {
			d.Learn = &LearnDoc{learnFrom, len(l.Rules), l.Spared}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.DamagedLines > 0 {
		o.App.Note("note: %s of the record left out; kx audit verify says where", view.Count(d.DamagedLines, "damaged line is", "damaged lines are"))
	}
	p := o.App.Printer()
	if p.Format().Data() {
		return p.Record(d, nil)
	}
	if err := p.Text(func(t *out.Text) { t.Printf("%s", out.Block(d.summary())) }); err != nil {
		return err
	}
	if err := out.List(p, causeColumns, d.Causes[:min(len(d.Causes), shownCauses)]); err != nil {
		return err
	}
	return p.Text(func(t *out.Text) { t.Printf("%s", out.Block(d.more(o.Since))) })
}

func statsDoc(c *fatigue.Count) *StatsDoc {
	d := &StatsDoc{
		Type: "approval_stats", V: wire.Version, Asked: c.Asked,
		Allowed: c.Ends[wire.ApprovalAllowed], Denied: c.Ends[wire.ApprovalDenied], Answered: c.Ends[wire.ApprovalAnswered],
		Expired: c.Ends[wire.ApprovalExpired], Cancelled: c.Ends[wire.ApprovalCancelled], Waiting: c.Ends[wire.ApprovalPending],
		MedianMS: within(c, 50), P90MS: within(c, 90), Causes: []CauseDoc{}, DamagedLines: c.Damaged,
	}
	for _, x := range c.Causes {
		d.Causes = append(d.Causes, CauseDoc{x.Asked, x.Allowed, x.Denied, x.Tool, x.Command, x.Rule, x.Reason})
	}
	return d
}

func within(c *fatigue.Count, percent int) *int64 {
	d, ok := c.Within(percent)
	if !ok {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

// summary is what a person reads first.
func (d *StatsDoc) summary() string {
	if d.Asked == 0 {
		if d.Session != "" || d.Since != nil {
			return "nothing of that kind was asked\n"
		}
		return "nothing was asked yet\n"
	}
	parts := []string{view.Count(d.Asked, "request", "requests")}
	for _, end := range []struct {
		n    int
		word string
	}{{d.Allowed, "allowed"}, {d.Denied, "denied"}, {d.Answered, "answered"}, {d.Expired, "expired"}, {d.Cancelled, "cancelled"}, {d.Waiting, "waiting"}} {
		if end.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", end.n, end.word))
		}
	}
	text := strings.Join(parts, " · ") + "\n"
	if d.MedianMS != nil {
		text += fmt.Sprintf("half of the answers came within %s, 9 of 10 within %s\n", spell(*d.MedianMS), spell(*d.P90MS))
	}
	return text + "\n"
}

// more is what stands below the table: what is not in it, and what to do next.
func (d *StatsDoc) more(since string) string {
	var text string
	if n := len(d.Causes) - shownCauses; n > 0 {
		text += fmt.Sprintf("and %d more: kx approve stats -o json\n", n)
	}
	if l := d.Learn; l != nil {
		if since != "" {
			since = "--since " + since + " "
		}
		text += fmt.Sprintf("\n%s would have spared %s that people allowed\nhint: kx policy learn %s--min %d\n",
			view.Count(l.Rules, "rule", "rules"), view.Count(l.Calls, "question about a call", "questions about calls"), since, l.Min)
	}
	return text
}

// spell writes a time in milliseconds as people say it.
func spell(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return "1s" // no person is faster
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

const (
	// shownCauses is how many rows a person reads.
	shownCauses = 15
	// widestCommand is how much of a command's first words fits in a row.
	widestCommand = 40
)

var causeColumns = out.Columns[CauseDoc]{
	Header: []string{"ASKED", "ALLOWED", "DENIED", "TOOL", "COMMAND", "RULE", "SOURCE"},
	Row: func(c CauseDoc) []string {
		rule, source := view.RuleText(c.Rule), view.Source(c.Rule)
		if c.Rule == nil {
			rule = view.Or(c.Reason, "built-in")
		}
		command := c.Command
		if r := []rune(command); len(r) > widestCommand {
			command = string(r[:widestCommand-1]) + "…"
		}
		return []string{strconv.Itoa(c.Asked), strconv.Itoa(c.Allowed), strconv.Itoa(c.Denied), c.Tool, command, rule, source}
	},
}
