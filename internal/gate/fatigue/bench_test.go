package fatigue

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/wire"
)

// BenchmarkRead reads a record of 100,000 lines, in which every call was asked about.
func BenchmarkRead(b *testing.B) {
	const lines, each = 100_000, 5
	p := newPast(b)
	for i := range lines / each {
		id, command := fmt.Sprintf("r%d", i), fmt.Sprintf("npm run job%d", i%200)
		p.asks(id, bash(command))
		p.ends(id, wire.ApprovalAllowed)
		p.decision(wire.Allow, id, bash(command))
		p.add(audit.Outcome{Type: audit.TypeOutcome, V: wire.Version, CallID: "c", Status: wire.StatusOK})
	}
	b.ResetTimer()
	for b.Loop() {
		start := time.Now()
		c, err := Read(context.Background(), p.opts)
		if err != nil || c.Asked != lines/each || c.Ends[wire.ApprovalAllowed] != c.Asked || len(c.Causes) != 200 {
			b.Fatalf("%+v %v", c, err)
		}
		b.ReportMetric(float64(time.Since(start).Microseconds())/lines, "µs/line")
	}
}
