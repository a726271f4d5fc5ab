package audit

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/record/audit"
)

// ListOptions of kx audit list.
type ListOptions struct {
	App  *app.App
	Open func() (*audit.Log, error)

	Session   string // empty: the global --session
	Tool      string
	Decision  string
	DecidedBy string
	Since     string
	Until     string
}

// What may be asked for.
var (
	decisions = []string{"allow", "ask", "deny"}
	deciders  = []string{"rule", "mode", "guard", "hook", "human", "timeout", "scope"}
)

// NewList returns the command; a nil run is the real one.
func NewList(a *app.App, run func(context.Context, *ListOptions) error) *app.Command {
	o := &ListOptions{App: a, Open: func() (*audit.Log, error) { return open(a) }}
	if run == nil {
		run = list
	}
	return &app.Command{
		Name:  "list",
		Usage: "list the lines of the record",
		What: `
Lists the record, oldest first. With --session only the lines of that session, with --tool those of a tool; --decision and --decided-by choose among decisions.

Times are RFC 3339, a date, or how long ago: 90m, 24h, 30d.
`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "tool", Usage: "only the tool `NAME`; a last * stands for any rest", Destination: &o.Tool},
			&cli.StringFlag{Name: "decision", Usage: "only decisions that are `WORD`: allow, ask or deny", Destination: &o.Decision},
			&cli.StringFlag{Name: "decided-by", Usage: "only decisions by `WHOM`: " + strings.Join(deciders, ", "), Destination: &o.DecidedBy},
			&cli.StringFlag{Name: "since", Usage: "only lines from `TIME` on", Destination: &o.Since},
			&cli.StringFlag{Name: "until", Usage: "only lines before `TIME`", Destination: &o.Until},
		},
		Examples: []app.Example{
			{Line: "kx audit list --since 24h", Does: "the last day"},
			{Line: "kx audit list --decided-by human -o jsonl | jq -r .rule.tool", Does: "what people were asked about"},
		},
		Exits: []app.Exit{{Status: fail.ExitFailed, Means: "a line of the record is damaged; the others were listed"}},
		Complete: map[string]app.Completer{
			"decision":   app.Values(decisions...),
			"decided-by": app.Values(deciders...),
		},
		Run: func(ctx context.Context, _ []string) error {
			o.Session = a.Globals.Session
			return run(ctx, o)
		},
	}
}

var columns = out.Columns[audit.Entry]{
	Header: []string{"SEQ", "AT", "LINE", "WHAT", "TOOL", "BY", "SESSION", "CALL"},
	Row: func(e audit.Entry) []string {
		by := ""
		if e.DecidedBy != nil {
			by = e.DecidedBy.Kind
		}
		line := e.Type
		if line == audit.TypeDecision {
			line = "decision"
		}
		what := strings.Join(slices.DeleteFunc([]string{string(e.Decision), string(e.Status), e.State, e.Action}, func(s string) bool { return s == "" }), " ")
		return []string{strconv.FormatInt(e.Seq, 10), e.At.Local().Format(time.DateTime), line, what, e.Tool, by, e.Session, e.CallID}
	},
	Empty: "no line of the record is of that kind",
}

func list(ctx context.Context, o *ListOptions) error {
	f := audit.Filter{Session: o.Session, Tool: o.Tool, Decision: o.Decision, DecidedBy: o.DecidedBy}
	var err error
	if f.Since, err = app.Moment("kx audit list", "since", o.Since, o.App.Now()); err != nil {
		return err
	}
	if f.Until, err = app.Moment("kx audit list", "until", o.Until, o.App.Now()); err != nil {
		return err
	}
	if err := oneOf("decision", o.Decision, decisions); err != nil {
		return err
	}
	if err := oneOf("decided-by", o.DecidedBy, deciders); err != nil {
		return err
	}
	log, err := o.Open()
	if err != nil {
		return err
	}
	var damaged error
	err = out.Each(o.App.Printer(), columns, func(emit func(audit.Entry) error) error {
		for e, err := range log.List(f) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil && damaged == nil {
				damaged = err
			}
			if err != nil {
				continue
			}
			if err := emit(e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return damaged
}

func oneOf(flag, value string, known []string) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	if near := argv.Nearest(value, known); near != "" {
		return fail.Usage("--%s %q: did you mean %s?", flag, value, near).WithHint("kx audit list --%s %s", flag, near)
	}
	return fail.Usage("--%s %q: expected %s", flag, value, strings.Join(known, ", ")).WithHint("kx audit list --help")
}
