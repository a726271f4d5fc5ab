// Package plain is kx approve --plain: requests and answers line by line, for screen
// readers and terminals that can do no more. Nothing is drawn twice, no colour is
// used, and no key counts that was typed before its question.
//
// Invariant: a line answers the request that it was typed for. When that request is
// answered elsewhere its question is taken back, with what was typed so far.
package plain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// Options of the plain mode.
type Options struct {
	App *app.App
	// Feed tells of every request that waits, every new one and every answer, until
	// ctx ends.
	Feed   func(ctx context.Context, got func(*wire.Approval) error) error
	Get    func(id string) (*wire.Approval, error)
	Client func(ctx context.Context) (*approve.Client, error) // of the approver
	Reader *sheet.Reader
	Bell   bool   // for each new request
	ID     string // of the only request; "" for all
}

const (
	// start is how long the first request is waited for: the host may have to be
	// started before it tells of any.
	start = 2 * time.Second
	// burst is how long a list is waited for that is still coming: requests that are
	// there at the start are told as such, and not as new ones.
	burst = 300 * time.Millisecond
)

// errQuit says that the person has enough.
var errQuit = errors.New("quit")

// desk is what the person has before them.
type desk struct {
	Options
	client  *approve.Client
	events  chan *wire.Approval
	failed  chan error
	waiting []*wire.Approval
	at      int             // which one is asked about
	ours    map[string]bool // answered here
	over    string          // of a single request, what became of it; "" while it waits
}

// Run asks about requests until the person quits, ctx ends or the only request is
// answered.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	d := &desk{Options: o, events: make(chan *wire.Approval), failed: make(chan error, 1), ours: map[string]bool{}}
	defer func() {
		cancel()
		if d.client != nil {
			d.client.Close()
		}
	}()
	go func() {
		d.failed <- o.Feed(ctx, func(a *wire.Approval) error {
			select {
			case d.events <- a:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	err := d.run(ctx)
	switch {
	case errors.Is(err, errQuit), err == io.EOF:
		return nil
	case errors.Is(err, term.ErrNoTerminal):
		return fail.Usage("there is no terminal to ask on").WithHint("kx approve list").Because(err)
	}
	return err
}

func (d *desk) run(ctx context.Context) error {
	if err := d.gather(ctx); err != nil {
		return err
	}
	said := false
	for d.over == "" {
		if len(d.waiting) > 0 {
			said = false
			if err := d.next(ctx); err != nil {
				return err
			}
			continue
		}
		if !said {
			said = true
			d.say("Nothing waits. New requests appear here; Ctrl-C ends.")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-d.failed:
			return err
		case a := <-d.events:
			if d.take(a); len(d.waiting) > 0 {
				d.ring()
			}
		}
	}
	if d.over == wire.ApprovalExpired || d.over == wire.ApprovalCancelled {
		return d.decided(d.over)
	}
	return nil
}

// decided is why a single request can't be answered.
func (d *desk) decided(state string) error {
	return fail.Conflict("already_decided", "request %s is %s already", d.ID, state).WithHint("kx approve show %s", d.ID)
}

// gather takes what waits already.
func (d *desk) gather(ctx context.Context) error {
	quiet := time.NewTimer(start)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-d.failed:
			return err
		case a := <-d.events:
			d.take(a)
			quiet.Reset(burst)
		case <-quiet.C:
			return d.find()
		}
	}
}

// find looks for the only request, if it was not told of.
func (d *desk) find() error {
	if d.ID == "" || len(d.waiting) > 0 || d.over != "" {
		return nil
	}
	a, err := d.Get(d.ID)
	if err != nil {
		return err
	}
	if a.State != wire.ApprovalPending {
		return d.decided(a.State)
	}
	d.take(a)
	return nil
}

// take notes a request or its answer. It returns what there is to say of it.
func (d *desk) take(a *wire.Approval) string {
	if d.ID != "" && a.ID != d.ID {
		return ""
	}
	i := slices.IndexFunc(d.waiting, func(have *wire.Approval) bool { return have.ID == a.ID })
	switch {
	case a.State == wire.ApprovalPending && i < 0 && !d.ours[a.ID]:
		d.waiting = append(d.waiting, a)
		return out.Sprintf("New request %s from %s: %s %s. %d wait.", a.ID, a.Caller, a.Tool, out.Block(sheet.Brief(d.Reader.Hidden(a))), len(d.waiting))
	case a.State == wire.ApprovalPending || i < 0:
		return ""
	}
	d.drop(i, a.State)
	return out.Sprintf("Request %s %s.", a.ID, became[a.State])
}

// became says what happened to a request that was not answered here.
var became = map[string]string{
	wire.ApprovalAllowed:   "was allowed elsewhere",
	wire.ApprovalSpent:     "was allowed elsewhere, and used",
	wire.ApprovalDenied:    "was denied elsewhere",
	wire.ApprovalAnswered:  "was answered elsewhere",
	wire.ApprovalExpired:   "has expired: nobody waits for it any more",
	wire.ApprovalCancelled: "was cancelled: its run was stopped",
}

// drop takes a request off the desk.
func (d *desk) drop(i int, state string) {
	d.waiting = slices.Delete(d.waiting, i, i+1)
	if d.at > i || d.at == len(d.waiting) && d.at > 0 {
		d.at--
	}
	if d.ID != "" {
		d.over = state
	}
}

// next presents the request whose turn it is, and asks about it.
func (d *desk) next(ctx context.Context) error {
	a := d.waiting[d.at]
	d.say("")
	d.say("Request %s, %d of %d, asked %s ago by %s: %s", a.ID, d.at+1, len(d.waiting), ago(d.App.Now().Sub(a.CreatedAt)), a.Caller, a.Tool)
	d.show(d.Reader.Read(a))
	if len(a.Questions) > 0 {
		return d.questions(ctx, a)
	}
	return d.decide(ctx, a)
}

// say writes a line; what is not a Block stays on it.
func (d *desk) say(format string, args ...any) {
	_ = d.App.Printer().Text(func(t *out.Text) { t.Printf(format+"\n", args...) }) // a terminal that is gone ends the next question
}

// show writes a sheet without its looks.
func (d *desk) show(s *sheet.Sheet) {
	for _, p := range s.Parts {
		if p.Name != "" {
			d.say("%s:", p.Name)
		}
		for _, l := range p.Lines {
			d.say("  %s", l.Text)
		}
	}
}

func (d *desk) ring() {
	if d.Bell {
		_ = d.App.IO.Bell() // it is only a sound
	}
}

// errGone says that the request of a question has been answered elsewhere.
var errGone = errors.New("answered elsewhere")

// ask asks about a request. What happens meanwhile is told between; if the request
// itself is answered, the question is taken back.
func (d *desk) ask(ctx context.Context, a *wire.Approval, prompt string) (string, error) {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		line string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		line, err := d.App.IO.Ask(asking, prompt)
		answered <- answer{line, err}
	}()
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case err := <-d.failed:
			return "", err
		case got := <-answered:
			return strings.TrimSpace(got.line), got.err
		case e := <-d.events:
			text := d.take(e)
			if text == "" {
				continue
			}
			d.say("\n%s", out.Block(text))
			if !slices.ContainsFunc(d.waiting, func(have *wire.Approval) bool { return have.ID == a.ID }) {
				return "", errGone
			}
			if e.State == wire.ApprovalPending {
				d.ring()
			}
			d.say("%s", prompt)
		}
	}
}

