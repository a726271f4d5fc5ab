// Package approve is kxd approve: the one process that answers requests. It
// listens on approve.sock, checks who speaks, writes the answer as a file (the
// first one wins) and wakes those who wait. It holds nothing that is not in the
// state directory, so it may be killed at any moment and is started again by the
// next client.
package approve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/failpoint"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/record/agentroot"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// poll is how often files are looked at: requests are parked and expire
	// without a word to this process.
	poll = 200 * time.Millisecond
	// Idle is how long a host that a client has started stays without one.
	Idle = 60 * time.Second
	// maxShown is the largest input that is sent; half a line leaves room for
	// what stands around it.
	maxShown = sock.MaxLine / 2
	// maxParts is the largest text of what was decided of the parts of a call:
	// some 200 of them, and nobody reads more.
	maxParts = 128 << 10
	// maxNote is the longest note: a model reads it, and it stands in every
	// record of the request.
	maxNote = 8 << 10
)

// Host answers requests.
type Host struct {
	st        *state.State
	approvals *approval.Store
	log       *audit.Log
	roots     *agentroot.Store
	remote    func() (bool, error) // whether the user lets forwarded connections decide
	config    string               // the user's configuration directory
	now       func() time.Time

	deciding sync.RWMutex // held alone by whoever answers a whole session

	mu   sync.Mutex
	bell chan struct{} // closed and replaced when something was decided
}

// New returns a host on the given state directory.
func New(st *state.State, now func() time.Time) *Host {
	return &Host{st: st, approvals: approval.New(st, now), log: audit.New(st, now), roots: agentroot.New(st, now), now: now, bell: make(chan struct{})}
}

// Handle answers one request of a client.
func (h *Host) Handle(ctx context.Context, r *sock.Request, send func(any) error) (any, error) {
	if r.Verb == "allow-all" || r.Verb == "deny-all" { // they speak of several requests
		return h.decideAll(r, r.Verb == "allow-all", send)
	}
	var args answerArgs
	if err := arguments(r, &args); err != nil {
		return nil, err
	}
	switch r.Verb {
	case "list":
		return h.list(send)
	case "show":
		a, err := h.approvals.Get(args.ID)
		return shown(a), err
	case "allow":
		return h.decide(r, &args, true)
	case "deny":
		return h.decide(r, &args, false)
	case "answer":
		return h.reply(r, &args)
	case "wait":
		return h.wait(ctx, args.ID)
	case "watch":
		return nil, h.watch(ctx, send)
	}
	return nil, fail.Usage("this host knows no verb %q", r.Verb)
}

// arguments reads the arguments of a request. One that is not known is refused:
// an answer that was meant to be narrower must not be given without it.
func arguments(r *sock.Request, into any) error {
	if len(r.Args) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(r.Args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fail.Usage("the arguments of %s are not understood: %v", r.Verb, err)
	}
	return nil
}

func (h *Host) list(send func(any) error) (any, error) {
	pending, _ := h.approvals.List(wire.ApprovalPending)
	for i := range pending {
		if err := send(shown(&pending[i])); err != nil {
			return nil, err
		}
	}
	return map[string]any{"type": "end", "v": wire.Version, "count": len(pending)}, nil
}

// shown returns a request as it can be sent in one line.
func shown(a *wire.Approval) any {
	if a == nil {
		return nil
	}
	c := *a
	if raw, err := json.Marshal([]any{c.Points, c.Leaves}); err != nil || len(raw) > maxParts {
		c.Points, c.Leaves = nil, nil
	}
	if len(c.Input) > maxShown {
		c.Input, c.Preview = json.RawMessage("null"), "the input is too long for this socket; kx approve show "+a.ID+" prints it"
	}
	return &c
}

// answerArgs are the arguments of the verbs that speak of one request.
type answerArgs struct {
	ID    string          `json:"id"`
	Note  string          `json:"note,omitempty"`
	Scope string          `json:"scope,omitempty"` // of allow: once, session or always
	Input json.RawMessage `json:"input,omitempty"` // of allow: in place of what was asked for
	Key   string          `json:"idempotency_key,omitempty"`

	Answers []wire.QuestionAnswer `json:"answers,omitempty"` // of answer
}

// person refuses whoever may not answer, and says who it is. That somebody tried is
// on record; id is the request that it was about.
func (h *Host) person(r *sock.Request, id, note string) (wire.Decider, error) {
	err := h.mayDecide(r)
	if r.Key != "approver" {
		err = fail.Denied("not_an_approver", "only the approver key answers requests")
	}
	if err != nil {
		return wire.Decider{}, errors.Join(err, h.recordRefusal(r, id, err))
	}
	if n := len(note); n > maxNote {
		return wire.Decider{}, fail.Limit("note_bytes", "the note has %d bytes, more than %d", n, maxNote)
	}
	by := r.Peer
	by.Kind, by.Via = "human", cmp.Or(by.Via, "socket")
	return by, nil
}

