package kxdmain

import (
	"context"
	"path/filepath"

	"github.com/kxtools/kx/internal/agent/prompt"
	cmdagent "github.com/kxtools/kx/internal/cmd/agent"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/judge"
)

// builder makes what the model of a session is told.
func builder(a *app.App, id, mode string, setup *cmdagent.Setup) *prompt.Builder {
	home := ""
	if d, err := site.Of(a).Dirs(); err == nil {
		home = d.Home
	}
	return &prompt.Builder{
		Open: func() (*judge.Judge, error) { return reading(a, id, mode, setup) }, Home: home, Now: a.Now, Hide: a.IO.Clean,
	}
}

// reading returns what kx reads files for a model by: the rules of the session, but the
// files as the person sees them who names them, without a private temp.
func reading(a *app.App, id, mode string, setup *cmdagent.Setup) (*judge.Judge, error) {
	o, err := site.Of(a).Judging()
	if err != nil {
		return nil, err
	}
	o.AnyMode, o.Sandbox = false, nil
	o.ID, o.Session, o.Caller, o.Scope = id, mode, setup.Caller, setup.Scope
	return judge.Open(o)
}

// attach looks at what a person attaches to a new session, and keeps where it lies.
func attach(a *app.App, mode string, setup *cmdagent.Setup) error {
	if len(setup.Attach) == 0 {
		return nil
	}
	here, err := site.Of(a).Path(".")
	if err != nil {
		return err
	}
	for i, name := range setup.Attach {
		if !filepath.IsAbs(name) {
			setup.Attach[i] = here + "/" + name // as it was written: a name may be protected, too
		}
	}
	j, err := reading(a, "", mode, setup)
	if err != nil {
		return err
	}
	d, err := site.Of(a).Dirs()
	if err != nil {
		return err
	}
	return prompt.Attachable(j, d.Home, setup.Attach)
}

// window is how many tokens the model that is asked first takes, 0 if it is not known.
func window(ctx context.Context, a *app.App, setup *cmdagent.Setup) int {
	if setup.Model() != "" {
		return 0
	}
	ready, _, err := candidates(ctx, a, setup.Ask)
	if err != nil {
		return 0
	}
	return int(ready[0].Model.Context)
}
