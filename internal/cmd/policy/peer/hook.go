// Package peer is the verbs of kx policy that have to do with other agents: hook,
// install, uninstall, doctor and import. What the agents are like is known to
// internal/gate/client.
package peer

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/lines"
	"github.com/kxtools/kx/internal/base/signals"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate"
	"github.com/kxtools/kx/internal/gate/client"
	"github.com/kxtools/kx/pkg/wire"
)

// HookOptions of kx policy hook.
type HookOptions struct {
	App  *app.App
	Site *site.Site

	Client string
	OnAsk  string
	Wait   time.Duration
}

// hookWait is how long a call is held for an answer: as long as a request lives that
// nobody waits for. What install writes lets the client wait longer.
const hookWait = 5 * time.Minute

// NewHook returns the command; a nil run is the real one.
func NewHook(a *app.App, run func(context.Context, *HookOptions) error) *app.Command {
	o := &HookOptions{App: a, Site: site.Of(a)}
	if run == nil {
		run = hook
	}
	return &app.Command{
		Name:  "hook",
		Usage: "answer the hook of another agent",
		What: `
Reads from the standard input what the client tells of a call that it is about to make, decides it as any other call, and answers in the client's own words: Claude Code and Codex ask by PreToolUse and PermissionRequest, Gemini CLI by BeforeTool. kx policy install writes the entry that runs this.

A call that needs a person is parked like one of kx call. With --on-ask deny it is refused, and allowed, once, when the same call comes again after kx approve allow. With wait it is held until the answer, up to --wait. With defer, which Claude Code knows alone, the client stops and makes the call again when it is resumed. The default is deny, for Codex wait.

Whatever goes wrong stops the call, and so does an answer that takes longer than 20 s, or than --wait and 20 s: the exit status is 2 then, which every client takes for a no. No call gets a wider mode than default. The walls of kx do not stand around what a client runs; its own do.
`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "client", Usage: "the `CLIENT` that asks: claude, codex or gemini", Destination: &o.Client},
			&cli.StringFlag{Name: "on-ask", Usage: "what becomes of a call that needs a person: `HOW` is deny, wait or defer", Destination: &o.OnAsk},
			&cli.DurationFlag{Name: "wait", Usage: "hold a call for up to `DUR`", Value: hookWait, Destination: &o.Wait},
		},
		Examples: []app.Example{{Line: "kx policy hook --client claude < record.json"}, {Line: "kx policy hook --client codex --on-ask wait --wait 2m"}},
		Exits: []app.Exit{
			{Status: 0, Means: "the answer is on the standard output; Codex takes an empty one for an allow"},
			{Status: 2, Means: "the call must not run; why stands on the standard error"},
		},
		Complete: map[string]app.Completer{"client": app.Values(client.Names()...), "on-ask": app.Values(client.Deny, client.Wait, client.Defer)},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

// hook answers. Whatever fails ends with the status that every client takes for a
// no, and its words are for a model to read.
func hook(ctx context.Context, o *HookOptions) error {
	said, err := answer(ctx, o)
	if err == nil {
		err = o.App.Printer().Raw(said)
	}
	if err == nil {
		return nil
	}
	fmt.Fprintf(o.App.IO.Err, "kx: %s\n", reason(fail.As(signals.Named(ctx, err)).Wire()))
	return app.Status(fail.ExitUsage)
}

func answer(ctx context.Context, o *HookOptions) ([]byte, error) {
	c, err := client.Of(o.Client)
	if err != nil {
		return nil, err
	}
	onAsk, err := c.Asked(o.OnAsk)
	if err != nil {
		return nil, err
	}
	limit := client.Limit
	if onAsk == client.Wait {
		limit += o.Wait
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	raw, err := lines.ReadObject(o.App.IO.Input(ctx), client.MaxRecord)
	if err != nil {
		return nil, err
	}
	r, err := c.Read(raw)
	if err != nil {
		return nil, err
	}
	call, err := c.Call(r)
	if err != nil {
		return nil, err
	}
	res, err := permit(ctx, o, c, r, call, onAsk)
	if err != nil {
		return nil, err
	}
	return c.Say(r.Event, verdict(res, onAsk))
}

// permit takes the call through the gate, where the client makes it.
func permit(ctx context.Context, o *HookOptions, c *client.Client, r *client.Record, call *client.Call, onAsk string) (*wire.Result, error) {
	if _, err := o.Site.Dirs(); err != nil { // before the folder changes
		return nil, err
	}
	if err := os.Chdir(r.Cwd); err != nil {
		return nil, fail.Usage("the folder of the call can't be entered: %v", err)
	}
	if err := o.Site.EnterClient(c.Name); err != nil {
		return nil, err
	}
	opts, err := o.Site.SharedSession(o.App.Globals.Session)
	if err != nil {
		return nil, err
	}
	opts.Caller, opts.Foreign = o.Site.Caller(c.Name), true
	if onAsk == client.Wait {
		opts.Wait = o.Wait
	}
	g, err := o.Site.Gate(opts)
	if err != nil {
		return nil, err
	}
	b, err := g.Begin()
	if err != nil {
		return nil, err
	}
	return b.Permit(ctx, gate.Foreign(*call)), nil
}

// verdict is what the client has to hear. Nothing but a call that is allowed is
// allowed.
func verdict(res *wire.Result, onAsk string) client.Answer {
	switch {
	case res.Status == wire.StatusOK:
		return client.Answer{Verdict: client.Allow, Reason: res.Decision.Reason}
	case res.Status == wire.StatusPending && onAsk == client.Defer:
		return client.Answer{Verdict: client.Defer, Reason: reason(res.Error)}
	case res.Status == wire.StatusPending:
		return client.Answer{Verdict: client.Deny, Reason: reason(res.Error) + "; make the same call again after the answer"}
	}
	return client.Answer{Verdict: client.Deny, Reason: reason(res.Error)}
}

// reason is an error on one line.
func reason(e *wire.Error) string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}
