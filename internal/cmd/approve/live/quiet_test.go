package live

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

// A key that decides counts only if all was calm for 300 ms before it.
func TestQuiet(t *testing.T) {
	for name, c := range map[string]struct {
		begin []*wire.Approval
		does  func(s *stage)
		want  []string
	}{
		"calm":               {two(), func(s *stage) { s.calm(); s.press("a") }, []string{"allow aaaa once"}},
		"at once":            {two(), func(s *stage) { s.press("a") }, nil},
		"a little too early": {two(), func(s *stage) { s.pass(calm - time.Millisecond); s.press("a") }, nil},
		"session, too early": {two(), func(s *stage) { s.press("s") }, nil},
		"deny, too early":    {two(), func(s *stage) { s.press("d") }, nil},

		// An ignored key begins the time anew.
		"held down": {two(), func(s *stage) {
			for range 50 {
				s.press("a")
				s.pass(30 * time.Millisecond)
			}
		}, nil},
		"after an ignored one":      {two(), func(s *stage) { s.press("a"); s.calm(); s.press("a") }, []string{"allow aaaa once"}},
		"after one without meaning": {two(), func(s *stage) { s.calm(); s.press("z", "a") }, nil},

		// What comes and goes.
		"comes into an empty list": {nil, func(s *stage) { s.calm(); s.come(bash("aaaa", "ls")); s.press("a") }, nil},
		"and was seen":             {nil, func(s *stage) { s.come(bash("aaaa", "ls")); s.calm(); s.press("a") }, []string{"allow aaaa once"}},
		"comes below, moving what is read": {two(), func(s *stage) {
			s.calm()
			s.come(bash("cccc", "ls"))
			s.press("a")
		}, nil},
		"comes out of sight": {many(30), func(s *stage) { s.calm(); s.come(bash("cccc", "ls")); s.press("a") }, []string{"allow r000 once"}},
		"goes elsewhere above": {two(), func(s *stage) {
			s.press("j")
			s.calm()
			s.becomes("aaaa", wire.ApprovalAllowed)
			s.press("a")
		}, nil},
		"goes elsewhere out of sight": {many(30), func(s *stage) {
			s.calm()
			s.becomes("r029", wire.ApprovalDenied)
			s.press("a")
		}, []string{"allow r000 once"}},
		"is answered elsewhere": {two(), func(s *stage) {
			s.calm()
			s.becomes("aaaa", wire.ApprovalDenied)
			s.press("a")
			s.calm()
			s.press("a", "d", "s")
			s.calm()
		}, nil},
		"is answered elsewhere, and the person moves on": {two(), func(s *stage) {
			s.calm()
			s.becomes("aaaa", wire.ApprovalDenied)
			s.press("j")
			s.calm()
			s.press("d")
		}, []string{"deny bbbb"}},

		// The next one comes under the cursor by itself.
		"twice at once":     {two(), func(s *stage) { s.calm(); s.press("a", "a") }, nil},
		"twice, too quick":  {two(), func(s *stage) { s.calm(); s.press("a"); s.pass(calm / 2); s.press("a") }, []string{"allow aaaa once"}},
		"twice":             {two(), func(s *stage) { s.calm(); s.press("a"); s.pass(repeat); s.press("a") }, []string{"allow aaaa once", "allow bbbb once"}},
		"one, then another": {two(), func(s *stage) { s.calm(); s.press("a"); s.calm(); s.press("d") }, []string{"allow aaaa once", "deny bbbb"}},
		"held down from the first on": {many(9), func(s *stage) {
			s.calm()
			s.press("a")
			s.pass(repeat - alone - time.Millisecond)
			for range 50 {
				s.press("a")
				s.pass(30 * time.Millisecond)
			}
		}, []string{"allow r000 once"}},
		"a paste that the terminal does not tell of": {two(), func(s *stage) { s.calm(); s.press("a", "d", "y", "s") }, nil},
		"a paste of one line into the rules":         {two(), func(s *stage) { s.calm(); s.press("A"); s.calm(); s.press("y", "enter") }, nil},
		"a paste behind a key":                       {two(), func(s *stage) { s.calm(); s.send(keyOf("a")); s.send(tea.PasteMsg{Content: "d"}); s.pass(time.Second) }, nil},
		"what was taken back goes the second time": {two(), func(s *stage) {
			s.calm()
			s.press("a", "x")
			s.pass(repeat)
			s.press("a")
		}, []string{"allow aaaa once"}},
		"while one is under way": {two(), func(s *stage) {
			s.calm()
			s.hold = true
			s.press("a")
			s.calm()
			s.press("d")
			s.release()
		}, []string{"allow aaaa once"}},
		"the last one":            {two()[:1], func(s *stage) { s.calm(); s.press("a"); s.calm(); s.press("a", "d") }, []string{"allow aaaa once"}},
		"nothing to decide about": {nil, func(s *stage) { s.calm(); s.press("a", "s", "A", "d", "n", "e") }, nil},

		// Who moves by hand has seen where they go, as soon as it is there.
		"moves by hand":                 {two(), func(s *stage) { s.calm(); s.press("j", "a") }, []string{"allow bbbb once"}},
		"moves by hand after an answer": {many(4), func(s *stage) { s.calm(); s.press("a"); s.calm(); s.press("j", "a") }, []string{"allow r000 once", "allow r002 once"}},
		"scrolls":                       {two(), func(s *stage) { s.calm(); s.press("space", "b", "a") }, []string{"allow aaaa once"}},
		"moves before it is calm":       {two(), func(s *stage) { s.press("j", "a") }, nil},
		"moves to what is not read": {two(), func(s *stage) {
			s.calm()
			s.m.sheets.Drop("bbbb")
			s.hold = true
			s.press("j")
			s.press("a")
			s.calm()
			s.press("a")
			s.release()
			s.press("a")
		}, nil},

		// The screen itself.
		"resize": {two(), func(s *stage) { s.calm(); s.send(tea.WindowSizeMsg{Width: 100, Height: 30}); s.press("a") }, nil},
		"too small to show anything": {two(), func(s *stage) {
			s.send(tea.WindowSizeMsg{Width: 39, Height: 24})
			s.calm()
			s.press("a")
			s.send(tea.WindowSizeMsg{Width: 80, Height: 9})
			s.calm()
			s.press("d")
		}, nil},
		"comes back":  {two(), func(s *stage) { s.calm(); s.send(tea.ResumeMsg{}); s.press("a") }, nil},
		"a paste":     {two(), func(s *stage) { s.calm(); s.send(tea.PasteMsg{Content: "a\n"}); s.press("a") }, nil},
		"ages":        {two(), func(s *stage) { s.pass(5 * time.Second); s.press("a") }, []string{"allow aaaa once"}},
		"help":        {two(), func(s *stage) { s.calm(); s.press("?", "a", "a") }, nil},
		"the history": {two(), func(s *stage) { s.calm(); s.press("h", "h", "a") }, nil},

		// Forms.
		"rules":             {two(), func(s *stage) { s.calm(); s.press("A"); s.calm(); s.press("y") }, []string{"allow aaaa always"}},
		"rules, too quick":  {two(), func(s *stage) { s.calm(); s.press("A", "y") }, nil},
		"rules, by a paste": {two(), func(s *stage) { s.calm(); s.press("A"); s.calm(); s.send(tea.PasteMsg{Content: "y"}) }, nil},
		"rules, no": {two(), func(s *stage) {
			s.calm()
			s.press("A")
			s.calm()
			s.press("n")
			s.calm()
			s.press("y")
		}, nil},
		"rules of what is answered meanwhile": {two(), func(s *stage) {
			s.calm()
			s.press("A")
			s.calm()
			s.becomes("aaaa", wire.ApprovalDenied)
			s.press("y")
			s.calm()
			s.press("y")
		}, nil},
		"note": {two(), func(s *stage) {
			s.calm()
			s.press("n")
			s.write("use the ")
			s.send(tea.PasteMsg{Content: "staging\nbucket"})
			s.calm()
			s.press("enter")
		}, []string{"deny aaaa use the staging bucket"}},
		"note, too quick": {two(), func(s *stage) { s.calm(); s.press("n"); s.write("no"); s.press("enter") }, nil},
		"note, empty":     {two(), func(s *stage) { s.calm(); s.press("n"); s.calm(); s.press("enter") }, nil},
		"note, left": {two(), func(s *stage) {
			s.calm()
			s.press("n")
			s.write("no")
			s.press("esc")
			s.calm()
			s.press("enter")
		}, nil},
		"note, by a paste": {two(), func(s *stage) { s.calm(); s.press("n"); s.calm(); s.send(tea.PasteMsg{Content: "no\n"}) }, nil},
		"a request comes while a note is written": {two(), func(s *stage) {
			s.calm()
			s.press("n")
			s.write("no")
			s.calm()
			s.come(bash("cccc", "ls"))
			s.press("enter")
		}, nil},
		"a note to what is answered meanwhile": {two(), func(s *stage) {
			s.calm()
			s.press("n")
			s.write("a sad adsad")
			s.becomes("aaaa", wire.ApprovalAllowed)
			s.calm()
			s.press("enter")
		}, nil},
		"a note that is still typed when somebody else has answered": {two(), func(s *stage) {
			s.calm()
			s.press("n")
			s.write("no, re")
			s.becomes("aaaa", wire.ApprovalAllowed)
			for _, r := range "ject as a whole: say what" {
				s.write(string(r))
				s.calm()
			}
			s.press("enter")
		}, nil},
		"an answer that is still chosen when somebody else has answered": {[]*wire.Approval{question("qqqq", 1), bash("bbbb", "make")}, func(s *stage) {
			s.calm()
			s.press("a")
			s.becomes("qqqq", wire.ApprovalAnswered)
			for _, k := range []string{"j", "2", "enter", "enter", "q", "a"} {
				s.press(k)
				s.calm()
			}
			if s.quit {
				s.Error("q has left the screen")
			}
		}, nil},
		"question": {[]*wire.Approval{question("qqqq", 1)}, func(s *stage) {
			s.calm()
			s.press("a", "2", "enter")
			s.calm()
			s.press("enter")
		}, []string{"answer qqqq [{q1 [o2] }]"}},
		"question, too quick": {[]*wire.Approval{question("qqqq", 1)}, func(s *stage) { s.calm(); s.press("a", "2", "enter", "enter") }, nil},
		"no scope for a question": {[]*wire.Approval{question("qqqq", 1)}, func(s *stage) {
			s.calm()
			s.press("s")
			s.calm()
			s.press("A")
			s.calm()
			s.press("d")
			s.calm()
			s.press("n")
		}, nil},
		"mandatory": {[]*wire.Approval{mandatory()}, func(s *stage) { s.calm(); s.press("s", "A"); s.calm(); s.press("y") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, 80, 24, c.begin...)
			c.does(s)
			s.answered(c.want...)
		})
	}
}

