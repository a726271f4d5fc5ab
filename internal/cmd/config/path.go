package config

import (
	"context"
	"os"
	"strings"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/pkg/wire"
)

// PathOptions of kx config path.
type PathOptions struct {
	App *app.App

	What string
}

// PathDoc is the document of kx config path.
type PathDoc struct {
	Type string `json:"type"`
	V    int    `json:"v"`
	What string `json:"what"`
	Path string `json:"path"`
}

// things are what has a path, and how each is made.
var things = []struct {
	name string
	make func(*site.Site) (string, error)
}{
	{"state", func(s *site.Site) (string, error) {
		st, err := s.State()
		if err != nil {
			return "", err
		}
		return st.Dir(), nil
	}},
	{"config", func(s *site.Site) (string, error) {
		d, err := s.Dirs()
		if err != nil {
			return "", err
		}
		if err := os.MkdirAll(d.Config, 0o700); err != nil {
			return "", fail.Failed("config_dir", "%s can't be made: %v", d.Config, fsx.Reason(err)).Because(err)
		}
		return d.Config, nil
	}},
	{"runtime", func(s *site.Site) (string, error) {
		d, err := s.Dirs()
		if err != nil {
			return "", err
		}
		return d.Runtime, paths.EnsurePrivate(d.Runtime, d.UID)
	}},
	{"approver-key", func(s *site.Site) (string, error) {
		st, err := s.State()
		if err != nil {
			return "", err
		}
		return st.ApproverKeyPath()
	}},
}

func names() []string {
	var all []string
	for _, t := range things {
		all = append(all, t.name)
	}
	return all
}

// NewPath returns the command; a nil run is the real one.
func NewPath(a *app.App, run func(context.Context, *PathOptions) error) *app.Command {
	o := &PathOptions{App: a}
	if run == nil {
		run = path
	}
	return &app.Command{
		Name:  "path",
		Usage: "print where something is kept",
		What: `
Prints the path of the state, config or runtime directory, or of the approver-key, and makes what is missing. On a pipe too it is the bare path, unless -o asks for a document.

Whoever can read the approver key can approve: keep it away from agents.
`,
		Args: "WHAT",
		Examples: []app.Example{
			{Line: "kx config path config"},
			{Line: `kx trust add --key "$(kx config path approver-key)"`, Does: "in a script of a person's"},
		},
		Complete: map[string]app.Completer{"": app.Values(names()...)},
		Run: func(ctx context.Context, args []string) error {
			o.What = args[0]
			return run(ctx, o)
		},
	}
}

func path(_ context.Context, o *PathOptions) error {
	for _, t := range things {
		if t.name != o.What {
			continue
		}
		p, err := t.make(site.Of(o.App))
		if err != nil {
			return err
		}
		if o.App.Globals.Output == out.Auto && !o.App.IO.OutTTY {
			return o.App.Printer().Raw([]byte(p + "\n"))
		}
		return o.App.Printer().Record(PathDoc{Type: "path", V: wire.Version, What: o.What, Path: p}, func(t *out.Text) { t.Printf("%s\n", p) })
	}
	known := strings.Join(names(), ", ")
	if near := argv.Nearest(o.What, names()); near != "" {
		return fail.Usage("%q has no path; did you mean %s?", o.What, near).WithHint("kx config path %s", near)
	}
	return fail.Usage("%q has no path: expected %s", o.What, known).WithHint("kx config path --help")
}
