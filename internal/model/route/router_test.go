package route

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/record/config/provider"
)

// world is what a router is in: a clock that moves when it sleeps, and servers that do
// as they are told.
type world struct {
	t     *testing.T
	now   time.Time
	log   []string            // what happened
	plans map[string][]answer // by provider/model:account; the last one repeats
	keys  map[string]string   // by account
	dials int
	noted []string
}

// answer is what a server does: it fails as f says, after it said something, or answers.
type answer struct {
	f    *model.Failure
	said string
	err  error
	took time.Duration
}

func failure(class model.Class, wait time.Duration) answer {
	err := fail.Unavailable("model_x", "the provider says %s", class)
	if class == model.Refused {
		err = err.WithHint("kx model test a")
	}
	return answer{f: &model.Failure{Class: class, Wait: wait, Err: err}}
}

func newWorld(t *testing.T) *world {
	return &world{t: t, now: time.Unix(1e9, 0), plans: map[string][]answer{}, keys: map[string]string{"default": "k1", "work": "k2", "home": "k3"}}
}

type client struct {
	w   *world
	id  string
	key string
}

func (c *client) Close() error { return nil }

func (c *client) Turn(ctx context.Context, q *model.Request) (*model.Turn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.w.log = append(c.w.log, fmt.Sprintf("%s#%d", c.id, q.Turn))
	plan := c.w.plans[c.id]
	if len(plan) == 0 {
		return &model.Turn{Say: c.id, Usage: &model.Usage{Input: 1000, Output: 100}}, nil
	}
	a := plan[0]
	if len(plan) > 1 {
		c.w.plans[c.id] = plan[1:]
	}
	c.w.now = c.w.now.Add(a.took)
	if a.said != "" && q.Said != nil {
		if err := q.Said(a.said); err != nil {
			return nil, err
		}
	}
	switch {
	case a.err != nil:
		return nil, a.err
	case a.f != nil:
		return nil, a.f
	}
	return &model.Turn{Say: c.id}, nil
}

func (w *world) router(ask Ask) *Router {
	all, err := Resolve(catalog(w.t, settings), ask, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return New(Options{
		Candidates: all,
		Key: func(_ context.Context, a *provider.Account) (string, error) {
			if w.keys[a.Name] == "" {
				return "", fail.Unavailable("secret_revoked", "slot %s is revoked", a.Slot).WithHint("kx secret set %s", a.Slot)
			}
			return w.keys[a.Name], nil
		},
		Dial: func(c Candidate, key string) (model.Model, error) {
			w.dials++
			return &client{w, c.ID() + ":" + c.Account.Name, key}, nil
		},
		Resolved: func(c Candidate, outcome string) { w.noted = append(w.noted, c.ID()+":"+c.Account.Name+"="+outcome) },
		Now:      func() time.Time { return w.now },
		Sleep: func(ctx context.Context, d time.Duration) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.log = append(w.log, d.String())
			w.now = w.now.Add(d)
			return nil
		},
		Jitter: func() float64 { return 1 },
	})
}

// request is one that writes down what it is told.
func (w *world) request() *model.Request {
	return &model.Request{
		Said:  func(piece string) error { w.log = append(w.log, "said "+piece); return nil },
		Retry: func(f *model.Failure) error { w.log = append(w.log, string(f.Class)+" "+f.Wait.String()); return nil },
	}
}

const (
	one = "b/small:default" // of a server with one account
	def = "a/big:default"
	wrk = "a/big:work"
	hom = "a/big:home"
)

