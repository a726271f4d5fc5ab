package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

var start = time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)

// stage is a screen with a clock, requests and a host of its own.
type stage struct {
	*testing.T
	m      *Model
	now    time.Time
	timers []timer
	held   []tea.Cmd // what is not done yet, where hold is set
	hold   bool
	quit   bool
	bells  int

	requests map[string]*wire.Approval
	edits    func(a *wire.Approval, input json.RawMessage) (*wire.Approval, wire.Verdict, error)
	refuse   error
	answers  []string
	files    map[string]string
}

type timer struct {
	at  time.Time
	msg tea.Msg
}

func newStage(t *testing.T, w, h int, list ...*wire.Approval) *stage {
	t.Helper()
	s := &stage{T: t, now: start, requests: map[string]*wire.Approval{}, files: map[string]string{}}
	s.m = New(Options{
		Reader: s, Store: s, Desk: s, Drafts: drafts{s}, Now: func() time.Time { return s.now }, Bell: true,
		Editor: func(string) *exec.Cmd { return exec.Command("/bin/true") },
		Only: func(a *wire.Approval) error {
			if a.Mandatory {
				return fail.Usage("request %s can only be allowed once: %s", a.ID, a.Reason)
			}
			return nil
		},
		After: func(d time.Duration, msg tea.Msg) tea.Cmd {
			s.timers = append(s.timers, timer{s.now.Add(d), msg})
			return nil
		},
	})
	s.do(s.m.Init())
	s.send(tea.WindowSizeMsg{Width: w, Height: h})
	s.come(list...)
	return s
}

// do runs commands to their end.
func (s *stage) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	if s.hold {
		s.held = append(s.held, cmd)
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			s.do(c)
		}
	case tea.QuitMsg:
		s.quit = true
	case tea.RawMsg:
		s.bells++
	default:
		s.send(msg)
	}
}

// release does what was held.
func (s *stage) release() {
	s.hold = false
	held := s.held
	s.held = nil
	for _, cmd := range held {
		s.do(cmd)
	}
}

func (s *stage) send(msg tea.Msg) {
	_, cmd := s.m.Update(msg)
	s.do(cmd)
}

// pass lets time pass.
func (s *stage) pass(d time.Duration) {
	until := s.now.Add(d)
	for {
		i := -1
		for j, t := range s.timers {
			if !t.at.After(until) && (i < 0 || t.at.Before(s.timers[i].at)) {
				i = j
			}
		}
		if i < 0 {
			break
		}
		t := s.timers[i]
		s.timers = slices.Delete(s.timers, i, i+1)
		s.now = t.at
		s.send(t.msg)
	}
	s.now = until
}

// calm lets as much time pass as a key needs to count.
func (s *stage) calm() { s.pass(calm) }

// press presses keys, one after the other.
func (s *stage) press(keys ...string) {
	for _, k := range keys {
		s.send(keyOf(k))
	}
	if s.m.unsent != nil {
		s.pass(alone)
	}
}

// write types a text.
func (s *stage) write(text string) {
	for _, r := range text {
		s.send(tea.KeyPressMsg{Text: string(r), Code: r})
	}
}

var special = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "down": {Code: tea.KeyDown}, "up": {Code: tea.KeyUp},
	"space": {Code: tea.KeySpace, Text: " "}, "pgdown": {Code: tea.KeyPgDown}, "pgup": {Code: tea.KeyPgUp}, "end": {Code: tea.KeyEnd},
	"home": {Code: tea.KeyHome}, "left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "backspace": {Code: tea.KeyBackspace},
	"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+w": {Code: 'w', Mod: tea.ModCtrl}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl},
}

func keyOf(name string) tea.KeyPressMsg {
	if k, ok := special[name]; ok {
		return k
	}
	return tea.KeyPressMsg{Text: name, Code: []rune(name)[0]}
}

// come lets the feed tell of requests that wait.
func (s *stage) come(list ...*wire.Approval) {
	for _, a := range list {
		s.requests[a.ID] = a
	}
	s.send(Changes(list))
}

// becomes lets the feed tell what became of a request elsewhere.
func (s *stage) becomes(id, state string) {
	a := *s.requests[id]
	a.State = state
	if state == wire.ApprovalAllowed {
		a.Scope = "once"
	}
	s.come(&a)
}

// screen is what is shown.
func (s *stage) screen() string { return s.m.View().Content }

func (s *stage) shows(texts ...string) {
	s.Helper()
	for _, text := range texts {
		if !strings.Contains(s.screen(), text) {
			s.Errorf("%q is not on the screen:\n%s", text, s.screen())
		}
	}
}

// answered expects the answers that were given, and forgets them.
func (s *stage) answered(want ...string) {
	s.Helper()
	if !slices.Equal(s.answers, want) {
		s.Errorf("the answers are %q, want %q\n%s", s.answers, want, s.screen())
	}
	s.answers = nil
}

// golden compares the screen with a file.
func (s *stage) golden(name string) {
	s.Helper()
	lines := strings.Split(s.screen(), "\n")
	if s.m.w >= minWidth && s.m.h >= minHeight && len(lines) != s.m.h {
		s.Errorf("%s: the screen has %d lines, want %d", name, len(lines), s.m.h)
	}
	for i := range lines {
		lines[i] = strings.TrimRight(strings.ReplaceAll(lines[i], "\x1b", "␛"), " ")
	}
	got := strings.Join(lines, "\n") + "\n"
	file := filepath.Join("testdata", name+".golden")
	if os.Getenv("KX_UPDATE") != "" {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(file, []byte(got), 0o644)); err != nil {
			s.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		s.Fatal(err)
	}
	if got != string(want) {
		s.Errorf("%s is\n%s\nwant\n%s", name, got, want)
	}
}

