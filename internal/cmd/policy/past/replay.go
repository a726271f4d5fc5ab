// Package past is what policy has to say of calls that are in the record.
package past

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/policy/view"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/replay"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/wire"
)

// ReplayOptions of kx policy replay.
type ReplayOptions struct {
	App  *app.App
	Open func(file string) (replay.Options, error)

	Policy string
	Since  string
}

// ReplayChangeDoc is a recorded call that another policy decides in another way.
type ReplayChangeDoc struct {
	Type      string          `json:"type"`
	V         int             `json:"v"`
	CallID    string          `json:"call_id"`
	At        time.Time       `json:"at"`
	Session   string          `json:"session"`
	Workspace string          `json:"workspace"`
	Cwd       string          `json:"cwd"`
	Mode      string          `json:"mode"`
	Tool      string          `json:"tool"`
	Input     json.RawMessage `json:"input"`
	Then      wire.Verdict    `json:"then"`
	Now       wire.Verdict    `json:"now"`
	Rule      *wire.Rule      `json:"rule"`
	Guard     *wire.Guard     `json:"guard,omitempty"`
	Reason    string          `json:"reason"`
}

// ReplayDoc sums a replay up.
type ReplayDoc struct {
	Type          string         `json:"type"`
	V             int            `json:"v"`
	Calls         int            `json:"calls"`
	Unchanged     int            `json:"unchanged"`
	Changed       map[string]int `json:"changed"`        // by "then_now", such as allow_ask
	DamagedLines  int            `json:"damaged_lines"`  // of the record
	DamagedInputs int            `json:"damaged_inputs"` // calls whose input is missing or damaged
	NotJudged     int            `json:"not_judged"`     // calls in workspaces whose own policy is not valid
}

// NewReplay returns the command; a nil run is the real one.
func NewReplay(a *app.App, run func(context.Context, *ReplayOptions) error) *app.Command {
	o := &ReplayOptions{App: a, Open: func(file string) (replay.Options, error) { return OpenReplay(a, file) }}
	if run == nil {
		run = replayCalls
	}
	return &app.Command{
		Name:  "replay",
		Usage: "decide the recorded calls again under another policy",
		What: `
Judges every call of the record again, in its mode and where it was made, with FILE in the place of the user's policy.toml, and shows those that come to something else. The rules of each workspace that is trusted are those of today, and so are hard protections; paths lead where they lead today. The rules that its session had count for a call, too.

Then and now are what policy and mode say, without anybody's answer: a call that asked and was allowed by a person has changed if it would not ask now.

Nothing runs and nothing is written. Inputs that are missing or damaged are counted and left out.
`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "policy", Usage: "the policy `FILE` to try", Destination: &o.Policy},
			&cli.StringFlag{Name: "since", Usage: "only calls from `TIME` on: RFC 3339, a date, or how long ago", Destination: &o.Since},
		},
		Examples: []app.Example{
			{Line: "kx policy replay --policy stricter.toml --since 30d"},
			{Line: `kx policy replay --policy stricter.toml -o jsonl | jq -r 'select(.now == "deny").input.command'`},
		},
		Exits:    []app.Exit{{Status: fail.ExitNotFound, Means: "there is no such file"}},
		Complete: map[string]app.Completer{"policy": app.Files},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

// OpenReplay opens the record, and judges of a policy file; "" is the user's own.
func OpenReplay(a *app.App, file string) (replay.Options, error) {
	s := site.Of(a)
	base, err := s.Judging()
	if err != nil {
		return replay.Options{}, err
	}
	base.Mode = ""
	if file != "" {
		if base.Policy, err = view.Tried(s, file); err != nil {
			return replay.Options{}, err
		}
	}
	j, err := judge.Open(base) // the surface is the same everywhere
	if err != nil {
		return replay.Options{}, err
	}
	reg, err := s.Tools(j)
	if err != nil {
		return replay.Options{}, err
	}
	return replay.Options{
		Log:    audit.New(base.State, a.Now),
		Loaded: func(name string) bool { return reg.Get(name) != nil },
		Open: func(workspace string, granted []policy.Rule) (*judge.Judge, error) {
			o := base
			o.Workspace, o.Cwd, o.Granted = workspace, workspace, granted
			return judge.Open(o)
		},
	}, nil
}