func TestRouter(t *testing.T) {
	solo, both, accounts := Ask{Model: "b/small"}, Ask{}, Ask{Model: "a/big"}
	rate := failure(model.RateLimited, 0)
	busy := failure(model.Overloaded, 0)
	forever := func(a answer) []answer { return []answer{a} }
	ok := answer{}
	torn := answer{f: &model.Failure{Class: model.Torn, Err: fail.Failed("model_torn", "torn")}, said: "half"}
	safe := answer{f: &model.Failure{Class: model.Torn, Safe: true, Err: fail.Failed("model_torn", "torn")}, said: "half"}
	plain := answer{err: fail.Failed(model.CodeExpect, "it does not hold")}
	for name, tc := range map[string]struct {
		ask   Ask
		plans map[string][]answer
		log   string
		class model.Class // "" for a turn
		words string      // of the error
	}{
		"an answer":                      {solo, nil, one + "#0", "", ""},
		"429, and it asks to wait":       {solo, map[string][]answer{one: {failure(model.RateLimited, 2*time.Second), ok}}, one + "#0, rate_limited 2.2s, 2.2s, " + one + "#1", "", ""},
		"429, and it doesn't":            {solo, map[string][]answer{one: {rate, ok}}, one + "#0, rate_limited 1s, 1s, " + one + "#1", "", ""},
		"529 until it works":             {solo, map[string][]answer{one: {busy, busy, busy, ok}}, one + "#0, overloaded 1s, 1s, " + one + "#1, overloaded 2s, 2s, " + one + "#2, overloaded 4s, 4s, " + one + "#3", "", ""},
		"529 for ever":                   {solo, map[string][]answer{one: forever(busy)}, "", model.Overloaded, "the provider says overloaded; asked 6 times in 31s"},
		"a day to wait":                  {solo, map[string][]answer{one: forever(failure(model.RateLimited, 24*time.Hour))}, one + "#0", model.RateLimited, "a turn waits for 5 min at most"},
		"two minutes, three times":       {solo, map[string][]answer{one: forever(failure(model.RateLimited, 2*time.Minute))}, one + "#0, rate_limited 2m1s, 2m1s, " + one + "#1, rate_limited 2m1s, 2m1s, " + one + "#2", model.RateLimited, "a turn waits for 5 min at most; asked 3 times in 4m2s"},
		"torn before anything was shown": {solo, map[string][]answer{one: {failure(model.Torn, 0), ok}}, one + "#0, torn 1s, 1s, " + one + "#1", "", ""},
		"torn after something was shown": {both, map[string][]answer{def: {torn, ok}}, def + "#0, said half", model.Torn, "torn; a part of the answer was shown, so it is not asked again"},
		"torn, and it is safe":           {solo, map[string][]answer{one: {safe, ok}}, one + "#0, said half, torn 1s, 1s, " + one + "#1", "", ""},
		"overflow":                       {both, map[string][]answer{def: forever(failure(model.Overflow, 0))}, def + "#0", model.Overflow, "the provider says overflow"},
		"refused":                        {both, map[string][]answer{def: forever(failure(model.Refused, 0))}, def + "#0", model.Refused, ""},
		"an error that is no failure":    {both, map[string][]answer{def: forever(plain)}, def + "#0", "", "it does not hold"},
		"429 goes to the next account":   {accounts, map[string][]answer{def: {rate, ok}}, def + "#0, rate_limited 0s, " + wrk + "#1", "", ""},
		"429 on all accounts":            {accounts, map[string][]answer{def: {failure(model.RateLimited, 9*time.Second), ok}, wrk: {failure(model.RateLimited, 3*time.Second), ok}, hom: {failure(model.RateLimited, 6*time.Second), ok}}, def + "#0, rate_limited 0s, " + wrk + "#1, rate_limited 0s, " + hom + "#2, rate_limited 3.3s, 3.3s, " + wrk + "#3", "", ""},
		"a key that is refused":          {accounts, map[string][]answer{def: forever(failure(model.Auth, 0))}, def + "#0, auth 0s, " + wrk + "#1", "", ""},
		"no money on two accounts":       {accounts, map[string][]answer{def: forever(failure(model.Quota, 0)), wrk: forever(failure(model.Quota, 0))}, def + "#0, quota 0s, " + wrk + "#1, quota 0s, " + hom + "#2", "", ""},
		"no money anywhere":              {accounts, map[string][]answer{def: forever(failure(model.Quota, 0)), wrk: forever(failure(model.Quota, 0)), hom: forever(failure(model.Auth, 0))}, def + "#0, quota 0s, " + wrk + "#1, quota 0s, " + hom + "#2", model.Auth, "the provider says auth; asked 3 times in 0s"},
		"529 is the server's":            {accounts, map[string][]answer{def: {busy, ok}}, def + "#0, overloaded 1s, 1s, " + def + "#1", "", ""},
		"no money leads to the fallback": {both, map[string][]answer{def: forever(failure(model.Quota, 0)), wrk: forever(failure(model.Quota, 0)), hom: forever(failure(model.Quota, 0))}, def + "#0, quota 0s, " + wrk + "#1, quota 0s, " + hom + "#2, quota 0s, " + one + "#3", "", ""},
		"garbage leads to the fallback":  {both, map[string][]answer{def: forever(failure(model.Garbled, 0))}, def + "#0, garbled 0s, " + one + "#1", "", ""},
		"a minute leads to the fallback": {both, map[string][]answer{def: forever(failure(model.Overloaded, time.Minute))}, def + "#0, overloaded 0s, " + one + "#1", "", ""},
		"a second is waited":             {both, map[string][]answer{def: {failure(model.Overloaded, time.Second), ok}}, def + "#0, overloaded 1.1s, 1.1s, " + def + "#1", "", ""},
		"the fallback fails, too":        {both, map[string][]answer{def: {failure(model.Overloaded, time.Minute), ok}, one: forever(failure(model.Garbled, 0))}, def + "#0, overloaded 0s, " + one + "#1, garbled 1m1s, 1m1s, " + def + "#2", "", ""},
		"a server that hangs is left":    {both, map[string][]answer{def: forever(answer{f: failure(model.Network, 0).f, took: 10 * time.Minute})}, def + "#0, network 0s, " + one + "#1", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for id, plan := range tc.plans {
				w.plans[id] = plan
			}
			turn, err := w.router(tc.ask).Turn(t.Context(), w.request())
			if got := strings.Join(w.log, ", "); tc.log != "" && got != tc.log {
				t.Errorf("it did  %s\n   want %s", got, tc.log)
			}
			var f *model.Failure
			errors.As(err, &f)
			switch {
			case tc.class == "" && tc.words == "":
				if err != nil || turn.Say == "" {
					t.Fatalf("%+v, %v", turn, err)
				}
			case tc.class == model.Refused && f.Err.Hint != "kx model test a/big":
				t.Errorf("the hint is %q", f.Err.Hint)
			case tc.class != "" && (f == nil || f.Class != tc.class), !strings.HasSuffix(err.Error(), tc.words):
				t.Errorf("%v, want %s, %s", err, tc.class, tc.words)
			}
		})
	}
}

