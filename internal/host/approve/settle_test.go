package approve

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/wire"
)

// A host that died between an answer and its line in the audit leaves the line to
// the next one, which writes it once.
func TestSettle(t *testing.T) {
	h := newHouse(t)
	died, told, open := h.park(1, nil), h.park(2, nil), h.park(3, nil)
	for _, a := range []*wire.Approval{died, told, open} {
		if _, err := h.store.Owe(a.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.store.Decide(died.ID, approval.Answer{Allow: true}, wire.Decider{Kind: "human", PID: 7}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.ask("approver", "deny", `{"id":"`+told.ID+`"}`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := h.host.settle(); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.answers(died.ID); len(got) != 1 || got[0].State != wire.ApprovalAllowed || got[0].DecidedBy.PID != 7 {
		t.Errorf("the answer without a line: %+v", got)
	}
	if got := h.answers(told.ID); len(got) != 1 {
		t.Errorf("the answer with a line: %+v", got)
	}
	if got := h.answers(open.ID); len(got) != 0 {
		t.Errorf("the request without an answer: %+v", got)
	}
	left, err := os.ReadDir(filepath.Join(h.st.Dir(), "approvals", "owed"))
	if err != nil || len(left) != 0 {
		t.Errorf("still owed: %v, %v", left, err)
	}
}

func TestOweStaysInItsFolder(t *testing.T) {
	h := newHouse(t)
	for _, id := range []string{"", "../x", "a/b", "UPPER", "abcdefgh"} {
		if _, err := h.store.Owe(id); err == nil {
			t.Errorf("%q was taken", id)
		}
	}
}
