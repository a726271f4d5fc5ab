// Package judge decides a call without touching anything: the workspace, the
// configuration, the rules, the mode and the scopes, put together for one place
// at one moment. kx policy check shows what it says; the gate acts on it.
package judge

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/guard"
	"github.com/kxtools/kx/internal/gate/rules"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/gate/scope"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/internal/record/trust"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/grant"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

// Options say where and how calls are judged.
type Options struct {
	Dirs      paths.Dirs
	Workspace string // canonical root
	Cwd       string // canonical; outside the workspace it is the root instead
	State     *state.State
	Mode      string // as the caller asks for it, "" if nobody did
	Session   string // the mode of the session that the calls belong to, "" if it has none
	Ceiling   string // the widest mode of whoever calls, "" if that is anybody
	ID        string // of that session, "" for explanations outside of any
	Caller    string // whose calls they are
	Now       func() time.Time
	Policy    *config.File     // takes the place of the user's policy file
	Granted   []policy.Rule    // the session's rules, of an explanation without ID
	AnyMode   bool             // explain any mode, even one that would widen
	Scope     scope.Scope      // of the session
	Sandbox   *sandbox.Sandbox // knows where /tmp lies; nil for the machine's
}

// Judge decides calls. It is not changed after Open.
type Judge struct {
	Workspace string
	Cwd       string
	Mode      string
	Config    *config.Config
	Rules     *rules.Rules
	Trust     trust.Status
	Scope     scope.Scope
	Temp      sandbox.Temp // the /tmp of the session's calls

	home  string
	env   *policy.Env
	guard *guard.Guard
}

// Open reads what calls are judged by. It is cheap enough to do again for every
// batch, and so a change counts from the next batch on.
func Open(o Options) (*Judge, error) {
	trusted, err := trust.New(o.State, nil).Get(o.Workspace)
	if err != nil {
		return nil, err
	}
	if trusted.Problem != "" {
		// What the damaged record said may have been a deny.
		return nil, fail.Config("%s", trusted.Problem).WithHint("kx trust add")
	}
	cfg, err := config.Load(o.Dirs, o.Workspace, trusted.Copies)
	if err != nil {
		return nil, err
	}
	if o.Policy != nil {
		cfg.UserPolicy = o.Policy
	}
	granted := o.Granted
	if o.ID != "" {
		if granted, err = rules.Granted(o.State, o.Now, o.ID, o.Caller); err != nil {
			return nil, err
		}
	}
	in, err := rules.Load(cfg, granted...)
	if err != nil {
		return nil, err
	}
	j := &Judge{Workspace: o.Workspace, Cwd: o.Cwd, Config: cfg, Rules: in, Trust: trusted, Scope: o.Scope, home: o.Dirs.Home}
	if !paths.Inside(o.Workspace, o.Cwd) {
		j.Cwd = o.Workspace
	}
	if j.Mode, err = effectiveMode(cfg, o); err != nil {
		return nil, err
	}
	if o.Sandbox != nil {
		j.Temp = o.Sandbox.Temp(func() sandbox.Place { return j.Place(o.ID) })
	}
	j.env = &policy.Env{
		Workspace: j.Workspace, Cwd: j.Cwd, Home: o.Dirs.Home,
		Writable: cfg.Sandbox.Writable, Temp: j.Temp.Holds, Resolver: Files{Temp: j.Temp},
	}
	j.guard = guard.New(append([]string{j.Workspace}, cfg.Sandbox.Writable...), o.Dirs, head)
	return j, nil
}

// Hooks are the hooks in force: those of the project only where its code is trusted.
func (j *Judge) Hooks() []config.Hook {
	if j.Trust.Level != trust.LevelCode {
		return j.Config.Hooks
	}
	return append(slices.Clone(j.Config.Hooks), j.Config.ProjectHooks...)
}

// Place is where the programs of a session run.
func (j *Judge) Place(session string) sandbox.Place {
	return sandbox.Place{
		Session: session, Workspace: j.Workspace,
		Writable: j.Config.Sandbox.Writable, Sockets: j.Config.Sandbox.Sockets, Hidden: j.Rules.Hidden(j.Workspace, j.home),
	}
}

