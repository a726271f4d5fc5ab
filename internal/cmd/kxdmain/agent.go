package kxdmain

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/kxtools/kx/internal/agent"
	"github.com/kxtools/kx/internal/agent/prompt"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/base/signals"
	"github.com/kxtools/kx/internal/base/term"
	cmdagent "github.com/kxtools/kx/internal/cmd/agent"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/handover"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/route"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/pkg/wire"
)

// runAgent is the agent loop in the foreground: kx agent run and resume become
// this process.
func runAgent(ctx context.Context, args []string, s *term.IO, getenv func(string) string, version string) int {
	a, spec := app.New(s, getenv, version), &cmdagent.Spec{}
	err := handover.Read("agent", args, "kx agent run", spec)
	return handed(ctx, a, spec.Globals, err, func() error {
		signals.Last(ctx, proc.KillAll)
		return cmdagent.Stream(ctx, a, func(emit func(any) error) error { return play(ctx, a, spec, emit) })
	})
}

// play sets a session up, or finds it, and runs it. The last record comes when the
// session is free again for the next process.
func play(ctx context.Context, a *app.App, spec *cmdagent.Spec, emit func(any) error) error {
	st, err := site.Of(a).State()
	if err != nil {
		return err
	}
	store := session.New(st, a.Now)
	id := spec.Resume
	if id == "" {
		if id, err = create(ctx, a, store, spec); err != nil {
			return err
		}
	}
	end, err := run(ctx, a, store, id, spec, emit)
	if end == nil {
		return err
	}
	return errors.Join(err, emit(end.Run))
}

// create makes the session of a new run. What a run needs is looked at first: one
// that can't start leaves no session behind.
func create(ctx context.Context, a *app.App, store *session.Store, spec *cmdagent.Spec) (id string, err error) {
	s := site.Of(a)
	setup := &spec.Setup
	where, err := s.Place()
	if err != nil {
		return "", err
	}
	setup.Caller, setup.Cwd = s.Caller("agent"), where.Cwd
	name, err := modelName(ctx, a, setup)
	if err != nil {
		return "", err
	}
	setup.Prompt = string(a.IO.Clean([]byte(setup.Prompt))) // a model has no use for a secret
	if err := attach(a, where.Mode, setup); err != nil {
		return "", err
	}
	raw, err := wire.Marshal(setup)
	if err != nil {
		return "", err
	}
	meta, err := store.Create(session.Meta{
		Session: wire.Session{ID: spec.ID, Workspace: where.Workspace, Mode: where.Mode, Model: name, State: session.Running},
		Agent:   raw,
	})
	return meta.ID, err
}

// run holds a session while it runs and writes how it stands afterwards. Without an
// outcome nothing has run.
func run(ctx context.Context, a *app.App, store *session.Store, id string, spec *cmdagent.Spec, emit func(any) error) (*agent.Outcome, error) {
	w, err := store.OpenWriter(id)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	meta, err := store.Meta(id)
	if err != nil {
		return nil, err
	}
	if err := cmdagent.Over(meta); err != nil {
		return nil, err
	}
	var setup cmdagent.Setup
	if err := json.Unmarshal(meta.Agent, &setup); err != nil {
		return nil, fail.Failed("damaged_session", "the record of session %s is damaged: %v", id, err).WithHint("kx agent show %s", id)
	}
	if err := enter(a, &meta, &setup); err != nil {
		return nil, err
	}
	g, err := site.Of(a).Gate(site.GateOptions{
		Session: id, Mode: meta.Mode, Caller: setup.Caller, Scope: setup.Scope, Run: true, Wait: spec.Wait,
	})
	if err != nil {
		return nil, err
	}
	if meta.Model, err = modelName(ctx, a, &setup); err != nil { // it may be another one now
		return nil, err
	}
	m, err := start(ctx, a, g, &setup)
	if err != nil {
		return nil, err
	}
	meta.State = session.Running
	if err := store.Save(meta); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	b := builder(a, id, meta.Mode, &setup)
	end, err := agent.Run(ctx, agent.Options{
		Session: id, Log: w, Past: store.Events(id), Gate: g, Model: m, Sees: setup.Scope.Sees,
		Prompt: func() (*prompt.Task, error) { return b.Task(setup.Prompt, setup.Attach) }, System: b.System, Window: window(ctx, a, &setup),
		Scripted: setup.Script != "", MaxTurns: setup.MaxTurns, MaxCost: setup.MaxCost, Cost: m.Cost,
		Emit: func(e wire.Event) error { return emit(e) },
	})
	err = errors.Join(err, m.Close())
	if end == nil {
		return nil, err
	}
	meta.State, meta.Turns, meta.Pending = end.Run.State, end.Turns, end.Pending
	return end, errors.Join(err, store.Save(meta))
}

// enter goes to where the session works, which is where it began if that is still
// there.
func enter(a *app.App, meta *session.Meta, setup *cmdagent.Setup) error {
	a.Globals.Dir = meta.Workspace
	if os.Chdir(setup.Cwd) == nil {
		return nil
	}
	setup.Cwd = meta.Workspace
	if err := os.Chdir(meta.Workspace); err != nil {
		return fail.Usage("the workspace of session %s is gone: %v", meta.ID, err).WithHint("kx agent show %s", meta.ID).Because(err)
	}
	return nil
}

// start makes the model ready.
func start(ctx context.Context, a *app.App, g *gate.Gate, setup *cmdagent.Setup) (*route.Router, error) {
	if setup.Script != "" {
		m, err := model.ParseScript([]byte(setup.Script), "the script")
		if err != nil {
			return nil, err
		}
		return route.Alone(m), nil
	}
	if setup.Exec == "" {
		return router(ctx, a, setup.Ask)
	}
	j, err := g.Reload()
	if err != nil {
		return nil, err
	}
	m, err := model.StartExec(setup.Exec, setup.Cwd, proc.Env(j.Config.Sandbox.Env, a.Getenv), func(argv []string, dir string) (*sandbox.Cell, error) {
		return g.Sandbox.Confine(j.Place(g.Session), sandbox.Default.Under(j.Config.Limits.MaxSandbox), argv, dir)
	})
	if err != nil {
		return nil, err
	}
	return route.Alone(m), nil
}
