package route

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/record/config/provider"
)

const (
	// firstPause is how long nothing is asked after the first failure; each one after
	// it doubles that. Providers ask for about as much where they say anything.
	firstPause = time.Second
	// longestPause is when doubling ends: whoever waits wants to see something happen.
	longestPause = 30 * time.Second
	// mostTries is how often a model is asked in a turn: half a minute of failures,
	// longer than a deployment or a burst takes.
	mostTries = 6
	// patience is how long a model is waited for while there is another one.
	patience = 30 * time.Second
	// deadline is how long after its beginning a turn is still asked for again. Limits
	// of a minute are over by then; limits of a day are not waited for.
	deadline = 5 * time.Minute
)

// Admit is asked right before each request whether it may go out now. It returns what
// is told how the request ended.
type Admit func(context.Context, Candidate) (settle func(*model.Turn, error), err error)

// yes admits everything.
func yes(context.Context, Candidate) (func(*model.Turn, error), error) {
	return func(*model.Turn, error) {}, nil
}

// The outcome of a resolution is OK, or the class of the failure.
const OK = "ok"

// Options say who is asked, and how.
type Options struct {
	Candidates []Candidate // in order, at least one, none of them skipped
	Key        func(context.Context, *provider.Account) (string, error)
	Dial       func(c Candidate, key string) (model.Model, error)
	Admit      Admit                             // nil for yes
	Resolved   func(c Candidate, outcome string) // told when something else came of asking than the last time; nil if nobody listens

	// The clock; nil for that of the machine.
	Now    func() time.Time
	Sleep  func(context.Context, time.Duration) error
	Jitter func() float64 // from 0 to 1
}

// Router is a model that asks candidates until one answers.
type Router struct {
	Options
	places []*place
	last   *place // who answered last, nil if nobody has
	noted  string
}

// place is a candidate, and how it stands in the turn under way.
type place struct {
	Candidate
	client model.Model
	key    string

	tries int
	ready time.Time // nothing is asked before
	out   bool      // nothing is asked any more
}

// sibling reports whether the two are one model of one provider.
func (p *place) sibling(q *place) bool {
	return p == q || p.Provider != nil && p.Provider == q.Provider && p.Model.Name == q.Model.Name
}

