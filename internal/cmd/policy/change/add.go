// Package change adds rules to those of a person and removes them.
package change

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/policy/view"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/rules"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/rulefile"
	"github.com/kxtools/kx/pkg/wire"
)

// Human lets a person decide about a command line, see site.Human.
type Human func(ctx context.Context, line, question string) (wire.Decider, error)

// AddOptions of kx policy add.
type AddOptions struct {
	App   *app.App
	Open  func() (*view.Deps, error)
	Human Human

	Rule   selector
	Reason string
}

// NewAdd returns the command; a nil run is the real one.
func NewAdd(a *app.App, run func(context.Context, *AddOptions) error) *app.Command {
	o := &AddOptions{App: a, Open: func() (*view.Deps, error) { return view.Open(a) }, Human: site.Of(a).Human}
	if run == nil {
		run = addRule
	}
	return &app.Command{
		Name:  "add",
		Usage: "add a rule",
		What: `
Writes a rule behind those of the user's policy.toml, where all else stays as it is, or gives it to a session. The rule is literal: it matches exactly what is given, and a * is a *, unless --glob says that it is any rest. A relative path is one of whichever workspace a call is in.

What could never decide a call, because another rule stands above it or nothing meets it, is not written. A rule that is there already is not written again.

In the session of a workspace's calls (cli-...) an allow lasts for 8 hours and for one caller, --as NAME. Only a person may add rules: on a terminal, or with the approver key in --key FILE.
`,
		Flags: append(o.Rule.flags(), &cli.StringFlag{Name: "reason", Usage: "of the rule: `TEXT` that a denied or asked call gets", Destination: &o.Reason}),
		Examples: []app.Example{
			{Line: "kx policy add --tool bash --command 'git status' --decision allow"},
			{Line: "kx policy add --tool bash --glob --command 'git push *' --decision deny --final --reason 'ask in the channel first'"},
			{Line: "kx policy add --effect read --glob --path '**/.env*' --decision deny --final"},
			{Line: "kx policy add --scope session --session a3fk --tool write_file --path notes.md --decision allow"},
		},
		Exits: []app.Exit{
			{Status: fail.ExitUsage, Means: "the rule is not valid, or would never decide anything: nothing was written"},
			{Status: fail.ExitDenied, Means: "nobody confirmed it"},
			{Status: fail.ExitNotFound, Means: "no such session"},
		},
		Complete: selectorValues,
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func addRule(ctx context.Context, o *AddOptions) error {
	scope, err := o.Rule.scope(o.App.Globals.Session)
	if err != nil {
		return err
	}
	if o.Rule.Decision == "" {
		return fail.Usage("say what the rule decides: --decision allow, ask or deny").WithHint("kx policy add --help")
	}
	r, err := o.Rule.rule(scope)
	if err != nil {
		return err
	}
	r.Reason = o.Reason
	d, err := o.Open()
	if err != nil {
		return err
	}
	return Add(ctx, o.App, d, o.Human, "kx policy add", []policy.Rule{r}, o.Rule.starred())
}

// Add checks rules of one scope, asks a person, and writes those that are not there
// yet.
func Add(ctx context.Context, a *app.App, d *view.Deps, human Human, line string, list []policy.Rule, starred bool) error {
	scope := list[0].Scope
	have := ofScope(d, scope)
	add := rules.Missing(have, list)
	warnings, err := rules.Check(have, add)
	if err != nil {
		return err
	}
	if len(add) == 0 {
		return printRules(a, "unchanged", there(d, scope, list))
	}
	for _, w := range warnings {
		a.Note("note: %s", d.Shortened(w))
	}
	if starred {
		a.Note("note: the * is taken as itself; with --glob it stands for any rest")
	}
	by, err := human(ctx, line, question("add", "to "+where(scope, a), add))
	if err != nil {
		return err
	}
	c, err := changes(a)
	if err != nil {
		return err
	}
	if scope == policy.Session {
		if err := c.AddSession(add, by); err != nil {
			return err
		}
	} else if add, err = c.AddUser(add, by); err != nil {
		return err
	}
	return printRules(a, "added", add)
}

// question asks for rules in the words of a policy file.
func question(verb, where string, list []policy.Rule) string {
	var b strings.Builder
	for i := range list {
		b.WriteString(rulefile.TOML(&list[i]))
	}
	if len(list) == 1 {
		return out.Sprintf("%s\n%s this rule %s?", out.Block(b.String()), verb, where)
	}
	return out.Sprintf("%s\n%s these %d rules %s?", out.Block(b.String()), verb, len(list), where)
}

// where names the place of a scope for a person.
func where(scope policy.Scope, a *app.App) string {
	if scope == policy.Session {
		return "session " + a.Globals.Session
	}
	return "policy.toml"
}

// ofScope returns the rules of a scope that are in force.
func ofScope(d *view.Deps, scope policy.Scope) []policy.Rule {
	var list []policy.Rule
	for _, r := range d.Judge.Rules.Set.Rules() {
		if r.Scope == scope {
			list = append(list, r)
		}
	}
	return list
}

// there returns the rules in force that say the same as those of the list.
func there(d *view.Deps, scope policy.Scope, list []policy.Rule) []policy.Rule {
	var found []policy.Rule
	for _, h := range ofScope(d, scope) {
		for i := range list {
			if rules.Same(&h, &list[i]) {
				found = append(found, h)
				break
			}
		}
	}
	return found
}

// changes opens what rules are changed by.
func changes(a *app.App) (*rules.Changes, error) {
	s := site.Of(a)
	dirs, err := s.Dirs()
	if err != nil {
		return nil, err
	}
	st, err := s.State()
	if err != nil {
		return nil, err
	}
	return &rules.Changes{Config: dirs.Config, UID: dirs.UID, State: st, Now: a.Now, Session: a.Globals.Session, Caller: s.Caller("cli")}, nil
}

// ChangeDoc is a rule that was added or removed, or was there already.
type ChangeDoc struct {
	Type   string     `json:"type"`
	V      int        `json:"v"`
	Action string     `json:"action"` // added, unchanged, removed
	Rule   *wire.Rule `json:"rule"`
}

func printRules(a *app.App, action string, list []policy.Rule) error {
	p := a.Printer()
	if p.Format().Data() {
		var docs []ChangeDoc
		for i := range list {
			docs = append(docs, ChangeDoc{"rule_change", wire.Version, action, list[i].Wire()})
		}
		if len(docs) == 1 {
			return p.Record(docs[0], nil)
		}
		return out.List(p, out.Columns[ChangeDoc]{}, docs)
	}
	return p.Text(func(t *out.Text) {
		for i := range list {
			w := list[i].Wire()
			t.Printf("%s  %s %s  %s\n", action, string(w.Decision), view.RuleText(w), view.Source(w))
		}
	})
}