// effectiveMode picks the mode: the one that is asked for, else the session's,
// else the user's. What is asked for must not widen any ceiling; what is only a
// default gives way to a ceiling.
func effectiveMode(cfg *config.Config, o Options) (string, error) {
	if o.AnyMode && o.Mode != "" {
		return o.Mode, nil
	}
	m, asked := o.Mode, o.Mode != ""
	if m == "" {
		m = o.Session
	}
	if m == "" {
		m = cfg.Mode
	}
	ceilings := []struct{ mode, what string }{
		{cfg.MaxMode, "max_mode"}, {o.Ceiling, "the widest that other agents have"}, {o.Session, "the session's mode"}, {cfg.ProjectMode, "the project's mode"},
	}
	for _, c := range ceilings {
		if c.mode == "" || mode.Narrows(c.mode, m) {
			continue
		}
		if asked {
			return "", fail.New("widening", fail.ExitUsage, "mode %s is wider than %s, which is %s", m, c.what, c.mode).
				WithHint("kx config show")
		}
		m = c.mode
	}
	for _, c := range ceilings {
		if c.mode != "" && !mode.Narrows(c.mode, m) { // plan and dontAsk: each forbids what the other does
			return "", fail.New("widening", fail.ExitUsage, "no mode is left: %s is %s, which %s would widen", c.what, c.mode, m).
				WithHint("kx config show")
		}
	}
	return m, nil
}

// At returns a judge for calls that start in another folder of the workspace.
func (j *Judge) At(cwd string) *Judge {
	if !paths.Inside(j.Workspace, cwd) {
		cwd = j.Workspace
	}
	c, env := *j, *j.env
	env.Cwd, c.Cwd, c.env = cwd, cwd, &env
	return &c
}

// Grants returns the smallest literal rules that allow a call, see pkg/policy/grant.
func (j *Judge) Grants(name string, input json.RawMessage) ([]policy.Rule, error) {
	return grant.Rules(name, input, j.env)
}

// NoSandbox is why a command needs a person: nothing but the rules holds it.
const NoSandbox = "commands run without a full sandbox on this machine"

// Once returns a judge for one call, which resolves a path once: the file that it
// decides of and the file that it makes canonical are one, even if somebody moves
// a symlink in between.
func (j *Judge) Once() *Judge {
	c, env := *j, *j.env
	files, _ := env.Resolver.(Files)
	env.Resolver = &once{Files: files, seen: map[string]resolved{}}
	c.env = &env
	return &c
}

// Burst returns a judge for calls that are explained in one breath, one after the
// other: a folder is looked up once.
func (j *Judge) Burst() *Judge {
	c, env := *j, *j.env
	env.Resolver = Files{Temp: j.Temp, folders: map[string]string{}}
	c.env = &env
	return &c
}

// Narrow returns the mode for one call that asks for a mode of its own.
func (j *Judge) Narrow(asked string) (string, error) {
	if asked == "" {
		return j.Mode, nil
	}
	m, ok := mode.Parse(asked)
	if !ok {
		return "", fail.Usage("mode %.40q: expected one of %v", asked, mode.All)
	}
	if !mode.Narrows(j.Mode, m) {
		return "", fail.New("widening", fail.ExitUsage, "a call in mode %s would widen its session, which is in mode %s", m, j.Mode)
	}
	return m, nil
}

// Explain decides a call: the rules and the mode, then the guard, which nothing
// lifts.
func (j *Judge) Explain(name string, input json.RawMessage, m string, loaded bool) *wire.Decision {
	if _, ok := j.env.Resolver.(Files); ok {
		j = j.Once() // rules and guard look at the same paths
	}
	d := j.explain(name, input, m, loaded, maxCalls)
	if d.Decision != wire.Deny && !j.Scope.Uses(name) {
		d.Decision, d.ApprovalRequired, d.Reason = wire.Deny, false, ReasonCredential
	}
	return d
}

// ReasonCredential is why the credential scope refuses a call.
const ReasonCredential = "credential_scope"

// Matrix explains tools under every mode.
func (j *Judge) Matrix(tools []string, loaded func(string) bool) []wire.MatrixRow {
	return j.Rules.Set.Matrix(tools, loaded, j.env)
}

