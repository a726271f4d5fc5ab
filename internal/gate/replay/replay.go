// Package replay judges the calls of the record again: under another policy, to see
// what it would change, and under rules that are made of what people allowed, to
// see which of them would have spared a question. It reads the record and the files
// of policies, and touches nothing.
//
// Rules are compared with rules: what a person answered is no change. Paths lead
// where they lead today, and hard protections are those of today.
package replay

import (
	"context"
	"encoding/json"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

// Options say what is judged again, and by what.
type Options struct {
	Log    *audit.Log
	Since  time.Time
	Open   func(workspace string, granted []policy.Rule) (*judge.Judge, error)
	Loaded func(tool string) bool
}

// Call is a recorded call and what was decided of it.
type Call struct {
	At        time.Time
	ID        string
	Session   string
	Tool      string
	Workspace string
	Cwd       string
	Mode      string
	Input     json.RawMessage // exact
	Then      wire.Verdict    // what rules, guard and mode said, whoever answered later
	Now       wire.Verdict
	Decision  *wire.Decision // now
}

// Skipped counts what could not be judged again.
type Skipped struct {
	Lines      int   // of the record that are damaged
	Inputs     int   // that are missing or damaged
	Workspaces int   // calls in workspaces whose policy is not valid
	First      error // of the workspaces
}

// Summary counts calls by what they came to.
type Summary struct {
	Calls     int
	Unchanged int
	Changed   map[[2]wire.Verdict]int // by then and now
	Skipped
}

// line is what is needed of a decision in the record.
type line struct {
	CallID      string       `json:"call_id"`
	Session     string       `json:"session"`
	Workspace   string       `json:"workspace"`
	Cwd         string       `json:"cwd"`
	Tool        string       `json:"tool"`
	Decision    wire.Verdict `json:"decision"`
	Base        wire.Verdict `json:"base_decision"`
	Mandatory   bool         `json:"mandatory"`
	Mode        string       `json:"effective_mode"`
	Reason      string       `json:"reason"`
	Guard       *wire.Guard  `json:"guard"`
	InputBlob   string       `json:"input_blob"`
	ApprovalID  string       `json:"approval_id"`
	DecidedBy   wire.Decider `json:"decided_by"`
	Points      []wire.Point `json:"points"`
	Leaves      []wire.Leaf  `json:"leaves"`
	LosingRules []wire.Rule  `json:"losing_rules"`
	at          time.Time
}

// then is what was decided without any person.
func (l *line) then() wire.Verdict {
	if l.Guard != nil || l.DecidedBy.Kind == "scope" {
		return wire.Deny
	}
	entry, _ := catalogue.Lookup(l.Tool)
	v, _ := mode.Apply(l.Mode, l.Tool, entry.Plan, l.Base, l.Mandatory)
	return v
}

// rules yields the rules that spoke for the call.
func (l *line) rules(yield func(*wire.Rule)) {
	d := wire.Decision{Points: l.Points, Leaves: l.Leaves}
	for r := range d.Deciding() {
		yield(r)
	}
	for i := range l.LosingRules {
		yield(&l.LosingRules[i])
	}
}

// granted returns the session's rules that the call was judged by, as they are in
// the record: another policy would not have taken them away.
func (l *line) granted() []policy.Rule {
	var out []policy.Rule
	seen := map[string]bool{}
	l.rules(func(r *wire.Rule) {
		if r.Scope != policy.Session.String() || seen[r.Source] {
			return
		}
		seen[r.Source] = true
		g := policy.FromWire(r, policy.Session)
		file, n, _ := strings.Cut(r.Source, ":")
		g.File = file
		g.Line, _ = strconv.Atoi(n)
		out = append(out, g)
	})
	return out
}

// read returns the decisions of the record, the last of each call, in order, and
// calls each with every other line.
func (o *Options) read(ctx context.Context, other func(*audit.Entry)) (list []*line, damaged int, err error) {
	index := map[[2]string]int{}
	for e, err := range o.Log.List(audit.Filter{Since: o.Since}) {
		switch {
		case ctx.Err() != nil:
			return nil, 0, ctx.Err()
		case err != nil && e.Source == "":
			return nil, 0, err
		case err != nil:
			damaged++
			continue
		case e.Type != audit.TypeDecision:
			if other != nil {
				other(&e)
			}
			continue
		}
		l := &line{at: e.At}
		if json.Unmarshal(e.Raw, l) != nil {
			damaged++
			continue
		}
		key := [2]string{l.Session, l.CallID}
		if i, again := index[key]; again {
			list[i] = l // the same call, when it was answered
			continue
		}
		index[key] = len(list)
		list = append(list, l)
	}
	return list, damaged, nil
}

// bench opens judges, each once, and reads inputs. It may be used by several at
// once.
type bench struct {
	o      *Options
	mu     sync.Mutex
	judges map[string]func() (*judge.Judge, error)
}

func newBench(o *Options) *bench {
	return &bench{o: o, judges: map[string]func() (*judge.Judge, error){}}
}

// judge returns the judge of a workspace with more rules.
func (b *bench) judge(workspace string, granted []policy.Rule) (*judge.Judge, error) {
	raw, err := json.Marshal(granted)
	if err != nil {
		return nil, err
	}
	key := workspace + "\x00" + string(raw)
	b.mu.Lock()
	open, ok := b.judges[key]
	if !ok {
		open = sync.OnceValues(func() (*judge.Judge, error) { return b.o.Open(workspace, granted) })
		b.judges[key] = open
	}
	b.mu.Unlock()
	return open()
}

// action is what is the same for equal calls, which are judged once.
type action struct{ workspace, cwd, tool, blob, mode string }

func (l *line) action() action { return action{l.Workspace, l.Cwd, l.Tool, l.InputBlob, l.Mode} }

// verdict is what an action comes to now.
type verdict struct {
	input    json.RawMessage
	decision *wire.Decision
	inputErr error
	err      error
}

func (b *bench) judgeLine(l *line) (v verdict) {
	if v.input, v.inputErr = b.o.Log.ReadBlob(l.InputBlob); v.inputErr != nil {
		return v
	}
	j, err := b.judge(l.Workspace, l.granted())
	if err != nil {
		return verdict{err: err}
	}
	v.decision = j.At(l.Cwd).Explain(l.Tool, v.input, l.Mode, b.o.Loaded(l.Tool))
	if l.Mandatory && l.Reason == judge.NoSandbox {
		judge.Raise(v.decision, judge.NoSandbox) // of the machine, not of the policy
	}
	return v
}

// Run judges every recorded call again and gives those that come to something else,
// in order.
func Run(ctx context.Context, o Options, emit func(*Call) error) (Summary, error) {
	s := Summary{Changed: map[[2]wire.Verdict]int{}}
	lines, damaged, err := o.read(ctx, nil)
	if err != nil {
		return s, err
	}
	s.Lines = damaged
	results, err := newBench(&o).all(ctx, lines)
	if err != nil {
		return s, err
	}
	for i, l := range lines {
		v := results[i]
		switch {
		case v.inputErr != nil:
			s.Inputs++
			continue
		case v.err != nil:
			if s.Workspaces++; s.First == nil {
				s.First = v.err
			}
			continue
		}
		then, now := l.then(), v.decision.Decision
		if l.DecidedBy.Kind == "scope" {
			now = wire.Deny // the scope of its session, which no policy widens
		}
		if s.Calls++; then == now {
			s.Unchanged++
			continue
		}
		s.Changed[[2]wire.Verdict{then, now}]++
		c := &Call{At: l.at, ID: l.CallID, Session: l.Session, Tool: l.Tool, Workspace: l.Workspace, Cwd: l.Cwd, Mode: l.Mode, Input: v.input, Then: then, Now: now, Decision: v.decision}
		if err := emit(c); err != nil {
			return s, err
		}
	}
	return s, nil
}

// all judges lines on all processors, equal ones once.
func (b *bench) all(ctx context.Context, lines []*line) ([]verdict, error) {
	type key struct {
		action
		more string // what else the verdict depends on
	}
	place := map[key]int{}
	which, todo := make([]int, len(lines)), []*line(nil)
	for i, l := range lines {
		raw, err := json.Marshal(l.granted())
		if err != nil {
			return nil, fail.Failed("replay", "call %s can't be judged again: %v", l.CallID, err)
		}
		k := key{l.action(), string(raw)}
		if l.Mandatory && l.Reason == judge.NoSandbox {
			k.more += "raised"
		}
		n, ok := place[k]
		if !ok {
			n = len(todo)
			place[k], todo = n, append(todo, l)
		}
		which[i] = n
	}
	done := make([]verdict, len(todo))
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(todo) && ctx.Err() == nil; i += workers {
				done[i] = b.judgeLine(todo[i])
			}
		})
	}
	wg.Wait()
	out := make([]verdict, len(lines))
	for i, n := range which {
		out[i] = done[n]
	}
	return out, ctx.Err()
}
