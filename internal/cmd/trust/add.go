package trust

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/rules"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/internal/record/trust"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/wire"
)

// AddOptions of kx trust add.
type AddOptions struct {
	App   *app.App
	Human func(ctx context.Context, line, question string) (wire.Decider, error)

	Level string
	Dir   string // "" is the workspace
}

// NewAdd returns the command; a nil run is the real one.
func NewAdd(a *app.App, run func(context.Context, *AddOptions) error) *app.Command {
	o := &AddOptions{App: a, Human: site.Of(a).Human}
	if run == nil {
		run = add
	}
	return &app.Command{
		Name:  "add",
		Usage: "read and trust the files of a workspace",
		What: `
Shows what the files of the workspace say, or what changed since they were trusted and what that would widen, and asks on the terminal whether to trust it. Files that are not valid are not trusted.

Level files lets the files speak. Level code also lets kx start servers and hooks that run code of the project.

Only a person may do this: on a terminal, or with the approver key in --key FILE.
`,
		Args:  "[DIR]",
		Flags: []cli.Flag{&cli.StringFlag{Name: "level", Value: trust.LevelFiles, Usage: "trust up to `LEVEL`: files or code", Destination: &o.Level}},
		Examples: []app.Example{
			{Line: "kx trust add"},
			{Line: "kx trust add ~/src/clock --level code"},
			{Line: `kx trust add --key "$(kx config path approver-key)"`, Does: "in a script of a person's"},
		},
		Exits: []app.Exit{
			{Status: fail.ExitDenied, Means: "nobody confirmed it"},
			{Status: fail.ExitConflict, Means: "a file changed while it was looked at"},
		},
		Complete: map[string]app.Completer{"": app.Dirs, "level": app.Values(trust.Levels...)},
		Run: func(ctx context.Context, args []string) error {
			o.Dir = strings.Join(args, "")
			return run(ctx, o)
		},
	}
}

func add(ctx context.Context, o *AddOptions) error {
	if !slices.Contains(trust.Levels, o.Level) {
		e := fail.Usage("--level %q: expected files or code", o.Level)
		if near := argv.Nearest(o.Level, trust.Levels); near != "" {
			return e.WithHint("kx trust add --level %s", near)
		}
		return e.WithHint("kx trust add --help")
	}
	s := site.Of(o.App)
	ws, err := workspace(s, o.Dir)
	if err != nil {
		return err
	}
	d, err := s.Dirs()
	if err != nil {
		return err
	}
	if err := paths.CheckWorkspace(ws, d); err != nil {
		return err
	}
	files, err := trust.Read(ws)
	if err != nil {
		return err
	}
	after, err := read(d, ws, files)
	if err != nil {
		return err
	}
	st, err := s.State()
	if err != nil {
		return err
	}
	store := trust.New(st, o.App.Now)
	before, err := store.Get(ws)
	if err != nil {
		return err
	}
	if before.Trusted && before.Level == o.Level && len(before.Changed) == 0 {
		return show(o.App, document(before))
	}
	was, err := read(d, ws, before.Copies)
	if err != nil {
		was = &voice{} // what was trusted is not valid any more: all is new
	}
	by, err := o.Human(ctx, "kx trust add", question(before, o.Level, was.wider(after)))
	if err != nil {
		return err
	}
	line := audit.TrustChange{Type: audit.TypeTrustChange, V: wire.Version, Action: "add", Workspace: ws, Level: o.Level, Files: trust.Digests(files), DecidedBy: by}
	if _, err := audit.New(st, o.App.Now).Append(line, true); err != nil {
		return err
	}
	if _, err := store.Add(ws, o.Level, files); err != nil {
		return err
	}
	now, err := store.Get(ws)
	if err != nil {
		return err
	}
	return show(o.App, document(now))
}

// workspace is the folder that was named, or the one that the command is in.
func workspace(s *site.Site, dir string) (string, error) {
	if dir == "" {
		return s.Workspace()
	}
	return s.Path(dir)
}

