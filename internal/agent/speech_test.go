package agent

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/pkg/wire"
)

// texts are the text events of a run: a piece that goes on ends with an ellipsis.
func texts(events []wire.Event) []string {
	var list []string
	for _, e := range events {
		var d textEvent
		if e.Event != evText || json.Unmarshal(e.Data, &d) != nil {
			continue
		}
		if d.More {
			d.Text += "…"
		}
		list = append(list, d.Text)
	}
	return list
}

// speak says pieces and then that it said all.
func speak(pause func(int), pieces ...string) func(*model.Request) (*model.Turn, error) {
	return func(r *model.Request) (*model.Turn, error) {
		for i, p := range pieces {
			if err := r.Said(p); err != nil {
				return nil, err
			}
			pause(i)
		}
		return &model.Turn{Say: strings.Join(pieces, "")}, nil
	}
}

func at(i int, do func()) func(int) {
	return func(n int) {
		if n == i {
			do()
		}
	}
}

// The first words come at once, those of the next moments together, and nothing is
// held back for longer than that.
func TestSpeech(t *testing.T) {
	h := newHouse(t)
	told := make(chan string, 100)
	tell := func(o *Options) {
		emit := o.Emit
		o.Emit = func(e wire.Event) error {
			var d textEvent
			if json.Unmarshal(e.Data, &d); e.Event == evText {
				told <- d.Text
			}
			return emit(e)
		}
	}
	await := func() {
		select {
		case <-told:
		case <-time.After(time.Minute):
			t.Error("nothing comes while the model thinks")
		}
	}
	end, err, _ := h.improvise(improvised{speak(func(i int) {
		if i == 0 || i == 3 {
			await()
		}
	}, "A", " b", " c", " d", " e.\n")}, tell)
	h.ends(end, err, Completed, 0)
	got := texts(h.events)
	same(t, "texts", got, []string{"A…", " b c d…", " e.\n"})
	if end.Run.Output != "A b c d e.\n" {
		t.Errorf("output %q", end.Run.Output)
	}
	same(t, "the log", texts(h.recorded()), got)
}

func TestSpeechOfManyWords(t *testing.T) {
	h := newHouse(t)
	var pieces []string
	for range 20_000 {
		pieces = append(pieces, "wörd ")
	}
	end, err, _ := h.improvise(improvised{speak(func(int) {}, pieces...)})
	h.ends(end, err, Completed, 0)
	got := texts(h.events)
	if most := len(strings.Join(pieces, ""))/(4<<10) + 200; len(got) < 2 || len(got) > most {
		t.Errorf("%d events", len(got))
	}
	for i, e := range got {
		if more := strings.HasSuffix(e, "…"); more != (i < len(got)-1) && i < len(got)-1 {
			t.Errorf("event %d of %d: more is %v", i, len(got), more)
		}
		got[i] = strings.TrimSuffix(e, "…")
	}
	if strings.Join(got, "") != strings.Join(pieces, "") {
		t.Error("the pieces are not the whole")
	}
}

// What was said before a provider failed stays, and is what the failure is about.
func TestSpeechThatBreaks(t *testing.T) {
	h := newHouse(t)
	torn := &model.Failure{Class: model.Torn, Said: true, Err: fail.Failed("model_torn", "the answer ended in the middle")}
	end, err, _ := h.improvise(improvised{func(r *model.Request) (*model.Turn, error) {
		r.Said("I thi")
		r.Said("nk")
		return nil, torn
	}})
	h.ends(end, err, Failed, 1)
	same(t, "texts", texts(h.events), []string{"I thi…", "nk"})
	w, _ := wire.Marshal(torn.Err.Wire())
	got := trail(h.events)
	if got[len(got)-3] != `model_call {"turn":1,"error":`+string(w)+`}` {
		t.Errorf("%s", got[len(got)-3])
	}
	end, err, l := h.improvise(improvised{says(model.Turn{Say: "x"})})
	h.ends(end, err, Completed, 0)
	same(t, "messages", l.said(), []string{"user go"})
	if l.asked[0].Turn != 1 {
		t.Errorf("request %d", l.asked[0].Turn)
	}
}

// A failure after which the provider is asked again is an event, and counts.
func TestRetries(t *testing.T) {
	h := newHouse(t)
	end, err, _ := h.improvise(improvised{func(r *model.Request) (*model.Turn, error) {
		f := &model.Failure{Class: model.RateLimited, Wait: 1500 * time.Millisecond, Err: fail.Unavailable("model_rate_limited", "too many")}
		if err := errors.Join(r.Said("half "), r.Retry(f), r.Said("whole")); err != nil {
			return nil, err
		}
		return &model.Turn{Say: "whole", Calls: []model.Call{{Tool: "write_file", Input: json.RawMessage(`{"path":"a"}`)}}}, nil
	}})
	h.ends(end, err, Parked, fail.ExitPending)
	got := trail(h.events)
	same(t, "events", got[1:4], []string{
		`text {"text":"half ","more":true}`,
		`model_call {"turn":1,"error":{"code":"model_rate_limited","exit":5,"message":"too many"},"retry_in_ms":1500}`,
		`text {"text":"whole"}`,
	})
	h.allow()
	_, _, l := h.improvise(improvised{says(model.Turn{Say: "x"})})
	if l.asked[0].Turn != 2 {
		t.Errorf("request %d", l.asked[0].Turn)
	}
}

// If nobody can be told, the model is stopped.
func TestSpeechIsNotHeard(t *testing.T) {
	h := newHouse(t)
	var stopped error
	end, err, _ := h.improvise(improvised{func(r *model.Request) (*model.Turn, error) {
		stopped = r.Said("x")
		return nil, stopped
	}}, func(o *Options) {
		o.Emit = func(e wire.Event) error {
			if e.Event == evText {
				return errBroken
			}
			return nil
		}
	})
	if stopped == nil || end.Run.State != Failed || !errors.Is(err, errBroken) {
		t.Errorf("%v, %+v, %v", stopped, end.Run, err)
	}
}

// Where a process was killed amid an answer, the next one begins the turn again, so that
// nobody takes one answer for the rest of another.
func TestSpeechThatIsCutOff(t *testing.T) {
	h := newHouse(t)
	for _, e := range []struct{ event, data string }{{evTurnStart, `{"turn":1,"prompt":"go"}`}, {evText, `{"text":"I thi","more":true}`}} {
		if _, err := h.store.AppendShared(sessionID, e.event, json.RawMessage(e.data), false); err != nil {
			t.Fatal(err)
		}
	}
	end, err, l := h.improvise(improvised{says(model.Turn{Say: "I think."})})
	h.ends(end, err, Completed, 0)
	same(t, "events", trail(h.events)[:3], []string{`turn_start {"turn":1}`, `text {"text":"I think."}`, `model_call {"turn":1,"say":"I think."}`})
	same(t, "messages", l.said(), []string{"user go"})
}
