package gate

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/failpoint"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/wire"
)

// request is the question that the call puts to a person.
func (r *run) request() wire.Approval {
	a := wire.Approval{
		Kind: approval.KindCall, Tool: r.call.Tool, Input: r.action, Session: r.gate.Session, Caller: r.gate.Caller,
		Workspace: r.judge.Workspace, Cwd: r.judge.Cwd, Reason: r.decision.Reason, Mandatory: r.decision.Mandatory,
		Digests: r.digests, Sandbox: r.sandbox(),
		Mode: r.decision.EffectiveMode, Points: r.decision.Points, Leaves: r.decision.Leaves,
	}
	a.Preview = description(r.call.Input)
	if r.gate.Run {
		a.CallID = r.call.ID // two equal calls of a run are two questions
	}
	return a
}

// sandbox is what the programs of the call would run in, "" if it starts none.
func (r *run) sandbox() string {
	if r.tool == nil || !r.tool.Spawns {
		return ""
	}
	if r.gate.Sandbox == nil {
		return sandbox.None
	}
	return r.gate.Sandbox.Label(r.profile)
}

// description is what a call says of itself. It is the caller's word, and no part
// of the action.
func description(input json.RawMessage) string {
	var in struct {
		Description string `json:"description"`
	}
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	return in.Description
}

// ask settles a call that needs a person, and waits for one until waiting ends.
// again says that it was answered meanwhile and has to be judged anew.
func (r *run) ask(ctx, waiting context.Context) (res *wire.Result, again bool, err error) {
	a, _, err := r.gate.Approvals.Find(r.hash)
	if err != nil {
		return nil, false, err
	}
	if a != nil && a.State != wire.ApprovalPending {
		res, err := r.answered(ctx, a)
		return res, false, err
	}
	q, fresh := r.request(), a == nil
	q.ActionHash = r.hash
	return r.park(ctx, waiting, q, fresh)
}

// park writes a request down, if it is not there yet, and waits for its answer.
func (r *run) park(ctx, waiting context.Context, q wire.Approval, fresh bool) (res *wire.Result, again bool, err error) {
	a, err := r.gate.Approvals.Park(q, r.expiry())
	if err != nil {
		return nil, false, err
	}
	if a.State != wire.ApprovalPending {
		return nil, true, nil // answered this moment
	}
	r.approval = a
	if err := r.record(wire.Decider{Kind: "rule"}, true); err != nil {
		return nil, false, err
	}
	if err := r.recordRequest(a); err != nil {
		return nil, false, err
	}
	failpoint.Hit("notify.before")
	if fresh && r.gate.Ring != nil {
		r.gate.Ring(ctx, a)
	}
	failpoint.Hit("notify.after")
	if r.gate.Wait > 0 {
		if r.gate.Parked != nil {
			r.gate.Parked(a)
		}
		if again, err := r.await(ctx, waiting, a); again || err != nil {
			return nil, again, err
		}
	}
	if a.Kind == approval.KindQuestion {
		return nil, false, fail.Pending("%s needs an answer: %s", r.call.Tool, a.ID).WithHint("kx approve answer %s --option 1", a.ID)
	}
	return nil, false, fail.Pending("%s needs approval %s", r.call.Tool, a.ID).WithHint("kx approve allow %s", a.ID)
}

// answered goes on with a call whose request has an answer that counts.
func (r *run) answered(ctx context.Context, a *wire.Approval) (*wire.Result, error) {
	switch a.State {
	case wire.ApprovalAllowed:
		return r.spend(ctx, a)
	case wire.ApprovalSpent:
		return r.unknown(a)
	}
	return nil, r.refused(a)
}

// claim checks an approval that the call brings along: it must be for exactly
// this action.
func (r *run) claim() error {
	if r.call.ApprovalID == "" {
		return nil
	}
	a, err := r.gate.Approvals.Get(r.call.ApprovalID)
	if err != nil {
		return err
	}
	if a.ActionHash != r.hash {
		return fail.Conflict("hash_mismatch", "approval %s is for another action", a.ID).WithHint("kx approve show %s", a.ID)
	}
	return nil
}

// expiry is until when the request lives if nobody waits for it any more.
func (r *run) expiry() *time.Time {
	if r.gate.Run {
		return nil
	}
	t := r.gate.Now().UTC().Add(approval.Patience)
	return &t
}

// refresh is how often a waiter keeps its request alive: several times in the time
// that a request has left when its last waiter is gone.
const refresh = approval.Patience / 10