// ago is a duration in words.
func ago(t time.Duration) string {
	n, unit := int(t/time.Second), "second"
	for _, u := range []struct {
		size int
		name string
	}{{60, "minute"}, {60, "hour"}, {24, "day"}} {
		if n < 2*u.size {
			break
		}
		n, unit = n/u.size, u.name
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", max(n, 0), unit)
}

// send has an answer written. The host may have gone since the last one.
func (d *desk) send(ctx context.Context, a *wire.Approval, do func(c *approve.Client) (*wire.Approval, error)) (*wire.Approval, error) {
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	done, err := do(d.client)
	if err = site.Failure(err); err != nil {
		if fail.Exit(err) == fail.ExitUnavailable {
			d.client.Close()
			d.client = nil
		}
		return nil, err
	}
	d.ours[a.ID] = true
	if i := slices.IndexFunc(d.waiting, func(have *wire.Approval) bool { return have.ID == a.ID }); i >= 0 {
		d.drop(i, done.State)
	}
	return done, nil
}

// connect opens the connection of the answers, if it is not open.
func (d *desk) connect(ctx context.Context) (err error) {
	if d.client == nil {
		d.client, err = d.Client(ctx)
	}
	return err
}

// tell says why something was not done. Only what ends the whole is returned.
func (d *desk) tell(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := fail.As(err)
	d.say("Not done: %s", e.Msg)
	if e.Hint != "" {
		d.say("hint: %s", e.Hint)
	}
	return nil
}