func two() []*wire.Approval {
	return []*wire.Approval{bash("aaaa", "go test ./..."), bash("bbbb", "make")}
}

func mandatory() *wire.Approval {
	a := bash("aaaa", "rm -rf /")
	a.Mandatory, a.Reason = true, "it removes what is outside"
	return a
}

// What could not be answered stays, and what was answered by somebody else meanwhile is
// told.
func TestAnswerFails(t *testing.T) {
	s := newStage(t, 80, 24, two()...)
	s.calm()
	s.refuse = fail.Unavailable("no_host", "the approval host can't be reached").WithHint("kx doctor")
	s.press("a")
	s.answered("allow aaaa once")
	s.shows("✗ the approval host can't be reached", "kx doctor", "2 waiting")

	s.refuse = fail.Conflict("already_decided", "request aaaa is denied already").WithHint("kx approve show aaaa")
	denied := *s.requests["aaaa"]
	denied.State = wire.ApprovalDenied
	s.requests["aaaa"] = &denied
	s.pass(repeat)
	s.press("a")
	s.shows("✗ request aaaa is denied already", "kx approve show aaaa", "aaaa denied elsewhere", "1 waiting")
	s.refuse = nil
	s.pass(repeat)
	s.answers = nil
	s.press("a")
	s.answered()
	s.press("j")
	s.calm()
	s.press("a")
	s.answered("allow bbbb once")
	s.shows("Nothing waits")
}