// Raise makes an ask of an allowed call, one that only a person can give. What is
// denied stays so, and an ask that is mandatory already keeps its reason.
func Raise(d *wire.Decision, reason string) {
	if d.BaseDecision == wire.Deny || d.Guard != nil || d.Reason == ReasonCredential || d.Mandatory {
		return
	}
	entry, _ := catalogue.Lookup(d.Tool)
	d.BaseDecision, d.Mandatory, d.Reason = wire.Ask, true, reason
	policy.ApplyMode(d, d.EffectiveMode, entry.Plan)
}

// Canonical returns the input with its paths made absolute and canonical. Of a
// judge that Once returned, these are the paths that it judges, and the tool
// opens them and no others.
func (j *Judge) Canonical(name string, input json.RawMessage) (json.RawMessage, error) {
	entry, _ := catalogue.Lookup(name)
	fields := []string{entry.Path}
	switch name {
	case "bash":
		fields = []string{"cwd"}
	case "apply_patch":
		return input, j.checkPatch(input)
	}
	var in map[string]json.RawMessage
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fail.Usage("%s: the input is not a JSON object", name)
	}
	for _, field := range fields {
		if field == "" {
			continue
		}
		var p string
		switch raw, ok := in[field]; {
		case ok:
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, fail.Usage("%s: %s is not a string", name, field)
			}
		case entry.Default != "":
			p = entry.Default
		default:
			continue
		}
		where, err := j.env.Locate(j.Cwd, p)
		if err != nil {
			return nil, fail.Usage("%s: %v", name, err)
		}
		if in[field], err = wire.Marshal(where.Resolved); err != nil {
			return nil, err
		}
	}
	return wire.Marshal(in)
}

// Action returns the input as it is hashed: what is meant only for people is
// left out, so that other words for the same action are the same action.
func Action(name string, input json.RawMessage) (json.RawMessage, error) {
	entry, _ := catalogue.Lookup(name)
	if len(entry.Prose) == 0 {
		return input, nil
	}
	var in map[string]json.RawMessage
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, err
	}
	for _, field := range entry.Prose {
		delete(in, field)
	}
	return wire.Marshal(in)
}

// MayRead returns the test that a tool which walks asks for every file. root is
// what was decided of the call itself: where a person was asked and allowed it,
// files that would be asked for by the same rule and reason are allowed, too. A tool
// that only writes shows a file to whom read_file would show it.
func (j *Judge) MayRead(name string, root *wire.Decision) func(path string) bool {
	entry, _ := catalogue.Lookup(name)
	switch {
	case entry.Dry != "":
		entry = entry.Reading()
	case !slices.Contains(entry.Effects, catalogue.Read):
		name = "read_file"
		entry, _ = catalogue.Lookup(name)
	}
	return func(path string) bool {
		if !j.guard.MayRead(path) {
			return false
		}
		v, rule, reason := j.Rules.Set.DecidePath(name, catalogue.Read, path, j.env)
		if v == wire.Ask && root.BaseDecision == wire.Ask && len(root.Points) > 0 && reason == root.Points[0].Reason && sameRule(rule, root.Points[0].Rule) {
			return true
		}
		got, _ := mode.Apply(root.EffectiveMode, name, entry.Plan, v, false)
		return got == wire.Allow
	}
}

// MayWrite returns the test that a tool asks which writes files that its input does
// not name. It is that of a call for each file: the guard, the rules and the mode.
// root is what was decided of the call itself: what a person allowed by it covers
// the files that would be asked for by the same rule and reason, and no others.
func (j *Judge) MayWrite(name string, input json.RawMessage, root *wire.Decision) func(path string) bool {
	entry, _ := catalogue.Lookup(name)
	return func(path string) bool {
		var in map[string]any
		if entry.Path == "" || json.Unmarshal(input, &in) != nil {
			return false
		}
		in[entry.Path] = path
		raw, err := wire.Marshal(in)
		if err != nil {
			return false
		}
		d := j.Explain(name, raw, root.EffectiveMode, true)
		if d.Decision != wire.Ask || d.Mandatory {
			return d.Decision == wire.Allow
		}
		if root.BaseDecision != wire.Ask || len(d.Points) != 1 || len(root.Points) != 1 {
			return false
		}
		return d.Points[0].Reason == root.Points[0].Reason && sameRule(d.Points[0].Rule, root.Points[0].Rule)
	}
}

func sameRule(a, b *wire.Rule) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Source == b.Source && a.Decision == b.Decision
}
