package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/model"
)

// What is promised, and how much slower the machine of a test may be: others use it,
// too.
const (
	perTurn   = 5 * time.Millisecond // at 1,000 events, without the model
	perResume = time.Second          // of 100,000 events
	patience  = 4
)

// pacer is a model of many turns of one call. It measures what lies between its
// answers and the next request.
type pacer struct {
	turns int
	left  time.Time
	took  []time.Duration
	each  func(turn int)
}

func (p *pacer) Turn(context.Context, *model.Request) (*model.Turn, error) {
	n := len(p.took)
	if !p.left.IsZero() {
		p.took = append(p.took, time.Since(p.left))
	} else {
		p.took = append(p.took, 0)
	}
	if p.each != nil {
		p.each(n)
	}
	defer func() { p.left = time.Now() }()
	if n >= p.turns {
		return &model.Turn{Say: "Done."}, nil
	}
	return &model.Turn{Say: "Next.", Calls: []model.Call{{Tool: "todo_write", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}}}, nil
}

func (p *pacer) Close() error { return nil }

// paced plays a session of so many turns.
func (h *house) paced(p *pacer) {
	h.t.Helper()
	end, err := h.play(bg, "{}", func(o *Options) { o.Model, o.Emit = p, nil })
	h.ends(end, err, Completed, 0)
}

// inMemory makes a house whose disk does not make anybody wait.
func inMemory(t testing.TB) *house {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "kx-test-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return newHouseIn(t, dir)
}

func median(list []time.Duration) time.Duration {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// TestOverheadOfATurn measures a turn with one call: everything from the model's answer
// to its next request, behind about 1,000 events.
func TestOverheadOfATurn(t *testing.T) {
	figures := map[string]time.Duration{}
	for where, h := range map[string]*house{"on disk": newHouse(t), "in memory": inMemory(t)} {
		p := &pacer{turns: 300} // six events each
		h.paced(p)
		figures[where] = median(p.took[150:])
	}
	t.Logf("a turn takes kx %v with what the disk takes, %v without", figures["on disk"], figures["in memory"])
	if got := figures["in memory"]; got > patience*perTurn {
		t.Errorf("a turn takes kx %v", got)
	}
}

// syncs counts how often a log is made to reach the disk.
type syncs struct {
	Log
	n int
}

func (s *syncs) Sync() error { s.n++; return s.Log.Sync() }

// TestBarriers counts how often a turn waits for the disk: for the answer, and before and
// after a call that may change anything.
func TestBarriers(t *testing.T) {
	for call, want := range map[string]int{
		`"tool":"read_file","input":{"path":"a"}`:   1,
		`"tool":"todo_write","input":{"n":1}`:       3,
		`"tool":"bash","input":{"command":"run x"}`: 3,
		`"tool":"write_tree","input":{}`:            2, // there is none: its result
		`"tool":"read_file","input":{"path":1}`:     1,
	} {
		h := newHouse(t)
		log := &syncs{}
		listen := func(o *Options) { log.Log, o.Log = o.Log, log }
		end, err := h.play(bg, `{"calls":[{`+call+`}]}`+"\n"+`{"say":"Done."}`, listen)
		h.ends(end, err, Completed, 0)
		const last = 2 // the answer and the end
		if log.n-last != want {
			t.Errorf("%s waits %d times, want %d", call, log.n-last, want)
		}
	}
}

// TestMemoryOfManyTurns plays 10,000 turns. What is kept grows by the conversation, which
// the model is sent, and by nothing else.
func TestMemoryOfManyTurns(t *testing.T) {
	const turns = 10_000
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var early, late int64
	p := &pacer{turns: turns}
	p.each = func(n int) {
		switch n {
		case turns / 10:
			early = heap()
		case turns:
			late = heap()
		}
	}
	inMemory(t).paced(p)
	const perTurn = 2 << 10 // two messages with their ids, and the id of a call
	grown := late - early
	t.Logf("%d turns keep %d KiB, %d bytes a turn", turns*9/10, grown>>10, grown/(turns*9/10))
	if grown > turns*perTurn {
		t.Errorf("%d bytes a turn", grown/(turns*9/10))
	}
}

// longSession writes a session of so many events, as a run would.
func longSession(t testing.TB, h *house, events int) {
	t.Helper()
	p := &pacer{turns: 1}
	h.paced(p)
	log := filepath.Join(h.dir, "state/sessions", sessionID, "events.jsonl")
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	turn := strings.SplitAfter(string(b), "\n")[:6]
	var all strings.Builder
	seq := 0
	for n := 1; seq < events; n++ {
		for _, line := range turn {
			seq++
			line = strings.ReplaceAll(line, "t1.1", fmt.Sprintf("t%d.1", n))
			line = strings.ReplaceAll(line, `"turn":1`, fmt.Sprintf(`"turn":%d`, n))
			_, rest, _ := strings.Cut(line, `"seq":`)
			_, rest, _ = strings.Cut(rest, ",")
			fmt.Fprintf(&all, `{"type":"event","v":1,"seq":%d,%s`, seq, rest)
		}
	}
	if err := os.WriteFile(log, []byte(all.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// resumes returns what a processor does to read the session.
func (h *house) resumes(t testing.TB) time.Duration {
	t.Helper()
	start := processor()
	s, err := fold(h.store.Events(sessionID))
	if err != nil || s.turns < 100 {
		t.Fatalf("%v", err)
	}
	return processor() - start
}

func processor() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func TestResumeOfALongSession(t *testing.T) {
	h := inMemory(t)
	longSession(t, h, 100_000)
	took := min(h.resumes(t), h.resumes(t))
	t.Logf("100,000 events are resumed in %v", took)
	if took > patience*perResume {
		t.Errorf("100,000 events are resumed in %v", took)
	}
}

func BenchmarkResume(b *testing.B) {
	h := inMemory(b)
	longSession(b, h, 100_000)
	for b.Loop() {
		h.resumes(b)
	}
}

func BenchmarkTurn(b *testing.B) {
	h := newHouse(b)
	p := &pacer{turns: b.N}
	h.paced(p)
}
