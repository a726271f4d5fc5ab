package approval

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fsx/fsxtest"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// On a full disk nothing is answered, nothing is half written, and nothing is lost.
func TestFullDisk(t *testing.T) {
	fsxtest.OnTinyDisk(t, 512, func(dir string) {
		st, err := state.Open(filepath.Join(dir, "kx"))
		if err != nil {
			t.Fatal(err)
		}
		d := &desk{TB: t, at: start}
		d.Store = New(st, func() time.Time { return d.at })
		waits, allowed := d.ask("one", ""), d.ask("two", "")
		d.decide(allowed.ID, wire.ApprovalAllowed)
		free := fsxtest.Fill(t, dir)
		if _, err := d.Decide(waits.ID, Answer{Allow: true}, wire.Decider{Kind: "human"}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("deciding: %v", err)
		}
		if err := d.Spend(allowed, "c"); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("spending: %v", err)
		}
		if _, err := d.park("three", ""); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("parking: %v", err)
		}
		if got, err := d.Get(waits.ID); err != nil || got.State != wire.ApprovalPending {
			t.Errorf("what waited: %+v, %v", got, err)
		}
		if got, err := d.Get(allowed.ID); err != nil || got.State != wire.ApprovalAllowed {
			t.Errorf("what was allowed: %+v, %v", got, err)
		}
		if list, bad := d.List(wire.ApprovalPending); len(list) != 1 || len(bad) != 0 {
			t.Errorf("listed: %d, %v", len(list), bad)
		}
		free()
		d.decide(waits.ID, wire.ApprovalDenied)
		if err := d.Spend(allowed, "c"); err != nil {
			t.Error(err)
		}
		for _, kind := range []string{"pending", "decided", "spent"} {
			entries, err := os.ReadDir(filepath.Join(dir, "kx/approvals", kind))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if fi, err := e.Info(); err != nil || fi.Size() == 0 || e.Name()[0] == '.' {
					t.Errorf("left behind: %s/%s", kind, e.Name())
				}
			}
		}
	})
}
