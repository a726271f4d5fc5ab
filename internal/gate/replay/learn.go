package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/kxtools/kx/internal/gate/rules"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/wire"
)

// Learned is a rule that would have spared people questions.
type Learned struct {
	Rule  policy.Rule // of the user's scope
	Calls int         // that people allowed and it would have
	Last  time.Time
}

// Lessons are what people's answers come to.
type Lessons struct {
	Rules    []Learned // the most used first
	Answered int       // calls that people allowed
	Spared   int       // of these, that the rules would have allowed
	Already  int       // of these, that today's rules decide without anybody
	OnlyOnce int       // that no literal rule can allow, or no rule may
	Skipped
}

// Learn returns the smallest literal rules that would have allowed what people
// allowed at least min times, and nothing that one denied. Open gives judges of
// today's policy.
func Learn(ctx context.Context, o Options, least int) (*Lessons, error) {
	refused := map[string]bool{} // approvals
	lines, damaged, err := o.read(ctx, func(e *audit.Entry) {
		if e.Type == audit.TypeApproval && e.State == wire.ApprovalDenied {
			refused[e.ID] = true
		}
	})
	if err != nil {
		return nil, err
	}
	out := &Lessons{Skipped: Skipped{Lines: damaged}}
	b := newBench(&o)
	type group struct {
		line  *line
		calls int
		last  time.Time
		needs []string // keys of the rules that would have allowed it
	}
	yes, no := map[action]*group{}, map[action]*line{}
	var order []*group
	for _, l := range lines {
		a := l.action()
		a.mode = "" // an answer is one in every mode
		human := l.DecidedBy.Kind == "human"
		switch {
		case human && l.Decision == wire.Deny || refused[l.ApprovalID]:
			no[a] = l
		case human && l.Decision == wire.Allow && l.Base == wire.Ask && l.Guard == nil:
			out.Answered++
			if l.Mandatory {
				out.OnlyOnce++
				continue
			}
			g := yes[a]
			if g == nil {
				g = &group{line: l}
				yes[a], order = g, append(order, g)
			}
			g.calls++
			g.last = l.at
		}
	}
	at := map[string]int{}
	for _, g := range order {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		a := g.line.action()
		if a.mode = ""; no[a] != nil {
			out.OnlyOnce += g.calls
			continue
		}
		list, n := b.smallest(g.line, g.calls, out)
		if n == 0 {
			continue
		}
		for _, r := range list {
			k := key(&r)
			g.needs = append(g.needs, k)
			i, ok := at[k]
			if !ok {
				i = len(out.Rules)
				at[k], out.Rules = i, append(out.Rules, Learned{Rule: r})
			}
			l := &out.Rules[i]
			l.Calls += g.calls
			if g.last.After(l.Last) {
				l.Last = g.last
			}
		}
	}
	out.Rules = slices.DeleteFunc(out.Rules, func(l Learned) bool { return l.Calls < least })
	for _, l := range no {
		if err := b.unlearn(l, out); err != nil {
			return nil, err
		}
	}
	clear(at)
	for i := range out.Rules {
		at[key(&out.Rules[i].Rule)] = i
	}
	for _, g := range order {
		there := func(k string) bool { _, ok := at[k]; return ok }
		if len(g.needs) > 0 && !slices.ContainsFunc(g.needs, func(k string) bool { return !there(k) }) {
			out.Spared += g.calls
		}
	}
	slices.SortStableFunc(out.Rules, func(x, y Learned) int {
		return cmp.Or(cmp.Compare(y.Calls, x.Calls), cmp.Compare(key(&x.Rule), key(&y.Rule)))
	})
	return out, nil
}

func key(r *policy.Rule) string {
	return fmt.Sprintf("%s %q %q %q %s %s", r.Tool, r.Command, r.Path, r.URL, r.Effect, r.Sandbox)
}

// smallest returns the rules that a call needs to be allowed, none if it needs no
// or can't be.
func (b *bench) smallest(l *line, calls int, out *Lessons) (list []policy.Rule, n int) {
	input, err := b.o.Log.ReadBlob(l.InputBlob)
	if err != nil {
		out.Inputs += calls
		return nil, 0
	}
	j, err := b.judge(l.Workspace, nil)
	if err != nil {
		if out.Workspaces += calls; out.First == nil {
			out.First = err
		}
		return nil, 0
	}
	j = j.At(l.Cwd)
	d := j.Explain(l.Tool, input, l.Mode, true)
	switch {
	case d.Decision == wire.Allow || d.Decision == wire.Deny && d.BaseDecision != wire.Ask:
		out.Already += calls
		return nil, 0
	case d.Mandatory:
		out.OnlyOnce += calls
		return nil, 0
	}
	if list, err = j.Grants(l.Tool, input); err != nil {
		out.OnlyOnce += calls
		return nil, 0
	}
	host := onHost(l)
	for i := range list {
		list[i].Scope, list[i].Origin = policy.User, policy.Static
		if host && list[i].Effect == "" {
			list[i].Sandbox = sandbox.Host.Name // it was asked for without walls, by a rule of the user's
		}
	}
	list = distinct(list)
	allowed := func(list []policy.Rule) bool {
		j, err := b.o.Open(l.Workspace, list)
		return err == nil && j.At(l.Cwd).Explain(l.Tool, input, l.Mode, true).BaseDecision == wire.Allow
	}
	if !allowed(list) {
		out.OnlyOnce += calls
		return nil, 0
	}
	for i := 0; i < len(list) && len(list) > 1; {
		if rest := slices.Delete(slices.Clone(list), i, i+1); allowed(rest) {
			list = rest
			continue
		}
		i++
	}
	return list, len(list)
}

// distinct drops rules that are there twice.
func distinct(list []policy.Rule) []policy.Rule {
	var out []policy.Rule
	for _, r := range list {
		if !slices.ContainsFunc(out, func(h policy.Rule) bool { return rules.Same(&h, &r) }) {
			out = append(out, r)
		}
	}
	return out
}

// onHost reports whether the programs of a call ran without walls.
func onHost(l *line) bool {
	programs := 0
	for _, leaf := range l.Leaves {
		for _, p := range leaf.Points {
			if p.Effect != catalogue.Exec {
				continue
			}
			if p.Rule == nil || p.Rule.Sandbox != sandbox.Host.Name {
				return false
			}
			programs++
		}
	}
	return programs > 0
}

// unlearn drops rules until a call that a person denied would not be allowed by them.
func (b *bench) unlearn(l *line, out *Lessons) error {
	input, err := b.o.Log.ReadBlob(l.InputBlob)
	if err != nil {
		return nil // it can't be compared, and was counted if it is needed
	}
	for len(out.Rules) > 0 {
		list := make([]policy.Rule, len(out.Rules))
		for i, r := range out.Rules {
			list[i] = r.Rule
			list[i].File, list[i].Line = "learned", i+1
		}
		j, err := b.o.Open(l.Workspace, list)
		if err != nil {
			return nil // nothing is allowed there
		}
		d := j.At(l.Cwd).Explain(l.Tool, json.RawMessage(input), l.Mode, true)
		if d.BaseDecision != wire.Allow {
			return nil
		}
		least := -1 // the least used of those that decide: the other ones may be meant elsewhere
		for r := range d.Deciding() {
			i := slices.IndexFunc(list, func(have policy.Rule) bool { return have.Source() == r.Source })
			if i >= 0 && (least < 0 || out.Rules[i].Calls < out.Rules[least].Calls) {
				least = i
			}
		}
		if least < 0 {
			return nil // today's rules allow it
		}
		out.Rules = slices.Delete(out.Rules, least, least+1)
	}
	return nil
}