// The bell rings for new requests, and not without end.
func TestBell(t *testing.T) {
	s := newStage(t, 80, 24, two()...)
	first := s.bells
	for i := range 20 {
		s.come(many(20)[i])
		s.pass(100 * time.Millisecond)
	}
	if first != 0 || s.bells < 2 || s.bells > 3 {
		t.Errorf("%d bells at first, then %d in two seconds", first, s.bells)
	}
	s.m.o.Bell = false
	s.pass(time.Minute)
	s.come(bash("zzzz", "ls"))
	if s.bells > 3 {
		t.Error("it rings where nobody wants it")
	}
}

// The request to begin with is under the cursor when it comes, unless the person has
// moved meanwhile; one that is answered is shown among those.
func TestBegins(t *testing.T) {
	for name, c := range map[string]struct {
		id, state string
		keys      []string
		want      string
		history   bool
	}{
		"with one that waits":     {"bbbb", wire.ApprovalPending, nil, "bbbb", false},
		"and moves at once":       {"bbbb", wire.ApprovalPending, []string{"j"}, "aaaa", false},
		"with one that is over":   {"bbbb", wire.ApprovalDenied, nil, "bbbb", true},
		"with one that has gone":  {"cccc", wire.ApprovalPending, nil, "aaaa", false},
		"with none in particular": {"", wire.ApprovalPending, nil, "aaaa", false},
	} {
		s := newStage(t, 80, 24)
		list := two()
		list[1].State = c.state
		s.requests["bbbb"] = list[1]
		s.m.o.ID = c.id
		s.m = New(s.m.o)
		s.do(s.m.Init())
		s.send(tea.WindowSizeMsg{Width: 80, Height: 24})
		s.come(list[0])
		s.press(c.keys...)
		if list[1].State == wire.ApprovalPending {
			s.come(list[1])
		}
		if e := s.m.selected(); e == nil || e.A.ID != c.want || s.m.history != c.history {
			t.Errorf("it begins %s at %+v, history %v:\n%s", name, e, s.m.history, s.screen())
		}
	}
}

// Who leaves right after an answer leaves once it is given.
func TestQuitWaitsForAnAnswer(t *testing.T) {
	s := newStage(t, 80, 24, two()...)
	s.calm()
	s.hold = true
	s.press("a")
	s.press("q")
	s.release()
	if s.quit {
		t.Error("it has left before aaaa was answered")
	}
	s.answered("allow aaaa once")
	s.press("q")
	if !s.quit {
		t.Error("q does not leave")
	}
}
