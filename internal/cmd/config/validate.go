package config

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/rules"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/internal/record/trust"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/wire"
)

// ValidateOptions of kx config validate.
type ValidateOptions struct {
	App *app.App
}

// FileDoc is a file as kx config validate finds it. Its state is valid or
// missing; of a project's file also untrusted, or changed: then it is valid as
// it was when it was trusted.
type FileDoc struct {
	Type  string `json:"type"`
	V     int    `json:"v"`
	File  string `json:"file"`
	State string `json:"state"`
	Rules int    `json:"rules"`
}

// NewValidate returns the command; a nil run is the real one.
func NewValidate(a *app.App, run func(context.Context, *ValidateOptions) error) *app.Command {
	o := &ValidateOptions{App: a}
	if run == nil {
		run = validate
	}
	return &app.Command{
		Name:  "validate",
		Usage: "check every file of settings and rules",
		What: `
Checks the user's config.toml and policy.toml, and the project's .kx/config.toml and .kx/policy.toml as they were when they were trusted. The first thing that is wrong is named with its file and line.

A file of the project that is not trusted does not speak, and one that has changed speaks as it was: both are listed as that.
`,
		Examples: []app.Example{{Line: "kx config validate"}, {Line: "kx -C ~/src/clock config validate", Does: "with the files of that project"}},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func validate(_ context.Context, o *ValidateOptions) error {
	s := site.Of(o.App)
	d, err := s.Dirs()
	if err != nil {
		return err
	}
	ws, err := s.Workspace()
	if err != nil {
		return err
	}
	c, err := s.Config(ws)
	if err != nil {
		return err
	}
	in, err := rules.Load(c)
	if err != nil {
		return err
	}
	st, err := s.Peek()
	if err != nil {
		return err
	}
	status, err := trust.New(st, o.App.Now).Get(ws)
	if err != nil {
		return err
	}
	return out.List(o.App.Printer(), out.Columns[FileDoc]{
		Header: []string{"FILE", "STATE", "RULES"},
		Row: func(d FileDoc) []string {
			n := ""
			if d.Rules > 0 {
				n = fmt.Sprint(d.Rules)
			}
			return []string{d.File, d.State, n}
		},
	}, files(d, ws, c, status, in.Set.Rules()))
}

func files(d paths.Dirs, ws string, c *config.Config, status trust.Status, all []policy.Rule) []FileDoc {
	count := map[string]int{}
	for _, r := range all {
		count[r.File]++
	}
	doc := func(file, state string) FileDoc {
		return FileDoc{Type: "config_file", V: wire.Version, File: file, State: state, Rules: count[file]}
	}
	present := func(is bool) string {
		if is {
			return "valid"
		}
		return "missing"
	}
	docs := []FileDoc{
		doc(filepath.Join(d.Config, config.UserConfig), present(c.HasUserConfig)),
		doc(filepath.Join(d.Config, config.UserPolicy), present(c.UserPolicy != nil)),
	}
	for _, name := range []string{config.ProjectConfig, config.ProjectPolicy} {
		_, trusted := status.Copies[name]
		state := present(trusted)
		for _, ch := range status.Changed {
			switch {
			case ch.File == name && status.Trusted:
				state = "changed"
			case ch.File == name:
				state = "untrusted"
			}
		}
		docs = append(docs, doc(filepath.Join(ws, name), state))
	}
	return docs
}