func replayCalls(ctx context.Context, o *ReplayOptions) error {
	if o.Policy == "" {
		return fail.Usage("say which policy to try: --policy FILE").WithHint("kx policy replay --help")
	}
	since, err := app.Moment("kx policy replay --policy "+o.Policy, "since", o.Since, o.App.Now())
	if err != nil {
		return err
	}
	opts, err := o.Open(o.Policy)
	if err != nil {
		return err
	}
	opts.Since = since
	p := o.App.Printer()
	if p.Format().Data() {
		return out.Each(p, out.Columns[any]{}, func(emit func(any) error) error {
			sum, err := replay.Run(ctx, opts, func(c *replay.Call) error { return emit(changeDoc(c)) })
			if err != nil {
				return err
			}
			return emit(sumDoc(&sum))
		})
	}
	var changed []ReplayChangeDoc
	sum, err := replay.Run(ctx, opts, func(c *replay.Call) error { changed = append(changed, changeDoc(c)); return nil })
	if err != nil {
		return err
	}
	if err := p.Text(func(t *out.Text) { t.Printf("%s\n", sentence(&sum)) }); err != nil {
		return err
	}
	tellSkipped(o.App, &sum.Skipped)
	if len(changed) == 0 {
		return nil
	}
	return out.List(p, replayColumns, changed)
}

func changeDoc(c *replay.Call) ReplayChangeDoc {
	d := c.Decision
	return ReplayChangeDoc{
		Type: "replay_change", V: wire.Version, CallID: c.ID, At: c.At, Session: c.Session, Workspace: c.Workspace, Cwd: c.Cwd, Mode: c.Mode,
		Tool: c.Tool, Input: c.Input, Then: c.Then, Now: c.Now, Rule: d.Rule, Guard: d.Guard, Reason: d.Reason,
	}
}

func sumDoc(s *replay.Summary) ReplayDoc {
	d := ReplayDoc{
		Type: "replay", V: wire.Version, Calls: s.Calls, Unchanged: s.Unchanged, Changed: map[string]int{},
		DamagedLines: s.Lines, DamagedInputs: s.Inputs, NotJudged: s.Workspaces,
	}
	for k, n := range s.Changed {
		d.Changed[string(k[0])+"_"+string(k[1])] = n
	}
	return d
}

// verdicts in the order in which changes are told: what gets stricter first.
var verdicts = []wire.Verdict{wire.Allow, wire.Ask, wire.Deny}

func sentence(s *replay.Summary) string {
	parts := []string{thousands(s.Calls) + " calls"}
	if s.Calls == 1 {
		parts[0] = "1 call"
	}
	parts = append(parts, thousands(s.Unchanged)+" unchanged")
	for _, then := range verdicts {
		for _, now := range verdicts {
			if n := s.Changed[[2]wire.Verdict{then, now}]; n > 0 {
				parts = append(parts, fmt.Sprintf("%s %s → %s", thousands(n), then, now))
			}
		}
	}
	return strings.Join(parts, " · ")
}

// thousands writes a number as people read it.
func thousands(n int) string {
	s := fmt.Sprint(n)
	var groups []string
	for len(s) > 3 {
		groups = append(groups, s[len(s)-3:])
		s = s[:len(s)-3]
	}
	groups = append(groups, s)
	slices.Reverse(groups)
	return strings.Join(groups, ",")
}

// tellSkipped says what could not be judged.
func tellSkipped(a *app.App, s *replay.Skipped) {
	if s.Lines > 0 {
		a.Note("note: %s of the record left out; kx audit verify says where", view.Count(s.Lines, "damaged line is", "damaged lines are"))
	}
	if s.Inputs > 0 {
		a.Note("note: %s left out: the exact input is missing or damaged", view.Count(s.Inputs, "call is", "calls are"))
	}
	if s.Workspaces > 0 {
		a.Note("note: %s left out: %v", view.Count(s.Workspaces, "call is", "calls are"), s.First)
	}
}

// shortInput is how much of an input stands in a table.
const shortInput = 60

var replayColumns = out.Columns[ReplayChangeDoc]{
	Header: []string{"THEN", "NOW", "TOOL", "INPUT", "CALL", "RULE", "SOURCE"},
	Row: func(d ReplayChangeDoc) []string {
		rule, src := view.RuleText(d.Rule), view.Source(d.Rule)
		switch {
		case d.Guard != nil:
			rule, src = "guard "+d.Guard.Name, ""
		case d.Rule == nil:
			rule = d.Reason
		}
		return []string{string(d.Then), string(d.Now), d.Tool, brief(d.Input), d.CallID, rule, src}
	},
}

// brief is the part of an input that tells most.
func brief(input json.RawMessage) string {
	var in map[string]any
	text := string(input)
	if json.Unmarshal(input, &in) == nil {
		for _, field := range []string{"command", "path", "url"} {
			if s, ok := in[field].(string); ok {
				text = s
				break
			}
		}
	}
	if r := []rune(text); len(r) > shortInput {
		text = string(r[:shortInput-1]) + "…"
	}
	return text
}
