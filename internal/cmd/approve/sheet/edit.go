package sheet

import (
	"encoding/json"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/pkg/wire"
)

// Editable says why a request can't be given another input, nil if it can.
func Editable(a *wire.Approval) error {
	if foreign(a) {
		return fail.Usage("%s makes this call itself, so it can't be given another input", a.Caller).WithHint("kx approve deny %s --note TEXT", a.ID)
	}
	return nil
}

// Edit returns the request with another input, judged anew, and what is decided of it:
// its parts have the verdicts that hold now. The error says why the tool would not take the input.
func (r *Reader) Edit(a *wire.Approval, input json.RawMessage) (*wire.Approval, wire.Verdict, error) {
	if err := Editable(a); err != nil {
		return nil, "", err
	}
	w := r.world(a)
	if w.err != nil {
		return nil, "", w.err
	}
	reg, err := site.Of(r.app).Tools(w.judge)
	if err != nil {
		return nil, "", err
	}
	t := reg.Get(a.Tool)
	if t == nil {
		return nil, "", fail.Unavailable("tool_missing", "the tool %s is not available here", a.Tool).WithHint("kx tool list --all")
	}
	checked, err := t.Check(input)
	if err != nil {
		return nil, "", err
	}
	j := w.judge.Once()
	canonical, err := j.Canonical(a.Tool, checked)
	if err != nil {
		return nil, "", err
	}
	action, err := judge.Action(a.Tool, canonical)
	if err != nil {
		return nil, "", err
	}
	d := j.Explain(a.Tool, checked, j.Mode, true)
	if a.Sandbox == sandbox.Partial || a.Sandbox == sandbox.None {
		if !j.Config.Experimental.UnsandboxedBash {
			judge.Raise(d, judge.NoSandbox)
		}
	}
	edited := *a
	edited.Input, edited.InputEdited, edited.Digests = action, true, nil
	edited.Points, edited.Leaves = d.Points, d.Leaves
	edited.Reason, edited.Mandatory = outcome(d), d.Mandatory
	return &edited, d.Decision, nil
}

// outcome says in one line what the input comes to.
func outcome(d *wire.Decision) string {
	switch {
	case d.Guard != nil:
		return "would be denied, whatever the rules say: " + d.Guard.Reason
	case d.Decision == wire.Deny:
		return "would be denied: " + d.Reason
	case d.Decision == wire.Allow:
		return "would be allowed without asking: " + d.Reason
	}
	return d.Reason
}
