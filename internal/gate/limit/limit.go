// Package limit keeps calls within the limits of the configuration: bytes in and
// out of one call and of a batch, calls a turn, and time. What is over a limit is
// refused with an error that names the quota, never cut in silence.
package limit

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/wire"
)

// The names of the quotas, as they stand in errors.
const (
	InputBytes         = "input_bytes"
	OutputBytes        = "output_bytes"
	EnvelopeBytes      = "result_envelope_bytes"
	CallsPerTurn       = "max_calls_per_turn"
	CumulativeOutput   = "cumulative_output_bytes"
	CumulativeEnvelope = "cumulative_result_envelope_bytes"
	Sandbox            = "sandbox"
)

// Exceeded is a quota that a call went over.
type Exceeded struct {
	Tool   string
	Quota  string
	Limit  any // a number of units, or a sandbox profile
	Actual any
	Unit   string // bytes, calls or profile
}

func (e *Exceeded) Error() string { return e.fail().Msg }

// Unwrap gives the failure that the command line maps to its exit status.
func (e *Exceeded) Unwrap() error { return e.fail() }

func (e *Exceeded) fail() *fail.Error {
	err := fail.Limit(e.Quota, "%s: %v %s, the limit %s is %v", e.Tool, e.Actual, e.Unit, e.Quota, e.Limit)
	if e.Quota == Sandbox {
		err = fail.Limit(e.Quota, "%s needs the sandbox profile %v, the limit max_sandbox is %v", e.Tool, e.Actual, e.Limit)
	}
	return err.WithHint("kx config show")
}

// Output is what a model gets in place of what was over.
func (e *Exceeded) Output() wire.Output {
	return wire.Output{
		"text": e.Error(), "error": "quota_exceeded", "tool": e.Tool, "quota": e.Quota,
		"limit_" + e.Unit: e.Limit, "actual_" + e.Unit: e.Actual,
	}
}

// Batch counts what belongs together: the calls of one turn, or of one window of
// a stream. It is bound to the limits that held when it began.
type Batch struct {
	limits config.Limits

	mu       sync.Mutex
	calls    int64
	output   int64
	envelope int64
}

// NewBatch begins a batch.
func NewBatch(l config.Limits) *Batch { return &Batch{limits: l} }

// Parallel is how many calls of the batch may run at once.
func (b *Batch) Parallel() int { return int(b.limits.MaxParallelTools) }

// Timeout is how long a tool may run that asks for want.
func (b *Batch) Timeout(want time.Duration) time.Duration {
	most := time.Duration(min(b.limits.MaxTimeoutMS, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	if want <= 0 || want > most {
		return most
	}
	return want
}

// Enter counts a call in and checks its input.
func (b *Batch) Enter(tool string, inputBytes int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.calls > b.limits.MaxCallsPerTurn {
		return &Exceeded{tool, CallsPerTurn, b.limits.MaxCallsPerTurn, b.calls, "calls"}
	}
	if n := int64(inputBytes); n > b.limits.MaxInputBytes {
		return &Exceeded{tool, InputBytes, b.limits.MaxInputBytes, n, "bytes"}
	}
	return nil
}

// Profile checks that a tool which needs a sandbox profile may have it.
func (b *Batch) Profile(tool, needs string) error {
	most := b.limits.MaxSandbox
	if at := slices.Index(config.Profiles, needs); at < 0 || at > slices.Index(config.Profiles, most) {
		return &Exceeded{tool, Sandbox, most, needs, "profile"}
	}
	return nil
}

// Leave checks the output of a call and counts it, and then the whole result.
// A result that is over is not counted: what replaces it is small.
func (b *Batch) Leave(tool string, outputBytes, envelopeBytes int) error {
	out, env := int64(outputBytes), int64(envelopeBytes)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range []struct {
		quota         string
		limit, actual int64
	}{
		{OutputBytes, b.limits.MaxOutputBytes, out},
		{EnvelopeBytes, b.limits.MaxResultEnvelopeBytes, env},
		{CumulativeOutput, b.limits.MaxCumulativeOutputBytes, b.output + out},
		{CumulativeEnvelope, b.limits.MaxCumulativeResultEnvelopeBytes, b.envelope + env},
	} {
		if c.actual > c.limit {
			return &Exceeded{tool, c.quota, c.limit, c.actual, "bytes"}
		}
	}
	b.output += out
	b.envelope += env
	return nil
}