// The reader, the store, the desk and the drafts of a stage.

func (s *stage) Read(a *wire.Approval) *sheet.Sheet {
	a = s.Hidden(a)
	var in map[string]string
	_ = json.Unmarshal(a.Input, &in)
	facts := sheet.Part{Lines: []sheet.Line{
		{Text: "in       " + a.Cwd, Hang: 9}, {Text: "session  " + a.Session, Hang: 9}, {Text: "caller   " + a.Caller, Hang: 9},
		{Text: "why      " + a.Reason, Hang: 9},
	}}
	if a.State != wire.ApprovalPending {
		facts.Lines = append(facts.Lines, sheet.Line{Text: "answer   " + a.State, Hang: 9})
	}
	does := sheet.Part{Name: "command"}
	if text, ok := in["diff"]; ok {
		does.Name = "diff " + in["path"]
		for line := range strings.Lines(text) {
			style := map[byte]out.Style{'+': out.Green, '-': out.Red, '@': out.Dim}[line[0]]
			does.Lines = append(does.Lines, sheet.Line{Text: strings.TrimSuffix(line, "\n"), Style: style, Hang: 1})
		}
	} else {
		for line := range strings.Lines(in["command"]) {
			does.Lines = append(does.Lines, sheet.Line{Text: strings.TrimSuffix(line, "\n")})
		}
	}
	parts := []sheet.Part{facts, does}
	decided := sheet.Part{Name: "decided"}
	for _, l := range a.Leaves {
		decided.Lines = append(decided.Lines, sheet.Line{Text: strings.Join(l.Argv, " ") + "  " + string(l.Points[0].Decision) + "  built-in", Style: out.Yellow, Hang: 4})
	}
	rules := sheet.Part{Name: sheet.Rules}
	if a.Mandatory {
		rules.Lines = []sheet.Line{{Text: "nothing: it can only be allowed once"}}
	} else {
		rules.Lines = []sheet.Line{{Text: `tool = "bash", command = "` + in["command"] + `", decision = "allow"  (matches 31 past calls)`, Hang: 2}}
	}
	return &sheet.Sheet{Parts: append(parts, decided, rules)}
}

func (s *stage) Edit(a *wire.Approval, input json.RawMessage) (*wire.Approval, wire.Verdict, error) {
	return s.edits(a, input)
}

// hush is a secret that the stage knows.
const hush = "sk-hush-0123456789"

func (s *stage) Clean(text string) string { return strings.ReplaceAll(text, hush, "[secret]") }

func (s *stage) Hidden(a *wire.Approval) *wire.Approval {
	raw, err := json.Marshal(a)
	if err != nil {
		s.Fatal(err)
	}
	clean := s.Clean(string(raw))
	if clean == string(raw) {
		return a
	}
	var shown wire.Approval
	if err := json.Unmarshal([]byte(clean), &shown); err != nil {
		s.Fatal(err)
	}
	return &shown
}

func (s *stage) Get(id string) (*wire.Approval, error) {
	if a := s.requests[id]; a != nil {
		return a, nil
	}
	return nil, fail.NotFound("no_such_request", "there is no request %q", id)
}

func (s *stage) List(string) (list []wire.Approval, damaged []error) {
	for _, a := range s.requests {
		list = append(list, *a)
	}
	slices.SortFunc(list, func(a, b wire.Approval) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

func (s *stage) answer(id, state, scope string, rules int, text string) (*wire.Approval, error) {
	s.answers = append(s.answers, text)
	if s.refuse != nil {
		return nil, s.refuse
	}
	a := *s.requests[id]
	a.State, a.Scope = state, scope
	for range rules {
		a.Rules = append(a.Rules, wire.Rule{Tool: a.Tool})
	}
	s.requests[id] = &a
	return &a, nil
}

func (s *stage) Allow(_ context.Context, id string, ans approve.Answer) (*wire.Approval, error) {
	rules := 0
	if ans.Scope != "once" {
		rules = 2
	}
	text := "allow " + id + " " + ans.Scope
	if ans.Input != nil {
		text += " " + string(ans.Input)
	}
	if len(ans.IdempotencyKey) < 16 {
		s.Errorf("an answer goes without a key: %+v", ans)
	}
	return s.answer(id, wire.ApprovalAllowed, ans.Scope, rules, text)
}

func (s *stage) Deny(_ context.Context, id string, ans approve.Answer) (*wire.Approval, error) {
	return s.answer(id, wire.ApprovalDenied, "", 0, strings.TrimSpace("deny "+id+" "+ans.Note))
}

func (s *stage) Reply(_ context.Context, id string, answers []wire.QuestionAnswer, _ string) (*wire.Approval, error) {
	return s.answer(id, wire.ApprovalAnswered, "", 0, fmt.Sprintf("answer %s %v", id, answers))
}

func (s *stage) Open(id, ext string, text []byte) (string, error) {
	path := "/drafts/" + id + ext
	if _, ok := s.files[path]; !ok {
		s.files[path] = string(text)
	}
	return path, nil
}

func (s *stage) Drop(path string) { delete(s.files, path) }

// drafts has the other Read of a stage.
type drafts struct{ *stage }

func (d drafts) Read(path string) ([]byte, error) { return []byte(d.files[path]), nil }
