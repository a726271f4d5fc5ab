package change

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/policy/view"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/pkg/policy"
)

// RemoveOptions of kx policy remove.
type RemoveOptions struct {
	App   *app.App
	Open  func() (*view.Deps, error)
	Human Human

	Rule  selector
	Which string // FILE:LINE, or a number
}

// NewRemove returns the command; a nil run is the real one.
func NewRemove(a *app.App, run func(context.Context, *RemoveOptions) error) *app.Command {
	o := &RemoveOptions{App: a, Open: func() (*view.Deps, error) { return view.Open(a) }, Human: site.Of(a).Human}
	if run == nil {
		run = removeRule
	}
	return &app.Command{
		Name:  "remove",
		Usage: "remove a rule",
		What: `
Cuts a rule out of the user's policy.toml, or takes it back from a session. Which one: by its number in kx policy rules, by FILE:LINE, or by the flags that kx policy add takes; of several that they fit, none is removed.

In the file the rule goes with its [[rule]], its keys, the lines of comment right above it, and one empty line. All else stays as it is.

Only a person may remove rules: on a terminal, or with the approver key in --key FILE.
`,
		Args:  "[FILE:LINE|NUMBER]",
		Flags: o.Rule.flags(),
		Examples: []app.Example{
			{Line: "kx policy remove policy.toml:12"},
			{Line: "kx policy remove 3"},
			{Line: "kx policy remove --tool bash --command 'git status'"},
			{Line: "kx policy remove --scope session --session a3fk --tool write_file --path notes.md"},
		},
		Exits: []app.Exit{
			{Status: fail.ExitUsage, Means: "several rules fit, or the rule is not one to remove: nothing was written"},
			{Status: fail.ExitDenied, Means: "nobody confirmed it"},
			{Status: fail.ExitConflict, Means: "the file changed while it was looked at"},
			{Status: fail.ExitNotFound, Means: "no such rule"},
		},
		Complete: selectorValues,
		Run: func(ctx context.Context, args []string) error {
			o.Which = strings.Join(args, "")
			return run(ctx, o)
		},
	}
}

func removeRule(ctx context.Context, o *RemoveOptions) error {
	if (o.Which != "") != o.Rule.empty() {
		return fail.Usage("say which rule: FILE:LINE, its number, or flags").WithHint("kx policy rules")
	}
	d, err := o.Open()
	if err != nil {
		return err
	}
	r, err := find(d, o)
	if err != nil {
		return err
	}
	by, err := o.Human(ctx, "kx policy remove", question("remove", "from "+where(r.Scope, o.App), []policy.Rule{r}))
	if err != nil {
		return err
	}
	c, err := changes(o.App)
	if err != nil {
		return err
	}
	if r.Scope == policy.Session {
		err = c.RemoveSession(r, by)
	} else {
		err = c.RemoveUser(r, by)
	}
	if err != nil {
		return err
	}
	return printRules(o.App, "removed", []policy.Rule{r})
}

// find returns the one rule that is meant.
func find(d *view.Deps, o *RemoveOptions) (policy.Rule, error) {
	all := d.Judge.Rules.Set.Rules()
	fits := func(policy.Rule) bool { return false }
	if o.Which != "" {
		n, err := strconv.Atoi(o.Which)
		file, line, ok := strings.Cut(o.Which, ":")
		at, lineErr := strconv.Atoi(line)
		switch {
		case err == nil && n >= 1 && n <= len(all):
			return removable(all[n-1])
		case err == nil:
			return policy.Rule{}, fail.NotFound("no_such_rule", "there is no rule %d", n).WithHint("kx policy rules")
		case !ok || lineErr != nil:
			return policy.Rule{}, fail.Usage("%q is no FILE:LINE and no number", o.Which).WithHint("kx policy rules")
		}
		fits = func(r policy.Rule) bool {
			return r.Line == at && r.File != "" && (r.File == file || view.Short(r.File) == file || filepath.Base(r.File) == file)
		}
	} else {
		scope, err := o.Rule.scope(o.App.Globals.Session)
		if err != nil {
			return policy.Rule{}, err
		}
		want, err := o.Rule.rule(scope)
		if err != nil {
			return policy.Rule{}, err
		}
		fits = func(r policy.Rule) bool { return r.Scope == scope && selects(&want, &r) }
	}
	var found []policy.Rule
	for _, r := range all {
		if fits(r) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return policy.Rule{}, fail.NotFound("no_such_rule", "no rule is like that").WithHint("kx policy rules")
	case 1:
		return removable(found[0])
	}
	var candidates []string
	for i, r := range found {
		if i == maxCandidates {
			candidates = append(candidates, "...")
			break
		}
		candidates = append(candidates, view.Source(r.Wire()))
	}
	return policy.Rule{}, fail.New("ambiguous", fail.ExitUsage, "%d rules are like that: %s", len(found), strings.Join(candidates, ", ")).
		WithHint("kx policy remove %s", candidates[0])
}

// maxCandidates is how many rules a message names.
const maxCandidates = 8

// selects reports whether a rule has all that is wanted of it.
func selects(want, r *policy.Rule) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	if !is(want.Tool, r.Tool) || !is(want.Effect, r.Effect) || !is(want.Command, r.Command) || !is(want.Path, r.Path) || !is(want.URL, r.URL) ||
		!is(string(want.Decision), string(r.Decision)) || !is(want.Sandbox, r.Sandbox) || want.Final && !r.Final {
		return false
	}
	for k, v := range want.Input {
		if have, ok := r.Input[k]; !ok || have != v {
			return false
		}
	}
	return true
}

// removable refuses rules that are not the user's to remove.
func removable(r policy.Rule) (policy.Rule, error) {
	switch r.Scope {
	case policy.Builtin:
		return r, fail.Usage("the built-in rules stay; a rule of yours stands above them").WithHint("kx policy add --help")
	case policy.Project:
		return r, fail.Usage("%s is the project's: change it there, then trust it again", fmt.Sprintf("%s:%d", view.Short(r.File), r.Line)).WithHint("kx trust add")
	}
	return r, nil
}
