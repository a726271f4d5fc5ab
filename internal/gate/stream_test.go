package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/wire"
)

// feed is a stream of calls from words: a tool's name, or ! for a line that is
// no call.
func feed(words ...string) func() (Item, bool) {
	n := 0
	return func() (Item, bool) {
		if len(words) == 0 {
			return Item{}, false
		}
		word := words[0]
		words = words[1:]
		n++
		if word == "!" {
			return Item{Err: fail.Usage("line %d: not a call", n)}, true
		}
		input := `{}`
		if word == "bash" {
			input = `{"command":"ls"}`
		}
		return Item{Call: wire.Call{ID: fmt.Sprintf("%s-%d", word, n), Tool: word, Input: json.RawMessage(input)}}, true
	}
}

// stream runs words as a stream in one batch and returns the ids in the order
// in which they came out.
func (w *world) stream(next func() (Item, bool)) []string {
	w.Helper()
	var ids []string
	b := w.begin()
	err := w.Stream(context.Background(), next, func() (*Batch, error) { return b, nil }, func(a Answer) error {
		if a.Err != nil {
			ids = append(ids, fmt.Sprint(a.Exit()))
			return nil
		}
		if a.Exit() != 0 {
			w.Errorf("%s: %+v", a.Result.ID, a.Result.Error)
		}
		ids = append(ids, a.Result.ID)
		return nil
	})
	if err != nil {
		w.Error(err)
	}
	return ids
}

// gauge counts how many tools run at once. With want set, each waits until that
// many did at one moment.
type gauge struct {
	mu        sync.Mutex
	now, most int
	want      int
	all       chan bool
	order     []string
}