// New returns a router. It connects to nobody.
func New(o Options) *Router {
	if o.Admit == nil {
		o.Admit = yes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	r := &Router{Options: o}
	for _, c := range o.Candidates {
		r.places = append(r.places, &place{Candidate: c})
	}
	return r
}

// Alone returns a router to a model that nothing is configured of: a script, a program.
func Alone(m model.Model) *Router {
	r := New(Options{})
	r.places = []*place{{client: m}}
	return r
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Turn asks for a turn.
func (r *Router) Turn(ctx context.Context, q *model.Request) (*model.Turn, error) {
	began := r.Now()
	for _, p := range r.places {
		p.tries, p.ready, p.out = 0, time.Time{}, false
	}
	req, said := *q, false
	if q.Said != nil {
		req.Said = func(piece string) error {
			said = said || piece != ""
			return q.Said(piece)
		}
	}
	p := r.order()[0]
	for tries := 1; ; tries++ {
		said = false
		p.tries++
		t, err := r.try(ctx, p, &req)
		if err == nil {
			r.last = p
			r.note(p, OK)
			if t.By == "" && p.Provider != nil {
				t.By = p.ID()
			}
			return t, nil
		}
		var f *model.Failure
		if ctx.Err() != nil || !errors.As(err, &f) {
			return nil, err
		}
		own := *f // what follows changes it
		f = &own
		f.Said = f.Said || said
		r.note(p, string(f.Class))
		next, wait := r.next(p, f, began)
		if next == nil {
			return nil, giveUp(p, f, tries, r.Now().Sub(began))
		}
		f.Wait = wait
		if q.Retry != nil {
			if err := q.Retry(f); err != nil {
				return nil, err
			}
		}
		if wait > 0 {
			if err := r.Sleep(ctx, wait); err != nil {
				return nil, err
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, req.Turn = next, q.Turn+tries
	}
}

// order is the order in which models are asked: the one that answered last, and what
// pays for the same model, come first.
func (r *Router) order() []*place {
	if r.last == nil {
		return r.places
	}
	list := []*place{r.last}
	for _, same := range []bool{true, false} {
		for _, p := range r.places {
			if p != r.last && p.sibling(r.last) == same {
				list = append(list, p)
			}
		}
	}
	return list
}

// try asks once.
func (r *Router) try(ctx context.Context, p *place, q *model.Request) (*model.Turn, error) {
	if p.Provider != nil {
		key := ""
		if p.Account.Keyed() {
			var err error
			if key, err = r.Key(ctx, p.Account); err != nil {
				return nil, &model.Failure{Class: model.Auth, Err: fail.As(err)}
			}
		}
		if p.client == nil || p.key != key {
			if p.client != nil {
				p.client.Close()
				p.client = nil
			}
			m, err := r.Dial(p.Candidate, key)
			if err != nil {
				return nil, err
			}
			p.client, p.key = m, key
		}
	}
	settle, err := r.Admit(ctx, p.Candidate)
	if err != nil {
		return nil, err
	}
	t, err := p.client.Turn(ctx, q)
	settle(t, err)
	return t, err
}

// Cost is what an answer of the model by cost, in US dollars; false where its price is
// not known.
func (r *Router) Cost(by string, u *model.Usage) (usd float64, known bool) {
	for _, p := range r.places {
		if p.Provider != nil && p.ID() == by && p.Model.Price != nil && u != nil {
			return Cost(u, p.Model.Price), true
		}
	}
	return 0, false
}

// next returns who is asked after p has failed, and after how long; nil if nobody is.
func (r *Router) next(p *place, f *model.Failure, began time.Time) (*place, time.Duration) {
	if !f.Elsewhere() {
		return nil, 0
	}
	now := r.Now()
	p.ready, p.out = now.Add(r.pause(p.tries, f.Wait)), !f.Again() || p.tries >= mostTries
	if !ofAccount[f.Class] { // it fails on every account
		for _, s := range r.places {
			if s != p && s.sibling(p) {
				s.tries, s.ready, s.out = p.tries, p.ready, p.out || s.out
			}
		}
	}
	end := began.Add(deadline)
	usable := func(s *place) bool {
		return !s.out && (s.tries == 0 || !s.ready.After(end) && !now.After(end))
	}
	var best []*place // one of each model
	for _, s := range r.order() {
		if !usable(s) {
			continue
		}
		switch i := slices.IndexFunc(best, s.sibling); {
		case i < 0:
			best = append(best, s)
		case s.ready.Before(best[i].ready), s == p && s.ready.Equal(best[i].ready):
			best[i] = s
		}
	}
	if len(best) == 0 {
		return nil, 0
	}
	i := max(0, slices.IndexFunc(best, func(s *place) bool { return s.ready.Sub(now) <= patience }))
	return best[i], max(0, best[i].ready.Sub(now))
}

// ofAccount are the classes of failures that another account of the same provider may
// not have.
var ofAccount = map[model.Class]bool{model.RateLimited: true, model.Auth: true, model.Quota: true}

// pause is how long a model is left alone that has failed n times: as long as it asks
// for, or longer each time. Many that failed together don't come back together.
func (r *Router) pause(n int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked + time.Duration(r.Jitter()*float64(min(asked/10, firstPause)))
	}
	d := min(firstPause<<(n-1), longestPause)
	return d/2 + time.Duration(r.Jitter()*float64(d/2))
}

// giveUp says what was done about a failure before it became the end.
func giveUp(p *place, f *model.Failure, tries int, took time.Duration) error {
	var more []string
	switch {
	case f.Again() && f.Wait > 0 && took+f.Wait > deadline:
		more = append(more, fmt.Sprintf("a turn waits for %d min at most", int(deadline/time.Minute))) // the client tells the other time
	case f.Said && !f.Safe:
		more = append(more, "a part of the answer was shown, so it is not asked again")
	}
	if tries > 1 {
		more = append(more, fmt.Sprintf("asked %d times in %s", tries, took.Round(100*time.Millisecond)))
	}
	err := *f.Err
	if len(more) > 0 {
		err.Msg += "; " + strings.Join(more, "; ")
	}
	if p.Provider != nil && err.Hint == "kx model test "+p.Provider.Name {
		err.Hint = "kx model test " + argv.Quote(p.ID()) // the client knows only its provider
	}
	f.Err = &err
	return f
}

// note tells what became of asking, where that is new.
func (r *Router) note(p *place, outcome string) {
	if p.Provider == nil || r.Resolved == nil {
		return
	}
	if what := p.ID() + "\x00" + p.Account.Name + "\x00" + outcome; what != r.noted {
		r.noted = what
		r.Resolved(p.Candidate, outcome)
	}
}

// Close ends all connections.
func (r *Router) Close() error {
	var err error
	for _, p := range r.places {
		if p.client != nil {
			err = errors.Join(err, p.client.Close())
		}
	}
	return err
}
