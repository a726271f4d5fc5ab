package kxdmain

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"iter"
	"os"

	"github.com/kxtools/kx/internal/agent"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/base/term"
	cmdagent "github.com/kxtools/kx/internal/cmd/agent"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/pkg/wire"
)

// runAgent is the agent loop in the foreground: kx agent run and resume become
// this process.
func runAgent(ctx context.Context, args []string, s *term.IO, getenv func(string) string, version string) int {
	a := app.New(s, getenv, version)
	fs := flag.NewFlagSet("kxd agent", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fd := fs.Int("spec", -1, "")
	err := fs.Parse(args)
	var spec *cmdagent.Spec
	if err == nil {
		if spec, err = cmdagent.ReadSpec(*fd); err == nil {
			a.Globals = spec.Globals
			err = loop(ctx, a, spec)
		}
	}
	var status app.Status
	switch {
	case err == nil:
		return fail.ExitOK
	case errors.As(err, &status):
		return int(status)
	}
	e := fail.As(err)
	if out.Error(s, a.Globals.Output, e) != nil {
		return fail.Worst(e.Exit, fail.ExitFailed)
	}
	return e.Exit
}

// loop sets a session up, or finds it, and runs it.
func loop(ctx context.Context, a *app.App, spec *cmdagent.Spec) error {
	st, err := site.Of(a).State()
	if err != nil {
		return err
	}
	store := session.New(st, a.Now)
	var meta session.Meta
	if spec.Resume != "" {
		meta, err = find(a, store, spec)
	} else {
		meta, err = create(a, store, spec)
	}
	if err != nil {
		return err
	}
	w, err := store.OpenWriter(meta.ID)
	if err != nil {
		return err
	}
	defer w.Close()
	s := site.Of(a)
	setup := spec.Setup
	g, err := s.Gate(site.GateOptions{
		Session: meta.ID, Mode: meta.Mode, Caller: setup.Caller, Scope: setup.Scope, Run: true, Wait: spec.Wait, Journal: unset{},
	})
	if err != nil {
		return err
	}
	m, err := start(a, &setup)
	if err != nil {
		return err
	}
	defer m.Close()
	meta.State = session.Running
	if err := store.Save(meta); err != nil {
		return err
	}
	return show(a, func(emit func(any) error) error {
		g.Parked = func(p *wire.Approval) { a.Note("⏸ waiting for approval   kx approve allow %s", p.ID) }
		run, err := agent.Run(ctx, agent.Options{
			Session: meta.ID, Log: w, Past: past(store, meta.ID), Gate: g, Model: m, Sees: setup.Scope.Sees,
			Prompt: spec.Prompt, MaxTurns: setup.MaxTurns, Emit: func(e wire.Event) error { return emit(e) },
		})
		if run == nil {
			return err
		}
		return errors.Join(settle(store, meta.ID, run), emit(run), err)
	})
}

// unset stands where the run puts its own journal before the first call.
type unset struct{ gate.Journal }

// past reads the events before this run.
func past(store *session.Store, id string) iter.Seq2[wire.Event, error] { return store.Events(id) }

// create makes the session of a new run.
func create(a *app.App, store *session.Store, spec *cmdagent.Spec) (session.Meta, error) {
	s := site.Of(a)
	setup := &spec.Setup
	setup.Caller = s.Caller("agent")
	where, err := s.Place()
	if err != nil {
		return session.Meta{}, err
	}
	setup.Cwd = where.Cwd
	// The model and the rules are looked at first: a run that can't start
	// leaves no session behind.
	if setup.Script != "" {
		if _, err := model.ParseScript([]byte(setup.Script), "the script"); err != nil {
			return session.Meta{}, err
		}
	}
	raw, err := wire.Marshal(setup)
	if err != nil {
		return session.Meta{}, err
	}
	name := "exec"
	if setup.Script != "" {
		name = "script"
	}
	return store.Create(session.Meta{
		Session: wire.Session{ID: spec.ID, Workspace: where.Workspace, Mode: where.Mode, Model: name, State: session.Running, Pending: []string{}},
		Agent:   raw,
	})
}

// find opens the session of a run that goes on, and goes to where it was.
func find(a *app.App, store *session.Store, spec *cmdagent.Spec) (session.Meta, error) {
	meta, err := store.Meta(spec.Resume)
	if err != nil {
		return meta, err
	}
	if err := json.Unmarshal(meta.Agent, &spec.Setup); err != nil {
		return meta, fail.Failed("damaged_session", "the record of session %s is damaged: %v", meta.ID, err)
	}
	a.Globals.Dir = meta.Workspace
	if err := os.Chdir(spec.Setup.Cwd); err != nil {
		if err := os.Chdir(meta.Workspace); err != nil {
			return meta, fail.Usage("the workspace of session %s is gone: %v", meta.ID, err).Because(err)
		}
	}
	return meta, nil
}

// start makes the model ready.
func start(a *app.App, setup *cmdagent.Setup) (model.Model, error) {
	if setup.Script != "" {
		return model.ParseScript([]byte(setup.Script), "the script")
	}
	return model.StartExec(setup.Exec, setup.Cwd, proc.Env(nil, a.Getenv))
}

// settle writes how the session stands now.
func settle(store *session.Store, id string, run *wire.Run) error {
	meta, err := store.Meta(id)
	if err != nil {
		return err
	}
	meta.State, meta.Pending = run.State, []string{}
	meta.Turns = 0
	for e, err := range store.Events(id) {
		switch {
		case err != nil:
			return err
		case e.Event == "turn_end":
			meta.Turns++
		case e.Event == "parked" && run.State == agent.Parked:
			var d struct{ Pending []string }
			if json.Unmarshal(e.Data, &d) == nil {
				meta.Pending = d.Pending
			}
		}
	}
	return store.Save(meta)
}

// show prints events as they happen, and the run at the end.
func show(a *app.App, each func(emit func(any) error) error) error {
	p := a.Printer()
	if p.Format().Data() {
		var failed error
		err := out.Each(p, out.Columns[any]{}, func(emit func(any) error) error {
			failed = each(emit)
			return nil
		})
		return errors.Join(err, failed)
	}
	return each(func(doc any) error {
		return p.Text(func(t *out.Text) {
			switch d := doc.(type) {
			case wire.Event:
				cmdagent.Print(t, d)
			case *wire.Run:
				if d.Output != "" {
					t.Printf("%s\n", d.Output)
				}
			}
		})
	})
}
