package approval

import (
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

// maxFreeform is the longest answer in words: a model reads it.
const maxFreeform = 8 << 10

// Reply answers the questions of a request. Like any answer it is the first or
// none.
func (s *Store) Reply(id string, answers []wire.QuestionAnswer, note string, by wire.Decider) (*wire.Approval, error) {
	a, err := s.Get(id)
	switch {
	case err != nil:
		return nil, err
	case a.Kind != KindQuestion:
		return nil, fail.New("question_request_mismatch", fail.ExitUsage, "request %s is no question", a.ID).WithHint("kx approve allow %s", a.ID)
	case a.State == wire.ApprovalExpired:
		return nil, fail.Conflict("question_expired", "question %s has expired", a.ID).WithHint("kx approve list")
	case a.State == wire.ApprovalAnswered || a.State == wire.ApprovalDenied:
		return nil, fail.Conflict("question_resolution_conflict", "question %s is %s already", a.ID, a.State).WithHint("kx approve show %s", a.ID)
	case a.State != wire.ApprovalPending:
		return nil, fail.Conflict("question_state_conflict", "question %s is %s already", a.ID, a.State).WithHint("kx approve show %s", a.ID)
	}
	if err := CheckAnswers(a.Questions, answers); err != nil {
		return nil, err
	}
	if hash, err := ActionHash(a); err != nil || hash != a.ActionHash {
		return nil, fail.Conflict("hash_mismatch", "question %s was changed after it was asked", a.ID).WithHint("kx approve deny %s", a.ID)
	}
	now := s.now().UTC()
	a.State, a.Answers, a.Note, a.DecidedAt, a.DecidedBy = wire.ApprovalAnswered, answers, note, &now, &by
	if a.CallID == "" {
		by := now.Add(SpendWithin)
		a.SpendBy = &by
	}
	return a, s.seal(a)
}

// The kinds of requests.
const (
	KindCall     = "call"
	KindQuestion = "question"
)

// CheckAnswers compares answers with the questions. Every question is answered
// once, by options that it has or in words.
func CheckAnswers(questions []wire.Question, answers []wire.QuestionAnswer) error {
	bad := func(code, format string, args ...any) error {
		return fail.New("question"+code, fail.ExitUsage, format, args...)
	}
	seen := map[string]bool{}
	for _, ans := range answers {
		i := slices.IndexFunc(questions, func(q wire.Question) bool { return q.ID == ans.QuestionID })
		if i < 0 {
			return bad("_unknown_answer", "there is no question %q", ans.QuestionID)
		}
		q := questions[i]
		if seen[q.ID] {
			return bad("_duplicate_answer", "question %s is answered twice", q.ID)
		}
		seen[q.ID] = true
		picked := map[string]bool{}
		for _, id := range ans.SelectedOptionIDs {
			switch {
			case !slices.ContainsFunc(q.Options, func(o wire.Option) bool { return o.ID == id }):
				return bad("_option_not_found", "question %s has no option %q", q.ID, id)
			case picked[id]:
				return bad("_duplicate_option", "option %s is chosen twice", id)
			}
			picked[id] = true
		}
		switch {
		case len(picked) > 1 && !q.MultiSelect:
			return bad("_single_select_violation", "question %s takes one option", q.ID)
		case len(picked) == 0 && strings.TrimSpace(ans.FreeformAnswer) == "":
			return bad("_answer_empty", "question %s has an empty answer", q.ID)
		case len(ans.FreeformAnswer) > maxFreeform:
			return fail.Limit("answer_bytes", "an answer has %d bytes, more than %d", len(ans.FreeformAnswer), maxFreeform)
		}
	}
	for _, q := range questions {
		if !seen[q.ID] {
			return bad("_answer_missing", "question %s is not answered: %s", q.ID, q.Question)
		}
	}
	return nil
}
