package gate

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/failpoint"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/trust"
	"github.com/kxtools/kx/pkg/wire"
)

// act runs an allowed call: the decision goes to disk, then the intent, then the
// tool runs, then the outcome is written.
func (r *run) act(ctx context.Context, by wire.Decider) (*wire.Result, error) {
	if err := r.record(by, true); err != nil {
		return nil, err
	}
	if r.foreign != nil {
		return &wire.Result{Status: wire.StatusOK}, nil
	}
	failpoint.Hit("intent.before")
	if err := r.gate.Journal.Started(r.call.ID, r.call.Tool, r.input); err != nil {
		return nil, err
	}
	failpoint.Hit("intent.after")
	start := r.gate.Now()
	res := r.invoke(ctx)
	failpoint.Hit("run.after")
	outBytes, envelope, err := r.sizes(res)
	if err == nil {
		err = r.limit.Leave(r.call.Tool, outBytes, envelope)
	}
	if err != nil {
		res = failed(err)
	}
	took := r.gate.Now().Sub(start)
	if err := r.outcome(res.Status, outBytes, took, r.after(ctx, res)...); err != nil {
		notRecorded(res, "its outcome", err)
	}
	return res, nil
}

func (r *run) outcome(status wire.Status, bytes int, took time.Duration, hooks ...wire.HookRun) error {
	failpoint.Hit("outcome.before")
	_, err := r.gate.Audit.Append(audit.Outcome{
		Type: audit.TypeOutcome, V: wire.Version, CallID: r.call.ID, Status: status, Bytes: int64(bytes), DurationMS: took.Milliseconds(), Hooks: hooks,
	}, false)
	failpoint.Hit("outcome.after")
	return err
}

// wallIn gives the tool the private temp of the session, and walls for what it
// starts.
func (r *run) wallIn(env *tool.Env) error {
	sb := r.gate.Sandbox
	if sb == nil {
		return nil
	}
	at := r.judge.Place(r.gate.Session)
	if temp := r.judge.Temp; temp.Exists() {
		if _, err := sb.Scratch.Temp(r.gate.Session); err != nil {
			return err
		}
		env.Real = temp.Real
	}
	env.Confine = func(argv []string, dir string) (*sandbox.Cell, error) { return sb.Confine(at, r.profile, argv, dir) }
	return nil
}

// invoke runs the tool's handler within its time.
func (r *run) invoke(ctx context.Context) (res *wire.Result) {
	ctx, cancel := context.WithTimeout(ctx, r.limit.Timeout(r.tool.Timeout))
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			res = failed(fail.Failed("tool_broke", "%s broke: %v", r.call.Tool, p).Because(fmt.Errorf("%s", debug.Stack())))
		}
	}()
	env := &tool.Env{
		Workspace: r.judge.Workspace, Cwd: r.judge.Cwd, Home: r.gate.Home,
		Judged:   r.judge.Judged(r.call.Tool, r.call.Input),
		MayRead:  r.Batch.judge.MayRead(r.call.Tool, r.decision),
		MayWrite: r.Batch.judge.MayWrite(r.call.Tool, r.input, r.decision),
		Secrets:  r.secrets,
		Standing: tool.Standing{
			Config: r.judge.Config, Code: r.judge.Trust.Level == trust.LevelCode,
			Hidden: func() []string { return r.judge.Place(r.gate.Session).Hidden },
		},
	}
	if err := r.wallIn(env); err != nil {
		return failed(err)
	}
	out, err := r.tool.Run(ctx, env, r.input)
	if err == nil {
		return &wire.Result{Status: wire.StatusOK, Output: out}
	}
	res = failed(err)
	if out != nil {
		res.Output = out
	}
	return res
}
