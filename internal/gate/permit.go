package gate

import (
	"context"
	"encoding/json"
	"os"
	"slices"

	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/wire"
)

// Foreign is a call that another program is about to run, in our words.
type Foreign struct {
	wire.Call
	// With are calls that it makes besides: a patch inside of a command.
	With []wire.Call
	// Search is a line of bash that reads what the call reads, "" if it reads
	// nothing but its path.
	Search string
	// Unproven is why nobody but a person can allow it, or a rule that lets
	// commands run without walls; "" if there is no such reason.
	Unproven string
}

// Permit takes a call that another program runs through the gate, as far as it
// goes without running it: it is decided, asked for, and on record. A result that
// is ok lets it run. The walls around it are those of the program.
func (b *Batch) Permit(ctx context.Context, f Foreign) *wire.Result {
	start := b.gate.Now()
	if f.ID == "" {
		f.ID = b.gate.NewID()
	}
	r := &run{Batch: b, call: f.Call, foreign: &f}
	res, err := r.do(ctx)
	if err != nil {
		res = failed(err)
	}
	r.label(res)
	r.hide(res)
	res.DurationMS = b.gate.Now().Sub(start).Milliseconds()
	return res
}

// judge adds to the decision of the call what else it does.
func (f *Foreign) judge(j *judge.Judge, d *wire.Decision, input json.RawMessage) {
	for _, c := range f.With {
		judge.Also(d, j.Explain(c.Tool, c.Input, d.EffectiveMode, true))
	}
	if f.Search != "" && !oneFile(input) {
		if why := searched(j, f.Search, d.EffectiveMode); why != "" {
			judge.Raise(d, why)
		}
	}
	if f.Unproven != "" && !OnHost(d) {
		judge.Raise(d, f.Unproven)
	}
}

// oneFile reports whether a search opens one file, which is judged by its path.
func oneFile(input json.RawMessage) bool {
	var in struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(input, &in) != nil {
		return false
	}
	fi, err := os.Lstat(in.Path)
	return err == nil && fi.Mode().IsRegular()
}

// searched says which rule may be meant for a file that a search opens, "" if there
// is none.
func searched(j *judge.Judge, line, mode string) string {
	input, err := wire.Marshal(map[string]string{"command": line})
	if err != nil {
		return err.Error()
	}
	for _, leaf := range j.Explain("bash", input, mode, true).Leaves {
		i := slices.IndexFunc(leaf.Points, func(p wire.Point) bool {
			return p.Effect == catalogue.Read && p.Decision != wire.Allow && p.Reason != ""
		})
		if i >= 0 {
			return leaf.Points[i].Reason
		}
	}
	return ""
}