// recordRefusal writes down that somebody who is no person wanted to answer.
func (h *Host) recordRefusal(r *sock.Request, id string, why error) error {
	line := audit.Approval{Type: audit.TypeApproval, V: wire.Version, State: audit.StateRefused, Note: r.Verb + ": " + fail.As(why).Msg}
	if a, err := h.approvals.Get(id); err == nil {
		line.ID, line.Kind, line.Tool, line.Session, line.Caller, line.ActionHash = a.ID, a.Kind, a.Tool, a.Session, a.Caller, a.ActionHash
	}
	by := r.Peer
	by.Kind = "guard"
	line.DecidedBy = &by
	_, err := h.log.Append(line, false)
	return err
}

// reply writes the answers to questions.
func (h *Host) reply(r *sock.Request, args *answerArgs) (any, error) {
	by, err := h.person(r, args.ID, args.Note)
	if err != nil {
		return nil, err
	}
	a, err := h.give(args.ID, func() (*wire.Approval, error) { return h.approvals.Reply(args.ID, args.Answers, args.Note, by) })
	if err != nil {
		return nil, err
	}
	return shown(a), nil
}

// give writes an answer and then its line of the audit. What the audit is owed is
// noted before, so that a host which dies in between leaves no answer that nobody
// knows of.
func (h *Host) give(id string, answer func() (*wire.Approval, error)) (*wire.Approval, error) {
	request, err := h.approvals.Get(id)
	if err != nil {
		return nil, err
	}
	paid, err := h.approvals.Owe(request.ID)
	if err != nil {
		return nil, err
	}
	h.deciding.RLock()
	failpoint.Hit("answer.before")
	a, err := answer()
	h.deciding.RUnlock()
	if err != nil {
		paid()
		return nil, err
	}
	failpoint.Hit("answer.record")
	err = h.record(a)
	failpoint.Hit("answer.ring")
	h.ring()
	failpoint.Hit("answer.after")
	if err != nil {
		return nil, err
	}
	paid()
	return a, nil
}

// decide writes an answer. The audit has it only once it is on disk.
func (h *Host) decide(r *sock.Request, args *answerArgs, allow bool) (any, error) {
	by, err := h.person(r, args.ID, args.Note)
	if err != nil {
		return nil, err
	}
	ans := approval.Answer{Allow: allow, Note: args.Note, Scope: args.Scope, Input: args.Input}
	if args.Answers != nil {
		return nil, fail.New("question_declined_with_answers", fail.ExitUsage, "%s takes no answers", r.Verb).WithHint("kx approve answer %s --option 1", args.ID)
	}
	if !allow && (args.Scope != "" || args.Input != nil) {
		return nil, fail.Usage("a denial has neither a scope nor an input")
	}
	if args.Key != "" {
		done, err := h.approvals.Claim(args.ID, args.Key, ans)
		if err != nil || done != nil {
			return shown(done), err
		}
	}
	if allow {
		if err := h.widen(args, &ans); err != nil {
			return nil, err
		}
	}
	a, err := h.give(args.ID, func() (*wire.Approval, error) { return h.approvals.Decide(args.ID, ans, by) })
	if err != nil {
		return nil, err
	}
	if a.Scope == approval.Always {
		if err := h.always(a); err != nil {
			return nil, err
		}
	}
	return shown(a), nil
}

// rung returns a channel that is closed at the next decision.
func (h *Host) rung() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bell
}

func (h *Host) wait(ctx context.Context, id string) (any, error) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		bell := h.rung()
		a, err := h.approvals.Get(id)
		if err != nil {
			return nil, err
		}
		if a.State != wire.ApprovalPending {
			return shown(a), nil
		}
		id = a.ID // a beginning of it may not stay unique
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-bell:
		case <-tick.C:
		}
	}
}

// watch sends every request that waits, then what changes.
func (h *Host) watch(ctx context.Context, send func(any) error) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	waiting := map[string]bool{}
	follow := h.approvals.Follow()
	for {
		bell := h.rung()
		pending, _ := follow.List()
		now := map[string]bool{}
		for i := range pending {
			now[pending[i].ID] = true
			if !waiting[pending[i].ID] {
				if err := send(shown(&pending[i])); err != nil {
					return err
				}
			}
		}
		for id := range waiting {
			if now[id] {
				continue
			}
			if a, err := h.approvals.Get(id); err == nil {
				if err := send(shown(a)); err != nil {
					return err
				}
			}
		}
		waiting = now
		select {
		case <-ctx.Done():
			return nil
		case <-bell:
		case <-tick.C:
		}
	}
}
