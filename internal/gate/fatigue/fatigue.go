// Package fatigue counts what people were asked: how many requests there were, how
// they ended, how long an answer took, and what made kx ask most often. All of it is
// read from the record; nothing is written.
//
// Every request has one end, so the counts of ends add up to the requests. A call
// that is asked for again while its request waits is the same request. kx approve
// stats prints it.
package fatigue

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/wire"
)

// Options say which requests are counted.
type Options struct {
	Log     *audit.Log
	Since   time.Time // only requests that were made then or later
	Session string    // only those of one session

	// Look returns a request as it is now. The record says neither what has
	// expired nor when a request was made before Since.
	Look func(id string) (*wire.Approval, error)
}

// Count is what people were asked.
type Count struct {
	Asked   int
	Ends    map[string]int  // requests by the state they came to; see ends
	Times   []time.Duration // from asking to a person's answer, the shortest first
	Causes  []Cause         // what asked most first
	Damaged int             // lines of the record that can't be read
}

// ends are the states that a request is counted under. What was allowed and then
// used, or not used in time, was allowed; what nobody can answer any more because
// its file is gone has expired.
var ends = []string{
	wire.ApprovalAllowed, wire.ApprovalDenied, wire.ApprovalAnswered,
	wire.ApprovalExpired, wire.ApprovalCancelled, wire.ApprovalPending,
}

// answers are the ends that a person made.
var answers = ends[:3]

// request is a request of the record.
type request struct {
	id     string
	at     time.Time
	causes []*Cause
}

// answer is how the record says that a request ended.
type answer struct {
	state string
	at    time.Time
}

// reader gathers the lines of the record.
type reader struct {
	causes   causes
	asking   map[string][]*Cause // by request: what its latest decision asked for
	requests []*request          // in the order of the record
	known    map[string]bool     // ids of requests
	answers  map[string]answer
}

// Read counts the requests of the record.
func Read(ctx context.Context, o Options) (*Count, error) {
	r := reader{causes: causes{}, asking: map[string][]*Cause{}, known: map[string]bool{}, answers: map[string]answer{}}
	c := &Count{Ends: map[string]int{}}
	for e, err := range o.Log.List(audit.Filter{Since: o.Since, Session: o.Session}) {
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && e.Source == "":
			return nil, err
		case err != nil || !r.line(&e):
			c.Damaged++
		}
	}
	for _, q := range r.requests {
		a, counts := r.end(&o, q)
		if !counts {
			continue
		}
		c.Asked++
		c.Ends[a.state]++
		for _, cause := range q.causes {
			cause.count(a.state)
		}
		// Without a clock that went on there is no telling how long it took.
		if took := a.at.Sub(q.at); slices.Contains(answers, a.state) && took >= 0 {
			c.Times = append(c.Times, took)
		}
	}
	slices.Sort(c.Times)
	c.Causes = r.causes.sorted()
	return c, nil
}

// line takes a line of the record; false means that it is damaged.
func (r *reader) line(e *audit.Entry) bool {
	switch {
	case e.Type == audit.TypeDecision && e.Decision == wire.Ask:
		var d struct {
			wire.Decision
			ApprovalID string `json:"approval_id"`
		}
		if json.Unmarshal(e.Raw, &d) != nil {
			return false
		}
		if d.ApprovalID != "" && !r.known[d.ApprovalID] {
			r.asking[d.ApprovalID] = r.causes.of(&d.Decision)
		}
	case e.Type == audit.TypeSessionStop:
		var s audit.SessionStop
		if json.Unmarshal(e.Raw, &s) != nil {
			return false
		}
		for _, id := range s.Cancelled {
			r.ends(id, wire.ApprovalCancelled, e.At)
		}
	case e.Type == audit.TypeApproval && e.State == wire.ApprovalPending:
		var a audit.Approval
		if json.Unmarshal(e.Raw, &a) != nil {
			return false
		}
		if !r.known[a.ID] {
			r.known[a.ID] = true
			r.requests = append(r.requests, &request{id: a.ID, at: e.At, causes: r.asking[a.ID]})
			delete(r.asking, a.ID)
		}
	case e.Type == audit.TypeApproval:
		r.ends(e.ID, e.State, e.At)
	}
	return true
}

// ends notes how a request ended. The first answer is final; a state that is no end,
// such as that of a refusal, leaves it as it is.
func (r *reader) ends(id, state string, at time.Time) {
	if _, ok := r.answers[id]; !ok && slices.Contains(ends, state) {
		r.answers[id] = answer{state, at}
	}
}

// end returns how a request ended; counts is false for one that was made before the
// time that is asked about, and only asked for again in it.
func (r *reader) end(o *Options, q *request) (a answer, counts bool) {
	a, ok := r.answers[q.id]
	if ok && o.Since.IsZero() {
		return a, true
	}
	now, err := o.Look(q.id)
	if err != nil {
		if !ok {
			a.state = wire.ApprovalExpired
		}
		return a, true
	}
	if now.CreatedAt.Before(o.Since) {
		return a, false
	}
	if !ok {
		a = fromFile(now)
	}
	return a, true
}

// fromFile is the end of a request whose answer is not in the record, or not yet.
func fromFile(now *wire.Approval) answer {
	a := answer{state: now.State}
	if now.DecidedAt == nil {
		return a
	}
	a.at = *now.DecidedAt
	if now.State == wire.ApprovalSpent || now.State == wire.ApprovalExpired {
		if a.state = wire.ApprovalAllowed; now.Kind == approval.KindQuestion {
			a.state = wire.ApprovalAnswered
		}
	}
	return a
}

// Within returns the time within which so many percent of the answers came, such as
// 50 for the median; ok is false if there is none.
func (c *Count) Within(percent int) (d time.Duration, ok bool) {
	n := len(c.Times)
	if n == 0 {
		return 0, false
	}
	return c.Times[(n*percent+99)/100-1], true
}
