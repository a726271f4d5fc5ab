package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/failpoint"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/wire"
)

// question takes a call that asks a person something through the same files as a
// call that needs one: parked, answered once, in any later process. again says
// that it was answered while it waited.
func (r *run) question(ctx, waiting context.Context) (res *wire.Result, again bool, err error) {
	questions, err := r.tool.Ask(r.input)
	if err != nil {
		return nil, false, err
	}
	a, _, err := r.gate.Approvals.Find(r.hash)
	if err != nil {
		return nil, false, err
	}
	if a != nil && a.State != wire.ApprovalPending {
		res, err := r.reply(a)
		return res, false, err
	}
	r.decision.Decision, r.decision.ApprovalRequired, r.decision.Reason = wire.Ask, true, "a person is asked"
	q, fresh := r.request(), a == nil
	q.Kind, q.Questions, q.ActionHash = approval.KindQuestion, questions, r.hash
	return r.park(ctx, waiting, q, fresh)
}

// reply gives the answers of a person to whoever asked. Nothing runs, so giving
// them twice after a crash does no harm; outside a run they are given once.
func (r *run) reply(a *wire.Approval) (*wire.Result, error) {
	r.approval = a
	if a.State == wire.ApprovalDenied {
		text := "the person declined to answer"
		if a.Note != "" {
			text += ": " + a.Note
		}
		if err := r.record(human(a), false); err != nil {
			return nil, err
		}
		return nil, fail.Denied("declined", "%s", text).WithHint("kx approve show %s", a.ID)
	}
	if a.State != wire.ApprovalAnswered {
		return nil, fail.Conflict("question_state_conflict", "question %s is %s", a.ID, a.State).WithHint("kx approve show %s", a.ID)
	}
	if !r.gate.Run {
		if err := r.gate.Approvals.Spend(a, r.call.ID); err != nil {
			return nil, err
		}
	}
	if err := r.record(human(a), true); err != nil {
		return nil, err
	}
	failpoint.Hit("intent.before")
	if err := r.gate.Journal.Started(r.call.ID, r.call.Tool, r.input); err != nil {
		return nil, err
	}
	failpoint.Hit("intent.after")
	res := &wire.Result{Status: wire.StatusOK, Output: wire.Output{"text": answerText(a), "answers": a.Answers}}
	if err := r.outcome(res.Status, len(res.Output.Text()), 0); err != nil {
		notRecorded(res, "its outcome", err) // the answers are used up: the caller gets them all the same
	}
	return res, nil
}

// answerText says the answers in words, for a model.
func answerText(a *wire.Approval) string {
	var b strings.Builder
	for _, q := range a.Questions {
		i := slices.IndexFunc(a.Answers, func(ans wire.QuestionAnswer) bool { return ans.QuestionID == q.ID })
		if i < 0 {
			continue
		}
		var parts []string
		for _, o := range q.Options {
			if slices.Contains(a.Answers[i].SelectedOptionIDs, o.ID) {
				parts = append(parts, o.Label)
			}
		}
		if words := a.Answers[i].FreeformAnswer; words != "" {
			parts = append(parts, words)
		}
		fmt.Fprintf(&b, "%s\n%s\n", q.Question, strings.Join(parts, "; "))
	}
	if a.Note != "" {
		fmt.Fprintf(&b, "note: %s\n", a.Note)
	}
	return b.String()
}
