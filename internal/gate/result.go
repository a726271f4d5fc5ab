package gate

import (
	"errors"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/limit"
	"github.com/kxtools/kx/pkg/wire"
)

// label puts into a result what it says of its call.
func (r *run) label(res *wire.Result) {
	res.Type, res.V, res.ID, res.Tool, res.Extra = "result", wire.Version, r.call.ID, r.call.Tool, r.call.Extra
	res.Decision = r.decision
	if r.approval != nil {
		res.ApprovalID = r.approval.ID
	}
}

func notRecorded(res *wire.Result, what string, err error) {
	if res.Status == wire.StatusOK {
		res.Status = wire.StatusError
	}
	res.Error = fail.Failed("not_recorded", "the call ended, but %s could not be written: %v", what, err).Wire()
}

// sizes returns the bytes of the output and of the whole result as JSON.
func (r *run) sizes(res *wire.Result) (output, envelope int, err error) {
	r.label(res)
	whole, err := wire.Marshal(res)
	if err != nil {
		return 0, 0, fail.Failed("tool_broke", "the output of %s can't be encoded: %v", r.call.Tool, err)
	}
	if res.Output == nil {
		return 0, len(whole), nil
	}
	out, err := wire.Marshal(res.Output)
	return len(out), len(whole), err
}

// statuses maps the exit status of a failure to that of a result.
var statuses = map[int]wire.Status{
	fail.ExitDenied: wire.StatusDenied, fail.ExitPending: wire.StatusPending, fail.ExitUnavailable: wire.StatusUnavailable,
	fail.ExitLimit: wire.StatusLimit, fail.ExitConflict: wire.StatusConflict, fail.ExitNotFound: wire.StatusNotFound,
	fail.ExitTimeout: wire.StatusTimeout,
}

// failed turns a failure into a result. A model sees its message as text.
func failed(err error) *wire.Result {
	e := fail.As(err)
	res := &wire.Result{Status: wire.StatusError, Error: e.Wire(), Output: wire.Output{"text": e.Msg}}
	if s, ok := statuses[e.Exit]; ok {
		res.Status = s
	}
	var over *limit.Exceeded
	if errors.As(err, &over) {
		res.Output = over.Output()
	}
	return res
}

// Exit is the exit status of a result.
func Exit(r *wire.Result) int {
	switch {
	case r.Error != nil:
		return r.Error.Exit
	case r.Status == wire.StatusOK:
		return fail.ExitOK
	}
	return fail.ExitFailed
}