func (g *gauge) run(name string) tool.Handler {
	return func(ctx context.Context, _ *tool.Env, _ json.RawMessage) (wire.Output, error) {
		g.mu.Lock()
		g.now++
		g.most = max(g.most, g.now)
		g.order = append(g.order, name)
		if g.now == g.want {
			g.want = 0
			close(g.all)
		}
		all := g.all
		g.mu.Unlock()
		defer func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.now--
			g.order = append(g.order, "/"+name)
		}()
		if all != nil {
			select {
			case <-all:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return nil, nil
	}
}

// As many calls as the limit says run at once, and no more.
func TestStreamParallel(t *testing.T) {
	g := &gauge{want: 3, all: make(chan bool)}
	w := newWorld(t, handlers{"get_goal": g.run("get_goal")})
	w.config("[limits]\nmax_parallel_tools = 3\n")
	var words []string
	for range 20 {
		words = append(words, "get_goal")
	}
	if ids := w.stream(feed(words...)); len(ids) != 20 || g.most != 3 {
		t.Errorf("%d results, %d at once", len(ids), g.most)
	}
	// Whatever the configuration says, there is an end.
	g.want, g.all, g.most = maxSlots, make(chan bool), 0
	w.config("[limits]\nmax_parallel_tools = 1000\n")
	words = slices.Repeat([]string{"get_goal"}, 2*maxSlots)
	if ids := w.stream(feed(words...)); len(ids) != 2*maxSlots || g.most != maxSlots {
		t.Errorf("%d results, %d at once", len(ids), g.most)
	}
}

// A serial tool waits for all before it and holds back all behind it; results
// come in the order of the calls, errors in their place.
func TestStreamOrder(t *testing.T) {
	g := &gauge{}
	w := newWorld(t, handlers{"bash": g.run("bash"), "get_goal": g.run("get_goal"), "todo_write": func(ctx context.Context, env *tool.Env, in json.RawMessage) (wire.Output, error) {
		return g.run("todo_write")(ctx, env, in)
	}})
	w.config("[experimental]\nunsandboxed_bash = true\n")
	w.policy(allowAll)
	ids := w.stream(feed("get_goal", "todo_write", "!", "get_goal", "bash", "get_goal", "bash", "bash", "!", "todo_write"))
	want := "get_goal-1 todo_write-2 2 get_goal-4 bash-5 get_goal-6 bash-7 bash-8 2 todo_write-10"
	if got := strings.Join(ids, " "); got != want {
		t.Errorf("got %s", got)
	}
	running := 0
	for i, what := range g.order {
		switch {
		case what == "bash":
			if running != 0 || g.order[i+1] != "/bash" {
				t.Fatalf("bash ran beside others: %v", g.order)
			}
			running++
		case strings.HasPrefix(what, "/"):
			running--
		default:
			running++
		}
	}
	if len(g.order) != 16 {
		t.Errorf("%v", g.order)
	}
}

// A serial call starts only when those before it have ended, however long they
// take.
func TestStreamSerialWaits(t *testing.T) {
	begun := make(chan bool)
	beside := false
	w := newWorld(t, handlers{
		"get_goal": func(context.Context, *tool.Env, json.RawMessage) (wire.Output, error) {
			select {
			case <-begun:
				beside = true
			case <-time.After(50 * time.Millisecond): // long enough to be overtaken
			}
			return nil, nil
		},
		"bash": func(context.Context, *tool.Env, json.RawMessage) (wire.Output, error) { close(begun); return nil, nil },
	})
	w.config("[experimental]\nunsandboxed_bash = true\n")
	w.policy(allowAll)
	if ids := w.stream(feed("get_goal", "bash")); len(ids) != 2 || beside {
		t.Errorf("%v, beside each other: %v", ids, beside)
	}
}

// The result of a slow call holds back those of quick ones behind it.
func TestStreamSlowFirst(t *testing.T) {
	quick := make(chan bool)
	var n sync.WaitGroup
	n.Add(3)
	w := newWorld(t, handlers{
		"get_goal": func(context.Context, *tool.Env, json.RawMessage) (wire.Output, error) { <-quick; return nil, nil },
		"todo_write": func(context.Context, *tool.Env, json.RawMessage) (wire.Output, error) {
			n.Done()
			return nil, nil
		},
	})
	go func() { n.Wait(); close(quick) }()
	ids := w.stream(feed("get_goal", "todo_write", "todo_write", "todo_write"))
	if got := strings.Join(ids, " "); got != "get_goal-1 todo_write-2 todo_write-3 todo_write-4" {
		t.Errorf("got %s", got)
	}
}

// Once a result can't be given to anybody, nothing more is started.
func TestStreamEmitFails(t *testing.T) {
	var w *world
	w = newWorld(t, handlers{"get_goal": func(ctx context.Context, _ *tool.Env, _ json.RawMessage) (wire.Output, error) {
		if w.ran.Load() > 1 {
			<-ctx.Done() // until the first result has been refused
		}
		return nil, nil
	}})
	w.config("[limits]\nmax_parallel_tools = 1\n")
	gone := errors.New("nobody reads any more")
	b := w.begin()
	read, emitted := 0, 0
	next := func() (Item, bool) {
		read++
		return Item{Call: wire.Call{Tool: "get_goal"}}, true
	}
	err := w.Stream(context.Background(), next, func() (*Batch, error) { return b, nil }, func(Answer) error {
		emitted++
		return gone
	})
	if err != gone || emitted != 1 || read > 3 || w.ran.Load() > 2 {
		t.Errorf("%v, %d emitted, %d read, %d ran", err, emitted, read, w.ran.Load())
	}
}

// An interrupted stream starts nothing more, and what it has begun gets its
// result.
func TestStreamInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := newWorld(t, handlers{"get_goal": func(ctx context.Context, _ *tool.Env, _ json.RawMessage) (wire.Output, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	w.config("[limits]\nmax_parallel_tools = 1\n")
	b := w.begin()
	var exits []int
	err := w.Stream(ctx, feed("get_goal", "todo_write", "todo_write"), func() (*Batch, error) { return b, nil }, func(a Answer) error {
		exits = append(exits, a.Exit())
		return nil
	})
	if !errors.Is(err, context.Canceled) || w.ran.Load() != 1 || len(exits) < 1 || len(exits) > 2 {
		t.Errorf("%v, %d ran, exits %v", err, w.ran.Load(), exits)
	}
	for _, exit := range exits {
		if exit != 130 {
			t.Errorf("exits %v", exits)
		}
	}
}

// Rules and limits are read again for every window.
func TestStreamReload(t *testing.T) {
	w := newWorld(t, nil)
	var b *Batch
	n := 0
	begin := func() (*Batch, error) {
		if n%2 == 0 {
			if n == 2 {
				w.policy("[[rule]]\ntool = \"get_goal\"\ndecision = \"deny\"\n")
			}
			if n == 4 {
				w.policy("[[rule]]\ntool = 1\n")
			}
			var err error
			if b, err = w.Begin(); err != nil {
				return nil, err
			}
		}
		n++
		return b, nil
	}
	var exits []int
	err := w.Stream(context.Background(), feed("get_goal", "get_goal", "get_goal", "get_goal", "get_goal"), begin, func(a Answer) error {
		exits = append(exits, a.Exit())
		return nil
	})
	if fail.Exit(err) != 2 || fmt.Sprint(exits) != "[0 0 3 3]" || w.ran.Load() != 2 {
		t.Errorf("%v, exits %v, %d ran", err, exits, w.ran.Load())
	}
}