// keep keeps a request alive for as long as this call waits for it.
func (r *run) keep(ctx context.Context, a *wire.Approval, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.extend(a)
		}
	}
}

// extend counts the life of a request from now. If it fails the request expires
// earlier, and is asked for again.
func (r *run) extend(a *wire.Approval) {
	if until := r.expiry(); until != nil {
		_ = r.gate.Approvals.Extend(a.ID, *until)
	}
}

func (r *run) recordRequest(a *wire.Approval) error {
	_, err := r.gate.Audit.Append(audit.Approval{
		Type: audit.TypeApproval, V: wire.Version, ID: a.ID, State: a.State, Kind: a.Kind, Tool: a.Tool, CallID: r.call.ID,
		Session: a.Session, Caller: a.Caller, ActionHash: a.ActionHash,
	}, true)
	return err
}

// await waits for an answer. That nobody answers in time is no failure: the
// request stays.
func (r *run) await(ctx, waiting context.Context, a *wire.Approval) (again bool, err error) {
	if a.ExpiresAt != nil {
		kept, stop := context.WithCancel(waiting)
		defer stop()
		go r.keep(kept, a, refresh)
	}
	err = r.gate.Await(waiting, a.ID)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		r.extend(a) // the waiter leaves
		return false, nil
	case err != nil:
		return false, err
	}
	now, err := r.gate.Approvals.Get(a.ID)
	if err == nil && now.State == wire.ApprovalCancelled {
		err = fail.Conflict("cancelled", "request %s was cancelled", a.ID).WithHint("kx approve show %s", a.ID)
	}
	return err == nil && now.State != wire.ApprovalPending, err
}

// refused records that a person said no.
func (r *run) refused(a *wire.Approval) error {
	r.approval = a
	r.decision.Decision, r.decision.ApprovalRequired = wire.Deny, false
	r.decision.Reason = "denied by a person"
	if err := r.record(human(a), false); err != nil {
		return err
	}
	text := r.call.Tool + " was denied by a person"
	if a.Note != "" {
		text += ": " + a.Note
	}
	return fail.Denied("denied_by_human", "%s", text).WithHint("kx approve show %s", a.ID)
}

func human(a *wire.Approval) wire.Decider {
	if a.DecidedBy != nil {
		return *a.DecidedBy
	}
	return wire.Decider{Kind: "human"}
}

// spend uses an approval and runs the call. The approval is used up before the
// intent is written: if this process dies between the two, nobody knows whether
// the call ran, and it does not run again by itself.
func (r *run) spend(ctx context.Context, a *wire.Approval) (*wire.Result, error) {
	if a.InputEdited {
		if r.foreign != nil {
			return nil, fail.Denied("input_edited", "approval %s is for another input, which %s has to be told", a.ID, r.gate.Caller).WithHint("kx approve show %s", a.ID)
		}
		if err := r.edited(ctx, a); err != nil {
			return nil, err
		}
	}
	if err := r.gate.Approvals.Spend(a, r.call.ID); err != nil {
		return nil, err
	}
	r.approval = a
	r.decision.Decision, r.decision.ApprovalRequired = wire.Allow, false
	r.decision.Reason = "allowed by a person"
	res, err := r.act(ctx, human(a))
	if res != nil {
		res.InputEdited = a.InputEdited
	}
	return res, err
}

// edited puts the input of an answer in place of the one that was asked for. It
// is another call, and is judged anew: a deny stops it, an ask was answered.
func (r *run) edited(ctx context.Context, a *wire.Approval) error {
	input, err := r.tool.Check(a.Input)
	if err != nil {
		return err
	}
	r.call.Input = input
	if err := r.decide(); err != nil {
		return err
	}
	if err := r.hooks(ctx); err != nil {
		return err
	}
	if r.decision.Decision == wire.Deny {
		return r.deny()
	}
	return nil
}

// unknown is for a call of a run whose approval was used up by a process that
// then died: whether the call ran is not known. It is not asked for again and
// does not run; the model is told to look.
func (r *run) unknown(a *wire.Approval) (*wire.Result, error) {
	r.approval = a
	if err := r.outcome(wire.StatusUnknown, 0, 0); err != nil {
		return nil, err
	}
	res := failed(fail.Failed("unknown", "nobody knows whether this call ran: kx ended when approval %s had just been used; look before you call it again", a.ID).
		WithHint("kx approve show %s", a.ID))
	res.Status = wire.StatusUnknown
	return res, nil
}
