package audit

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/record/state"
)

func BenchmarkAppend(b *testing.B) {
	for _, bc := range []struct {
		name    string
		barrier bool
	}{{"buffered", false}, {"barrier", true}} {
		b.Run(bc.name, func(b *testing.B) {
			st, err := state.Open(filepath.Join(b.TempDir(), "kx"))
			if err != nil {
				b.Fatal(err)
			}
			l := New(st, time.Now)
			for b.Loop() {
				if _, err := l.Append(outcome("c"), bc.barrier); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
