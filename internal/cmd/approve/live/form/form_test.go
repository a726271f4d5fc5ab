package form

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/wire"
)

func two() *wire.Approval {
	return &wire.Approval{Questions: []wire.Question{
		{ID: "q1", Question: "Which?", Options: []wire.Option{{ID: "a", Label: "A"}, {ID: "b", Label: "B"}}},
		{ID: "q2", Question: "Where?", MultiSelect: true, Options: []wire.Option{{ID: "c", Label: "C"}, {ID: "d", Label: "D"}}},
	}}
}

func TestForm(t *testing.T) {
	for keys, want := range map[string]string{
		"2 enter 1 2 enter enter":                 "sent [{q1 [b] } {q2 [c d] }]",
		"enter space enter enter":                 "sent [{q1 [a] } {q2 [c] }]",
		"down enter down space enter enter":       "sent [{q1 [b] } {q2 [d] }]",
		"1 2 enter 1 1 2 enter enter":             "sent [{q1 [b] } {q2 [d] }]",
		"9 down down down up enter 1 enter enter": "sent [{q1 [a] } {q2 [c] }]",
		"1 enter enter":                           "lacking",
		"1 enter esc 2 enter 1 enter enter":       "sent [{q1 [b] } {q2 [c] }]",
		"t words":                                 "writing",
		"x":                                       "nothing",
		"esc":                                     "left",
		"1 enter 1 enter x":                       "nothing",
		"1 enter 1 enter esc":                     "at 1",
	} {
		f := New(two())
		got := ""
		for k := range strings.FieldsSeq(keys) {
			switch f.Key(k) {
			case Taken:
				got = fmt.Sprintf("at %d", f.Step)
			case Nothing:
				got = "nothing"
			case Lacking:
				got = "lacking"
			case Writing:
				got = "writing"
				f.Write(" some words ")
			case Leaving:
				got = "left"
			case Sending:
				got = fmt.Sprintf("sent %v", f.Answers())
				if err := approval.CheckAnswers(two().Questions, f.Answers()); err != nil {
					t.Errorf("%s: %v", keys, err)
				}
			}
			if got == "writing" {
				break
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", keys, got, want)
		}
	}
}

// Words answer a question alone, and beside its options.
func TestWords(t *testing.T) {
	f := New(two())
	f.Write("  neither ")
	f.Key("enter")
	f.Key("2")
	f.Write("and more")
	f.Key("enter")
	if got := fmt.Sprint(f.Answers()); !f.Over() || got != "[{q1 [] neither} {q2 [d] and more}]" {
		t.Errorf("%s, over %v", got, f.Over())
	}
	shown := fmt.Sprint(f.Part())
	for _, want := range []string{"Which?", `"neither"`, "✓ D", `"and more"`} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in %s", want, shown)
		}
	}
}

// No key sends what was not seen, or chooses what is not there.
func FuzzForm(f *testing.F) {
	f.Add("2e12ee")
	f.Add("jjjk ete<<e")
	f.Fuzz(func(t *testing.T, keys string) {
		m := New(two())
		for _, r := range keys {
			name, ok := map[rune]string{'e': "enter", '<': "esc", ' ': "space", '^': "up"}[r]
			if !ok {
				name = string(r)
			}
			over := m.Over()
			switch m.Key(name) {
			case Sending:
				if err := approval.CheckAnswers(two().Questions, m.Answers()); err != nil || !over {
					t.Fatalf("%q sends %v, over %v: %v", keys, m.Answers(), over, err)
				}
			case Writing:
				m.Write("words")
			}
			m.Part()
			m.Keys()
		}
	})
}
