package site

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/lineage"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/internal/gate"
	"github.com/kxtools/kx/internal/gate/hook"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/gate/scope"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/scratch"
	"github.com/kxtools/kx/internal/record/secret"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/internal/tools"
	"github.com/kxtools/kx/internal/tools/human"
	"github.com/kxtools/kx/internal/tools/lsp"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

// maxScope bounds a capabilities file: it holds names.
const maxScope = 1 << 20

// judging returns what calls are judged by here, without a session.
func (s *Site) judging() (judge.Options, error) {
	d, err := s.Dirs()
	if err != nil {
		return judge.Options{}, err
	}
	e, err := s.env()
	if err != nil {
		return judge.Options{}, err
	}
	ws, err := e.Root(d)
	if err != nil {
		return judge.Options{}, err
	}
	cwd, err := paths.Canonical(e.Cwd, ".")
	if err != nil {
		return judge.Options{}, err
	}
	return judge.Options{Dirs: d, Workspace: ws, Cwd: cwd, Mode: s.app.Globals.Mode}, nil
}

// Judge returns a judge for explanations: it takes any mode and touches nothing.
// With --session it explains the calls of that session.
func (s *Site) Judge() (*judge.Judge, error) {
	o, err := s.Judging()
	if err != nil {
		return nil, err
	}
	if id := s.app.Globals.Session; id != "" {
		own, err := s.session(o.State, id)
		if err != nil {
			return nil, err
		}
		o.ID, o.Session, o.Caller = id, own.Mode, own.Caller
	}
	return judge.Open(o)
}

// Judging returns what explanations are judged by here, of no session.
func (s *Site) Judging() (judge.Options, error) {
	o, err := s.judging()
	if err != nil {
		return o, err
	}
	o.AnyMode, o.Now = true, s.app.Now
	if o.State, err = s.Peek(); err != nil {
		return o, err
	}
	o.Sandbox = s.Sandbox(o.Dirs, o.State)
	o.Sandbox.DryRun = true
	return o, nil
}

// Walls returns what stands between programs and this machine, for people: nothing
// is written, so it may be found out anew.
func (s *Site) Walls() (sandbox.Walls, error) {
	d, err := s.Dirs()
	if err != nil {
		return sandbox.Walls{}, err
	}
	st, err := s.Peek()
	if err != nil {
		return sandbox.Walls{}, err
	}
	sb := s.Sandbox(d, st)
	if w, ok := sb.Known(); ok {
		return w, nil
	}
	return sb.Probe(), nil
}

// Place is where a new session stands.
type Place struct{ Workspace, Cwd, Mode string }

// Place returns where a new session would stand, and in which mode.
func (s *Site) Place() (Place, error) {
	o, err := s.judging()
	if err != nil {
		return Place{}, err
	}
	if err := paths.CheckWorkspace(o.Workspace, o.Dirs); err != nil {
		return Place{}, err
	}
	if o.State, err = s.Peek(); err != nil {
		return Place{}, err
	}
	j, err := judge.Open(o)
	if err != nil {
		return Place{}, err
	}
	return Place{j.Workspace, j.Cwd, j.Mode}, nil
}

// Tools returns the surface, for the configuration that j was opened with.
func (s *Site) Tools(j *judge.Judge) (*tool.Registry, error) {
	d := human.Deps{Operator: j.Config.Approve.Operator}
	if j.Config.Approve.Notify != "" {
		d.Notify = s.notify
	}
	return tools.Registry(j.Config.Sandbox.Env, s.app.Getenv, d, lsp.Deps{Ask: s.AskCode})
}

// GateOptions say whose calls a gate is for.
type GateOptions struct {
	Session string // "" for the session of the workspace's calls
	Mode    string // the mode of the session, a ceiling; "" if it has none
	Caller  string
	Scope   scope.Scope
	Run     bool // an agent's run
	Foreign bool // calls that another agent runs itself
	Wait    time.Duration
}

