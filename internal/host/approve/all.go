package approve

import (
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/wire"
)

// decideAll answers every request of a session, or none of them, and sends each
// with its answer.
func (h *Host) decideAll(r *sock.Request, allow bool, send func(any) error) (any, error) {
	var args struct {
		Session string   `json:"session"`
		IDs     []string `json:"ids"` // that the person was shown
		Note    string   `json:"note,omitempty"`
	}
	if err := arguments(r, &args); err != nil {
		return nil, err
	}
	by, err := h.person(r, "", args.Note)
	if err != nil {
		return nil, err
	}
	switch {
	case args.Session == "":
		return nil, fail.Usage("%s: no session is named", r.Verb).WithHint("kx approve list")
	case len(args.IDs) > approval.MaxPending:
		return nil, fail.Limit("pending_approvals", "%d requests are named, and no session has more than %d", len(args.IDs), approval.MaxPending)
	}
	ans := approval.Answer{Allow: allow, Note: args.Note}
	if allow {
		ans.Scope = approval.Once
	}
	owed := map[string]func(){}
	for _, id := range args.IDs {
		if owed[id] != nil {
			continue // DecideAll says what is wrong with a list that names one twice
		}
		if owed[id], err = h.approvals.Owe(id); err != nil {
			return nil, err
		}
	}
	h.deciding.Lock()
	done, err := h.approvals.DecideAll(args.Session, args.IDs, ans, by)
	h.deciding.Unlock()
	for i := range done {
		unwritten := h.record(&done[i])
		if err == nil {
			err = unwritten
		}
		if unwritten != nil {
			delete(owed, done[i].ID) // the next host writes it
		}
	}
	for _, paid := range owed {
		paid()
	}
	h.ring()
	if err != nil {
		return nil, err
	}
	for i := range done {
		if err := send(shown(&done[i])); err != nil {
			return nil, err
		}
	}
	return map[string]any{"type": "end", "v": wire.Version, "count": len(done)}, nil
}

// record writes an answer that is on disk into the audit.
func (h *Host) record(a *wire.Approval) error {
	_, err := h.log.Append(audit.Approval{
		Type: audit.TypeApproval, V: wire.Version, ID: a.ID, State: a.State, Kind: a.Kind, Tool: a.Tool, CallID: a.CallID,
		Session: a.Session, Caller: a.Caller, ActionHash: a.ActionHash, DecidedBy: a.DecidedBy, Scope: a.Scope, Note: a.Note,
	}, true)
	if err != nil {
		return fail.Failed("not_recorded", "the answer counts, but the audit could not be written: %v", err).Because(err)
	}
	return nil
}

// ring wakes those who wait for an answer.
func (h *Host) ring() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.bell)
	h.bell = make(chan struct{})
}
