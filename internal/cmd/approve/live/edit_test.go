package live

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/kxtools/kx/pkg/wire"
)

// An edit is sent for the request that it was made of, and for no other one.
func TestEditStaysWithItsRequest(t *testing.T) {
	for name, away := range map[string][]string{
		"by a filter": {"/", "m", "a", "k", "e", "enter"},
		"by moving":   {"j"},
		"to the end":  {"end"},
	} {
		s := newStage(t, 80, 24, two()...)
		s.revise("go vet ./...\n", wire.Ask)
		s.calm()
		s.press(away...)
		s.calm()
		s.press("a")
		s.answered("allow bbbb once")
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// Who has edited a command and presses a means the edit, also while it is being judged
// and where it is not taken.
func TestNothingIsAllowedInPlaceOfAnEdit(t *testing.T) {
	s := newStage(t, 80, 24, two()...)
	s.calm()
	s.hold = true
	s.revise("go vet ./...\n", wire.Ask)
	s.calm()
	s.press("a")
	s.shows("wait: the edit of aaaa is being judged")
	s.calm()
	s.edits = func(*wire.Approval, json.RawMessage) (*wire.Approval, wire.Verdict, error) {
		return nil, "", errors.New("too long")
	}
	s.release()
	s.press("a")
	s.answered()
	s.calm()
	s.press("a")
	s.answered("allow aaaa once")
}

// Nobody edits for nothing.
func TestWhatCannotBeEditedIsNotOpened(t *testing.T) {
	a := bash("aaaa", "ls")
	a.Caller = "claude"
	s := newStage(t, 100, 24, a)
	s.calm()
	s.press("e")
	s.shows("claude makes this call itself")
	if len(s.files) > 0 {
		t.Errorf("there are drafts %v", s.files)
	}
}
