package approval

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

func TestCheckAnswers(t *testing.T) {
	questions := []wire.Question{
		{ID: "q1", Question: "one?", Options: []wire.Option{{ID: "o1"}, {ID: "o2"}}},
		{ID: "q2", Question: "many?", Options: []wire.Option{{ID: "o1"}, {ID: "o2"}}, MultiSelect: true},
	}
	pick := func(q string, ids ...string) wire.QuestionAnswer {
		return wire.QuestionAnswer{QuestionID: q, SelectedOptionIDs: ids}
	}
	words := func(q, s string) wire.QuestionAnswer { return wire.QuestionAnswer{QuestionID: q, FreeformAnswer: s} }
	for _, tt := range []struct {
		answers []wire.QuestionAnswer
		code    string
	}{
		{[]wire.QuestionAnswer{pick("q1", "o2"), pick("q2", "o1", "o2")}, ""},
		{[]wire.QuestionAnswer{words("q1", "neither"), pick("q2", "o1")}, ""},
		{[]wire.QuestionAnswer{pick("q1", "o2")}, "question_answer_missing"},
		{nil, "question_answer_missing"},
		{[]wire.QuestionAnswer{pick("q1", "o3"), pick("q2", "o1")}, "question_option_not_found"},
		{[]wire.QuestionAnswer{pick("q1", "o1", "o2"), pick("q2", "o1")}, "question_single_select_violation"},
		{[]wire.QuestionAnswer{pick("q1", "o1"), pick("q2", "o1", "o1")}, "question_duplicate_option"},
		{[]wire.QuestionAnswer{pick("q1", "o1"), pick("q1", "o1"), pick("q2", "o1")}, "question_duplicate_answer"},
		{[]wire.QuestionAnswer{pick("q1", "o1"), pick("q2", "o1"), pick("q3", "o1")}, "question_unknown_answer"},
		{[]wire.QuestionAnswer{words("q1", " \n"), pick("q2", "o1")}, "question_answer_empty"},
		{[]wire.QuestionAnswer{words("q1", strings.Repeat("x", maxFreeform+1)), pick("q2", "o1")}, "answer_bytes"},
	} {
		err := CheckAnswers(questions, tt.answers)
		code := ""
		if err != nil {
			code = fail.As(err).Code
		}
		if code != tt.code {
			t.Errorf("%+v: %q, want %q", tt.answers, code, tt.code)
		}
	}
}

// A question is answered once, in its own words, and a clock that is over says so.
func TestReply(t *testing.T) {
	d := newDesk(t)
	park := func(text string) *wire.Approval {
		a := wire.Approval{
			Kind: KindQuestion, Tool: "ask_user_question", Input: []byte(`{"t":"` + text + `"}`), Session: "s", Workspace: "/w", Cwd: "/w",
			Questions: []wire.Question{{ID: "q1", Question: text, Options: []wire.Option{{ID: "o1"}, {ID: "o2"}}}},
		}
		a.ActionHash, _ = ActionHash(&a)
		until := d.at.Add(Patience)
		got, err := d.Park(a, &until)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	yes := []wire.QuestionAnswer{{QuestionID: "q1", SelectedOptionIDs: []string{"o2"}}}
	code := func(err error) string {
		if err == nil {
			return ""
		}
		return fail.As(err).Code
	}
	a, old, plain := park("a"), park("b"), d.ask("c", "")
	if _, err := d.Decide(a.ID, Answer{Allow: true}, wire.Decider{}); fail.Exit(err) != fail.ExitUsage {
		t.Errorf("allowing a question: %v", err)
	}
	if got, err := d.Reply(a.ID, yes, "n", wire.Decider{Kind: "human"}); err != nil || got.State != wire.ApprovalAnswered || got.Note != "n" {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, _, err := d.Find(a.ActionHash); err != nil || got == nil || got.Answers[0].SelectedOptionIDs[0] != "o2" {
		t.Errorf("found %+v, %v", got, err)
	}
	if _, err := d.Reply(a.ID, yes, "", wire.Decider{}); code(err) != "question_resolution_conflict" {
		t.Errorf("again: %v", err)
	}
	if _, err := d.Reply(plain.ID, yes, "", wire.Decider{}); code(err) != "question_request_mismatch" {
		t.Errorf("no question: %v", err)
	}
	d.at = d.at.Add(Patience + 1)
	if _, err := d.Reply(old.ID, yes, "", wire.Decider{}); code(err) != "question_expired" {
		t.Errorf("late: %v", err)
	}
}

// A waiter keeps a request alive; nobody shortens it, and no answer is undone.
func TestExtend(t *testing.T) {
	d := newDesk(t)
	a := d.ask("x", "")
	later := d.at.Add(2 * Patience)
	for _, until := range []time.Time{later, d.at} {
		if err := d.Extend(a.ID, until); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Get(a.ID); err != nil || !got.ExpiresAt.Equal(later) {
			t.Errorf("until %v: %+v, %v", until, got, err)
		}
	}
	d.decide(a.ID, wire.ApprovalDenied)
	if err := d.Extend(a.ID, later.Add(time.Hour)); err != nil {
		t.Error(err)
	}
	if got, err := d.Get(a.ID); err != nil || got.State != wire.ApprovalDenied {
		t.Errorf("answered: %+v, %v", got, err)
	}
}

// Requests that can't be listed are not none.
func TestUnlistable(t *testing.T) {
	d := newDesk(t)
	a := d.ask("ls", "")
	dir := filepath.Join(d.st.Dir(), "approvals", "pending")
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if ids, err := d.Cancel("s", wire.Decider{Kind: "human"}); fail.As(err).Code != "unreadable" {
		t.Errorf("cancelled %v, %v", ids, err)
	}
	if _, err := d.Get(a.ID[:2]); err == nil || fail.Exit(err) == fail.ExitNotFound {
		t.Errorf("got %v", err)
	}
	if list, bad := d.List(""); len(list) != 0 || len(bad) != 1 {
		t.Errorf("%v, %v", list, bad)
	}
}