func show(a *app.App, d Doc) error {
	return a.Printer().Record(d, func(t *out.Text) {
		t.Printf("%s %s, level %s\n", t.Paint(out.Bold, d.State), d.Workspace, d.Level)
		for _, name := range trust.Names {
			if sum := d.Files[name]; sum != "" {
				t.Printf("  %-16s %.12s\n", name, sum)
			}
		}
	})
}

// question shows a person what there is to decide.
func question(st trust.Status, level string, wider []string) string {
	var b strings.Builder
	say := func(format string, args ...any) { b.WriteString(out.Sprintf(format, args...)) }
	if st.Problem != "" {
		say("%s\n\n", st.Problem)
	}
	for _, c := range st.Changed {
		say("%s\n", out.Block(c.Diff()))
	}
	if !st.Trusted && len(st.Changed) == 0 {
		say("%s has none of %s.\n", st.Workspace, strings.Join(trust.Names, ", "))
	}
	if st.Trusted && len(wider) > 0 {
		say("This would widen what is allowed:\n")
		for _, w := range wider {
			say("  %s\n", w)
		}
	}
	if level == trust.LevelCode && st.Level != trust.LevelCode {
		say("Level code lets kx start servers and hooks that run code of the project.\n")
	}
	say("Trust %s, level %s?", st.Workspace, level)
	return b.String()
}

// voice is what the files of a project say.
type voice struct {
	config *config.Config
	rules  []policy.Rule
}

// read reads what the files would say, so that what is not valid is never
// trusted.
func read(d paths.Dirs, ws string, files map[string][]byte) (*voice, error) {
	c, err := config.Load(d, ws, files)
	if err != nil {
		return nil, err
	}
	c.UserPolicy = nil
	in, err := rules.Load(c)
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(in.Set.Rules(), func(r policy.Rule) bool { return r.Scope != policy.Project })
	return &voice{c, own}, nil
}

// wider lists what next allows beyond v: rules that deny or ask and are gone,
// rules that allow and are new, limits that are higher, a mode that is free.
func (v *voice) wider(next *voice) []string {
	var all []string
	gone, added := differ(v.rules, next.rules), differ(next.rules, v.rules)
	for _, r := range gone {
		if r.Decision != wire.Allow {
			all = append(all, "gone: "+describe(r))
		}
	}
	for _, r := range added {
		if r.Decision == wire.Allow {
			all = append(all, "new:  "+describe(r))
		}
	}
	if v.config == nil {
		return all
	}
	before := map[string]any{}
	for _, s := range v.config.Values {
		before[s.Key] = s.Value
	}
	for _, s := range next.config.Values {
		if old, ok := before[s.Key]; ok && higher(old, s.Value) {
			all = append(all, fmt.Sprintf("%s: %v becomes %v", s.Key, old, s.Value))
		}
	}
	if old, now := v.config.ProjectMode, next.config.ProjectMode; old != "" && old != now {
		all = append(all, fmt.Sprintf("mode: %s becomes %s", old, cmp.Or(now, "whatever the user chose")))
	}
	return all
}

// higher reports whether a limit was raised.
func higher(old, now any) bool {
	switch old := old.(type) {
	case int64:
		return now.(int64) > old
	case string: // a sandbox profile, or a mode: that is none of them
		return slices.Index(config.Profiles, now.(string)) > slices.Index(config.Profiles, old)
	}
	return false
}

// differ lists the rules of a that b does not have, wherever they stand.
func differ(a, b []policy.Rule) []policy.Rule {
	have := map[string]bool{}
	for _, r := range b {
		have[describe(r)] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(r policy.Rule) bool { return have[describe(r)] })
}

// describe writes a rule on a line.
func describe(r policy.Rule) string {
	w := r.Wire()
	words := []string{string(w.Decision), w.Tool}
	if w.Effect != "" {
		words = append(words, w.Effect)
	}
	for _, key := range slices.Sorted(maps.Keys(w.When)) {
		words = append(words, fmt.Sprintf("%s=%q", key, w.When[key]))
	}
	if w.Final {
		words = append(words, "final")
	}
	return strings.Join(words, " ")
}
