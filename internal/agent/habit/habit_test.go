package habit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/pkg/wire"
)

// Which call of a sequence is the first that is not run. A call is a letter for its
// input and a digit for its result.
func TestHabit(t *testing.T) {
	for calls, want := range map[string]int{
		"a1 a1 a1":                               3,
		"a1 a1 b1 a1 a1 a1":                      6,
		"a1 a2 a3 a4 a5":                         0, // it waits for something
		"a1 a1 b1 b1 a1 a1":                      0,
		"a1 a2 a2 a2":                            4,
		"a1 b2 a1 b2 a1 b2":                      6,
		"a1 b2 a1 b3 a1 b2 a1":                   0,
		"b0 a1 b2 a1 b2 a1 b2":                   7,
		"a1 b2 c3 a1 b2 c3 a1 b2 c3":             0,
		"a1 b1 c1 d1 e1 f1 g1 h1 i1":             9, // eight times the same result
		"a1 b1 c1 d1 e1 f1 g1 h2 i1":             0,
		"a1 b1 c1 d1 e1 f1 g1 h1":                0,
		"a- b- c- d- e- f- g- h- i- j-":          0, // nothing is said of them
		"a- a- a-":                               3,
		"a1 b1 c1 d1 e1 f1 g1 h1 x2 a1 b1 c1 d1": 9,
	} {
		h := &Habit{}
		got := 0
		for i, c := range strings.Fields(calls) {
			call := &model.Call{Tool: "t", Input: json.RawMessage(fmt.Sprintf(`{"in":%q,"z":1}`, c[:1]))}
			if i%2 == 1 { // laid out differently
				call.Input = json.RawMessage(fmt.Sprintf(`{ "z": 1, "in": %q }`, c[:1]))
			}
			if h.Copy().Loop(call) != "" {
				got = i + 1
				break
			}
			h.Turn([]Ended{{Call: call, Status: wire.StatusOK, Text: strings.Trim(c[1:], "-")}})
		}
		if got != want {
			t.Errorf("%s: call %d is a loop, want %d", calls, got, want)
		}
	}
}

// The steps that are kept are few.
func TestHabitForgets(t *testing.T) {
	h := &Habit{}
	for i := range 10_000 {
		h.push(step{key: uint64(i)})
	}
	if len(h.steps) > 4*sameResult {
		t.Errorf("%d steps", len(h.steps))
	}
}
