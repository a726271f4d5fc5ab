package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/kxtools/kx/pkg/wire"
)

// BenchmarkDo is an allowed call of a tool that does nothing, with all that is
// written about it.
func BenchmarkDo(b *testing.B) {
	w := newWorld(b, nil)
	w.Journal = broken{} // what a session writes is its own business
	w.config("[limits]\nmax_calls_per_turn = 1000000000\nmax_cumulative_output_bytes = 1000000000000\nmax_cumulative_result_envelope_bytes = 1000000000000\n")
	batch := w.begin()
	n := 0
	for name, input := range map[string]func() string{
		"same":  func() string { return `{"text":"x"}` },
		"fresh": func() string { n++; return fmt.Sprintf(`{"n":%d}`, n) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if r := batch.Do(context.Background(), wire.Call{Tool: "todo_write", Input: json.RawMessage(input())}); r.Status != wire.StatusOK {
					b.Fatal(r.Error)
				}
			}
		})
	}
}

// BenchmarkBegin is what a batch costs before its first call.
func BenchmarkBegin(b *testing.B) {
	w := newWorld(b, nil)
	w.policy(allowAll)
	for b.Loop() {
		w.begin()
	}
}