// A run goes on where it was answered last, and comes back from there.
func TestRouterRemembers(t *testing.T) {
	w := newWorld(t)
	quota := failure(model.Quota, 0)
	w.plans[def], w.plans[wrk] = []answer{quota}, []answer{{}, {}, quota}
	r := w.router(Ask{})
	for range 4 {
		if _, err := r.Turn(t.Context(), &model.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{def + "#0", wrk + "#1", wrk + "#0", wrk + "#0", def + "#1", hom + "#2", hom + "#0"}
	if !slices.Equal(w.log, want) {
		t.Errorf("it asked %v, want %v", w.log, want)
	}
	if want := []string{def + "=quota", wrk + "=ok", wrk + "=quota", def + "=quota", hom + "=ok"}; !slices.Equal(w.noted, want) {
		t.Errorf("it noted %v, want %v", w.noted, want)
	}
	if w.dials != 3 {
		t.Errorf("it connected %d times", w.dials)
	}
}

// A key that is revoked or replaced in the middle of a run is so for the next request.
func TestKeysAreFetchedWhenTheyAreUsed(t *testing.T) {
	w := newWorld(t)
	r := w.router(Ask{Role: "last"})
	ask := func() error {
		_, err := r.Turn(t.Context(), &model.Request{})
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	w.keys["work"] = "new"
	if err := ask(); err != nil || w.dials != 2 || r.places[0].client.(*client).key != "new" {
		t.Errorf("%v after %d dials", err, w.dials)
	}
	w.keys["work"] = ""
	var f *model.Failure
	if err := ask(); !errors.As(err, &f) || f.Class != model.Auth || f.Err.Hint != "kx secret set model.a.work" || fail.Exit(err) != fail.ExitUnavailable {
		t.Errorf("revoked: %v", err)
	}
	if len(w.log) != 2 {
		t.Errorf("it asked %v", w.log)
	}
}

// A wait ends when the run does, and whoever is told of a failure may end it.
func TestRouterStops(t *testing.T) {
	w := newWorld(t)
	w.plans[one] = []answer{failure(model.RateLimited, time.Minute)}
	r := w.router(Ask{Model: "b/small"})
	r.Sleep = sleep
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	_, err := r.Turn(ctx, &model.Request{Retry: func(*model.Failure) error { cancel(); return nil }})
	if !errors.Is(err, context.Canceled) || time.Since(began) > 30*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	stop := errors.New("the disk is full")
	if _, err := r.Turn(t.Context(), &model.Request{Retry: func(*model.Failure) error { return stop }}); !errors.Is(err, stop) {
		t.Error(err)
	}
	w.plans[one] = []answer{{said: "x"}}
	if _, err := r.Turn(t.Context(), &model.Request{Said: func(string) error { return stop }}); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// Every request passes the admission, which hears how it ended.
func TestAdmit(t *testing.T) {
	w := newWorld(t)
	w.plans[one] = []answer{failure(model.Overloaded, 0), {}}
	r := w.router(Ask{Model: "b/small"})
	var seen []string
	r.Admit = func(_ context.Context, c Candidate) (func(*model.Turn, error), error) {
		seen = append(seen, "begin "+c.ID())
		return func(turn *model.Turn, err error) { seen = append(seen, fmt.Sprint("end ", turn != nil, err)) }, nil
	}
	if _, err := r.Turn(t.Context(), &model.Request{}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"begin b/small", "end false the provider says overloaded", "begin b/small", "end true <nil>"}; !slices.Equal(seen, want) {
		t.Errorf("%q", seen)
	}
	full := fail.Limit("budget", "no budget is left")
	r.Admit = func(context.Context, Candidate) (func(*model.Turn, error), error) { return nil, full }
	if _, err := r.Turn(t.Context(), &model.Request{}); !errors.Is(err, full) || len(w.log) != 3 {
		t.Errorf("%v, %v", err, w.log)
	}
}

// Many that fail together don't come back together, and none before it was told to.
func TestPause(t *testing.T) {
	r := New(Options{})
	for n := 1; n <= mostTries; n++ {
		d := firstPause << (n - 1)
		if got := r.pause(n, 0); got < min(d, longestPause)/2 || got > longestPause {
			t.Errorf("pause %d is %s", n, got)
		}
	}
	for _, asked := range []time.Duration{time.Millisecond, time.Second, time.Hour, math.MaxInt64 / 2} {
		if got := r.pause(3, asked); got < asked || got > asked+firstPause {
			t.Errorf("asked for %s: %s", asked, got)
		}
	}
	if a, b, c := r.pause(4, 0), r.pause(4, 0), r.pause(4, 0); a == b && b == c {
		t.Errorf("always %s", a)
	}
}

func TestAlone(t *testing.T) {
	s, err := model.ParseScript([]byte(`{"fail":{"status":429,"retry_after":2}}`+"\n"+`{"fail":{"torn":true}}`+"\n"+`{"say":"x"}`), "s")
	if err != nil {
		t.Fatal(err)
	}
	r := Alone(s)
	var slept []time.Duration
	r.Sleep = func(_ context.Context, d time.Duration) error { slept = append(slept, d); return nil }
	turn, err := r.Turn(t.Context(), &model.Request{})
	if err != nil || turn.Say != "x" || turn.By != "" || len(slept) != 2 || slept[0] < 2*time.Second {
		t.Errorf("%+v, %v after %v", turn, err, slept)
	}
}

func TestCost(t *testing.T) {
	price := &provider.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	if got := Cost(&model.Usage{Input: 1000, Output: 200, CacheRead: 10_000, CacheWrite: 400, Reasoning: 50}, price); math.Abs(got-0.0105) > 1e-12 {
		t.Errorf("it costs %v", got)
	}
	r := newWorld(t).router(Ask{})
	turn, err := r.Turn(t.Context(), &model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if usd, known := r.Cost(turn.By, turn.Usage); turn.By != "a/big" || !known || math.Abs(usd-0.002) > 1e-12 {
		t.Errorf("%s costs %v, %v", turn.By, usd, known)
	}
	for _, by := range []string{"b/small", "", "x/y"} {
		if _, known := r.Cost(by, turn.Usage); known {
			t.Errorf("%q has a price", by)
		}
	}
	if _, known := r.Cost("a/big", nil); known {
		t.Error("what is not told has a price")
	}
}
