// Package approve is kx approve: a person answers what the gate asks.
package approve

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/wire"
)

// New returns the noun.
func New(a *app.App) *app.Command {
	return screened(a, &app.Command{
		Name:  "approve",
		Usage: "answer the requests that wait for a person",
		What: `
A call that rules don't settle waits as a request: a file that survives any restart. Answer it here, in another terminal; the same call then runs, once. An id may be cut to a beginning that only it has.

Without a command, on a terminal, it shows what waits, live: each request in full, what was decided of its parts, and which rules an answer for longer would add. Keys answer: a once, s for the session, A always, d no, n no with a note, e edit first; ? tells them all. A key that answers counts only when nothing has changed under it for 0.3 s. With --plain, and on a terminal that can't move its cursor (TERM=dumb), it asks line by line.

Allow and deny are for people: they ask on the terminal, or take the approver key with --key for scripts. The first answer wins and is final.
`,
		Examples: []app.Example{
			{Line: "kx approve", Does: "what waits, live"},
			{Line: "kx approve 7k2q", Does: "the same, beginning with this request"},
			{Line: "kx approve list"},
			{Line: "kx approve allow 7k2q"},
			{Line: `kx approve deny 7k2q --note "use the staging bucket"`},
		},
		Exits: []app.Exit{
			{Status: 2, Means: "usage, or there is no terminal"}, {Status: 3, Means: "whoever asks is no person"},
			{Status: 5, Means: "the approval host can't be started"}, {Status: 8}, {Status: 130}, {Status: 143},
		},
		Commands: []*app.Command{NewAllow(a, nil), NewAnswer(a, nil), NewDeny(a, nil), NewAllowAll(a, nil), NewDenyAll(a, nil), NewList(a, nil), NewShow(a, nil), NewWait(a, nil), NewWatch(a, nil)},
	}, nil)
}

// open returns the requests of the user. It makes nothing.
func open(a *app.App) (*approval.Store, error) {
	st, err := site.Of(a).Peek()
	if err != nil {
		return nil, err
	}
	return approval.New(st, a.Now), nil
}

// print shows one request: what it would do, where, for whom and why, and how
// it was answered or can be.
func print(a *app.App, r *wire.Approval) error {
	return a.Printer().Record(r, func(t *out.Text) {
		t.Printf("%s  %s  %s  %s ago\n", t.Paint(out.Bold, r.ID), r.State, r.Tool, age(a.Now(), r.CreatedAt))
		about := fields(r.Input)
		if r.Kind == approval.KindQuestion {
			about = questions(r)
		}
		lines := append(about, [][2]string{
			{"in", r.Cwd}, {"session", r.Session}, {"caller", r.Caller}, {"sandbox", r.Sandbox}, {"why", r.Reason}, {"it says", r.Preview},
		}...)
		if r.DecidedBy != nil {
			by := fmt.Sprintf("pid %d %s %s", r.DecidedBy.PID, r.DecidedBy.Exe, r.DecidedBy.TTY)
			lines = append(lines, [2]string{"by", strings.TrimSpace(by)}, [2]string{"note", r.Note})
		}
		if r.InputEdited {
			lines = append(lines, [2]string{"input", "changed by the answer"})
		}
		for _, rule := range r.Rules {
			lines = append(lines, [2]string{"rule", ruleText(&rule)})
		}
		until, what := r.ExpiresAt, "expires"
		if r.State == wire.ApprovalAllowed {
			until, what = r.SpendBy, "use it"
		}
		if until != nil && (r.State == wire.ApprovalPending || r.State == wire.ApprovalAllowed) {
			lines = append(lines, [2]string{what, "within " + age(*until, a.Now())})
		}
		width := 0
		for _, l := range lines {
			width = max(width, len(l[0]))
		}
		for _, l := range lines {
			if l[1] != "" {
				text := strings.TrimSuffix(l[1], "\n")
				t.Printf("  %-*s  %s\n", width, l[0], out.Block(strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", width+4))))
			}
		}
	})
}

// questions lists what is asked, its options by number, and what was answered.
func questions(r *wire.Approval) [][2]string {
	var list [][2]string
	for i, q := range r.Questions {
		name, several := "question", ""
		if len(r.Questions) > 1 {
			name = fmt.Sprintf("%d", i+1)
		}
		if q.MultiSelect {
			several = "  (several)"
		}
		list = append(list, [2]string{name, q.Question + several})
		for j, o := range q.Options {
			text := fmt.Sprintf("%d  %s", j+1, o.Label)
			if o.Description != "" {
				text += ": " + o.Description
			}
			for _, a := range r.Answers {
				if a.QuestionID == q.ID && slices.Contains(a.SelectedOptionIDs, o.ID) {
					text += "  ✓"
				}
			}
			list = append(list, [2]string{"", text})
		}
		for _, a := range r.Answers {
			if a.QuestionID == q.ID && a.FreeformAnswer != "" {
				list = append(list, [2]string{"answer", a.FreeformAnswer})
			}
		}
	}
	return list
}

// ruleText writes a rule that an answer made, as it would be written by hand.
func ruleText(r *wire.Rule) string {
	parts := []string{"tool = " + strconv.Quote(r.Tool)}
	if r.Effect != "" {
		parts = append(parts, "effect = "+strconv.Quote(r.Effect))
	}
	for _, k := range slices.Sorted(maps.Keys(r.When)) {
		parts = append(parts, k+" = "+strconv.Quote(r.When[k]))
	}
	return strings.Join(append(parts, "decision = "+strconv.Quote(string(r.Decision))), ", ")
}

// fields takes an input apart, the strings in it as they are.
func fields(input json.RawMessage) [][2]string {
	var in map[string]json.RawMessage
	if json.Unmarshal(input, &in) != nil {
		return [][2]string{{"input", string(input)}}
	}
	var list [][2]string
	for _, k := range slices.Sorted(maps.Keys(in)) {
		v := string(in[k])
		var s string
		if json.Unmarshal(in[k], &s) == nil && s != "" {
			v = s
		}
		list = append(list, [2]string{k, v})
	}
	return list
}

// brief writes an input in one line: the value alone where there is only one
// and it is text.
func brief(input json.RawMessage) string {
	if f := fields(input); len(f) == 1 {
		return term.Line(f[0][1])
	}
	return term.Line(string(input))
}

// age says how long ago something was, in one unit.
func age(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// ids proposes the requests that wait.
func ids(a *app.App) app.Completer {
	return func(_ context.Context, word string) []app.Proposal {
		store, err := open(a)
		if err != nil {
			return nil
		}
		var list []app.Proposal
		pending, _ := store.List(wire.ApprovalPending)
		for _, r := range pending {
			if strings.HasPrefix(r.ID, word) {
				list = append(list, app.Proposal{Value: r.ID, Help: r.Tool + " " + brief(r.Input)})
			}
		}
		return list
	}
}
