package lsp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/call"
	"github.com/kxtools/kx/internal/tools/lsp"
	"github.com/kxtools/kx/pkg/wire"
)

// forPeople is the text of an answer on a terminal.
func forPeople() lsp.Reader { return lsp.Reader{More: "--limit ", Zone: time.Local, Bare: true} }

// reply is what became of a question: an answer, an error, or both.
type reply struct {
	answer *wire.CodeAnswer
	err    *fail.Error
}

// read takes the answer out of a result.
func (o *Options) read(ctx context.Context, r *wire.Result) reply {
	got := reply{lsp.Answer(r.Output), call.Failure(ctx, r)}
	if got.err != nil && got.answer != nil && got.answer.State == wire.CodePending && got.err.Code == wire.CodePending {
		got.err.Msg = fmt.Sprintf("pending: %s; ask again or use --wait %s", got.answer.Reason, longer(o.Wait))
	}
	return got
}

// longer is the next wait to try.
func longer(wait time.Duration) string {
	const first = 30 * time.Second
	next := min(max(3*wait, first), mostWait).Round(time.Second)
	if next%time.Minute == 0 {
		return fmt.Sprintf("%dm", next/time.Minute)
	}
	return fmt.Sprintf("%ds", next/time.Second)
}

// exit is the status of a reply; findings are 1.
func (r reply) exit() int {
	switch {
	case r.err != nil:
		return r.err.Exit
	case r.answer != nil && r.answer.State == wire.CodeFindings:
		return fail.ExitFailed
	}
	return fail.ExitOK
}

// show prints the reply to the only question of a command. text is its form for
// people, nil for the usual one.
func (o *Options) show(r reply, text func(*out.Text)) error {
	if text == nil {
		text = func(t *out.Text) { block(t, lsp.Text(r.answer, forPeople())) }
	}
	if r.answer != nil {
		if err := o.App.Printer().Record(r.answer, text); err != nil {
			return err
		}
	}
	if r.err != nil {
		return r.err
	}
	if r.answer == nil {
		return fail.Failed("bad_answer", "the answer has no state")
	}
	if exit := r.exit(); exit != fail.ExitOK {
		return app.Status(exit)
	}
	return nil
}

func block(t *out.Text, text string) {
	if text = strings.TrimSuffix(text, "\n"); text != "" {
		t.Printf("%s\n", out.Block(text))
	}
}

// question asks one thing and prints the answer.
func (o *Options) question(ctx context.Context, verb string, q wire.CodeQuery) error {
	c, err := o.ask(verb, q, false)
	if err != nil {
		return err
	}
	calls, err := o.Open()
	if err != nil {
		return err
	}
	return o.show(o.read(ctx, calls.One(ctx, c)), nil)
}