// Gate returns a gate around the tools of this workspace.
func (s *Site) Gate(o GateOptions) (*gate.Gate, error) {
	jo, err := s.judging()
	if err != nil {
		return nil, err
	}
	if err := paths.CheckWorkspace(jo.Workspace, jo.Dirs); err != nil {
		return nil, err
	}
	if jo.State, err = s.State(); err != nil {
		return nil, err
	}
	store := session.New(jo.State, s.app.Now)
	if o.Session == "" {
		if o.Session, err = store.EnsureWorkspace(jo.Workspace); err != nil {
			return nil, err
		}
	}
	sb := s.Sandbox(jo.Dirs, jo.State)
	jo.Session, jo.Scope, jo.ID, jo.Caller, jo.Now, jo.Sandbox = o.Mode, o.Scope, o.Session, o.Caller, s.app.Now, sb
	var reg *tool.Registry
	if o.Foreign {
		// Its tools are its own, and so is the /tmp that they see.
		jo.Ceiling, jo.Sandbox = mode.Default, nil
	} else {
		j, err := judge.Open(jo)
		if err != nil {
			return nil, err
		}
		if reg, err = s.Tools(j); err != nil {
			return nil, err
		}
	}
	g := &gate.Gate{
		Tools: reg, Audit: audit.New(jo.State, s.app.Now), Approvals: approval.New(jo.State, s.app.Now),
		Now: s.app.Now, NewID: func() string { return "call-" + session.NewID(callID) }, Session: o.Session, Caller: o.Caller, Home: jo.Dirs.Home,
		Sandbox: sb,
		Reload:  func() (*judge.Judge, error) { return judge.Open(jo) },
		Secrets: func() (*redact.Redactor, error) { return secret.Redactor(jo.State) },
		Run:     o.Run, Wait: o.Wait,
	}
	g.Await = func(ctx context.Context, id string) error { return s.Await(ctx, g.Approvals, id) }
	g.HookEnv = func() []string { return proc.Env(nil, s.app.Getenv) }
	g.Post = s.post
	g.KeepRules = func(list []hook.Rule) error { return keepRules(store, g, list) }
	g.Ring, g.Enter = s.Ring, func() error { return s.enterRoot(jo.State) }
	g.Journal = shared{store, o.Session} // an agent's run puts its own in its place
	return g, nil
}

// Sandbox makes the walls around programs.
func (s *Site) Sandbox(d paths.Dirs, st *state.State) *sandbox.Sandbox {
	return &sandbox.Sandbox{Dirs: d, Scratch: scratch.New(st, s.app.Now), Getenv: s.app.Getenv, Passwd: sandbox.Passwd, Boot: lineage.Boot}
}

// callID is the length of the ids of calls that bring none: 31^10 leaves no
// doubt over years of one audit.
const callID = 10

// SharedSession returns the options of a session that is not an agent's run: its
// id must exist, and its mode is a ceiling.
func (s *Site) SharedSession(id string) (GateOptions, error) {
	if id == "" {
		return GateOptions{Caller: s.Caller("cli")}, nil
	}
	st, err := s.State()
	if err != nil {
		return GateOptions{}, err
	}
	return s.session(st, id)
}

// Calls returns a gate for calls that are typed or come from a script: those of
// --session, or else of the workspace. They wait that long for a person.
func (s *Site) Calls(in scope.Scope, wait time.Duration) (*gate.Gate, error) {
	o, err := s.SharedSession(s.app.Globals.Session)
	if err != nil {
		return nil, err
	}
	o.Scope, o.Wait = in, wait
	return s.Gate(o)
}

func (s *Site) session(st *state.State, id string) (GateOptions, error) {
	o := GateOptions{Session: id, Caller: s.Caller("cli")}
	m, err := session.New(st, s.app.Now).Meta(id)
	if err != nil {
		return o, err
	}
	if !strings.HasPrefix(id, "cli-") {
		o.Mode = m.Mode
	}
	return o, nil
}

// Caller is the name under which calls stand in the record.
func (s *Site) Caller(byDefault string) string {
	if s.app.Globals.As != "" {
		return s.app.Globals.As
	}
	return byDefault
}

// Scope reads a capabilities file; "" allows everything.
func (s *Site) Scope(file string) (scope.Scope, error) {
	if file == "" {
		return scope.Scope{}, nil
	}
	data, _, err := fsx.ReadRegular(file, maxScope)
	if errors.Is(err, os.ErrNotExist) {
		return scope.Scope{}, fail.Usage("there is no file %s", file)
	}
	if err != nil {
		return scope.Scope{}, fail.Usage("%s can't be read: %v", file, fsx.Reason(err))
	}
	return scope.Parse(data, file)
}

// shared is the journal of a session in which several processes write.
type shared struct {
	store *session.Store
	id    string
}

func (j shared) Started(id, tool string, input json.RawMessage) error {
	_, err := j.store.AppendShared(j.id, "tool_call", map[string]any{"id": id, "tool": tool, "input": input}, true)
	return err
}

func (j shared) Ended(r *wire.Result) error {
	_, err := j.store.AppendShared(j.id, "tool_result", r, false)
	return err
}
