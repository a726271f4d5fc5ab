package approval

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fsx/fsxtest"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// A process that is killed while it answers a session leaves whole answers to
// the first requests, and the rest waiting for the next answer.
func TestDecideAllKilled(t *testing.T) {
	clock := func() time.Time { return start }
	answer := func(dir string) ([]wire.Approval, error) {
		st, err := state.Open(dir)
		if err != nil {
			return nil, err
		}
		s := New(st, clock)
		pending, _ := s.List(wire.ApprovalPending)
		var ids []string
		for _, a := range pending {
			ids = append(ids, a.ID)
		}
		return s.DecideAll("s", ids, Answer{Allow: true}, wire.Decider{Kind: "human"})
	}
	if dir, child := fsxtest.Child(); child {
		if _, err := answer(dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	for at := range 6 {
		d := newDesk(t)
		for i := range MaxPending {
			d.ask(strings.Repeat("x", i+1), "")
		}
		list, _ := d.List(wire.ApprovalPending)
		cmd := fsxtest.Command(t, d.st.Dir())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
			if answers, _ := os.ReadDir(filepath.Join(d.st.Dir(), "approvals", "decided")); len(answers) > at*7 {
				break
			}
		}
		cmd.Process.Kill()
		cmd.Wait()
		answered := 0
		for i := range list {
			got, err := d.Get(list[i].ID)
			if err != nil {
				t.Fatal(err)
			}
			if got.State == wire.ApprovalAllowed && answered == i {
				answered++
			} else if got.State != wire.ApprovalPending {
				t.Fatalf("request %d is %s after %d answers", i, got.State, answered)
			}
		}
		if at > 0 && answered == 0 {
			t.Errorf("nothing was answered")
		}
		rest, err := answer(d.st.Dir())
		if err != nil || answered+len(rest) != MaxPending {
			t.Errorf("%d were answered before and %d after the kill, %v", answered, len(rest), err)
		}
		t.Logf("killed after %d of %d", answered, MaxPending)
	}
}
