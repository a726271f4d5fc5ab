package approve

import (
	"time"

	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/wire"
)

// settle writes into the audit the answers that a host before this one gave and
// died before it could record. It runs before anybody is served.
func (h *Host) settle() error {
	for id, paid := range h.approvals.Owed() {
		a, err := h.approvals.Get(id)
		if err == nil && a.DecidedAt != nil {
			known, err := h.recorded(a)
			if err != nil {
				return err
			}
			if !known {
				if err := h.record(a); err != nil {
					return err
				}
			}
		}
		paid()
	}
	return nil
}

// slack is by how much the audit's clock may be behind the answer's.
const slack = time.Minute

// recorded reports whether the audit has the answer to a request.
func (h *Host) recorded(a *wire.Approval) (bool, error) {
	for e, err := range h.log.List(audit.Filter{Since: a.DecidedAt.Add(-slack)}) {
		if err != nil {
			return false, err
		}
		if e.Type == audit.TypeApproval && e.ID == a.ID && e.State != wire.ApprovalPending && e.State != audit.StateRefused {
			return true, nil
		}
	}
	return false, nil
}
