// Package live is the screen of kx approve: what waits, the request under the cursor
// in full, and keys that answer it.
//
// Invariants: a key that decides counts only for the request that has been under the
// cursor, unchanged, for the last 300 ms (quiet.go); nothing that a request says
// reaches the terminal but through row.render, which sanitises it, and no known secret
// does; nothing is left out without a mark. The model is pure: it is told of everything by messages, and
// what it does beyond its memory is a command. It runs in kxd (run.go).
package live

import (
	"context"
	"encoding/json"
	"os/exec"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/approve/live/cell"
	"github.com/kxtools/kx/internal/cmd/approve/live/form"
	"github.com/kxtools/kx/internal/cmd/approve/live/queue"
	"github.com/kxtools/kx/internal/cmd/approve/live/shelf"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// Reader makes sheets of requests.
type Reader interface {
	Read(a *wire.Approval) *sheet.Sheet
	Edit(a *wire.Approval, input json.RawMessage) (*wire.Approval, wire.Verdict, error)
	Hidden(a *wire.Approval) *wire.Approval // without secrets
	Clean(s string) string                  // the same of a text
}

// Store has the requests as they are on the disk.
type Store interface {
	Get(id string) (*wire.Approval, error)
	List(state string) ([]wire.Approval, []error)
}

// Desk answers requests.
type Desk interface {
	Allow(ctx context.Context, id string, a approve.Answer) (*wire.Approval, error)
	Deny(ctx context.Context, id string, a approve.Answer) (*wire.Approval, error)
	Reply(ctx context.Context, id string, answers []wire.QuestionAnswer, note string) (*wire.Approval, error)
}

// Drafts keep an input while a person edits it.
type Drafts interface {
	Open(id, ext string, text []byte) (path string, err error)
	Read(path string) ([]byte, error)
	Drop(path string)
}

// Options of a screen.
type Options struct {
	Reader Reader
	Store  Store
	Desk   Desk
	Drafts Drafts
	Editor func(path string) *exec.Cmd
	Only   func(a *wire.Approval) error // why it can only be allowed once, nil if it need not
	Now    func() time.Time
	After  func(d time.Duration, msg tea.Msg) tea.Cmd

	ID      string // the request to begin with
	Session string // only those of this session
	Color   bool
	Bell    bool
}

// mode is what the keys are for.
type mode int

const (
	browsing   mode = iota // the list
	filtering              // typing what to look for
	noting                 // typing what the model is told
	confirming             // rules are about to be added
	asking                 // choosing among the options of a question
	wording                // typing an answer in words
	helping                // reading what the keys do
)

// Model is a screen. Its methods are called one at a time.
type Model struct {
	o    Options
	w, h int

	wait, past queue.List
	history    bool // past is shown
	mode       mode
	field      cell.Field   // where something is typed
	form       *form.Form   // the question that is being answered
	draft      *revision    // the edited request that stands in place of the selected one
	sheets     shelf.Shelf  // what was read
	scroll     int          // lines of the detail above its first
	remark     string       // what is left out of the history
	known      bool         // what waits was read
	want       string       // the request to begin with, until it came or a key was pressed
	status     []cell.Piece // what happened last
	told       []string     // the last answers
	busy       string       // the request whose answer is under way
	unsent     tea.Cmd      // that answer, as long as another key may follow
	sending    int          // counts them
	judging    string       // the request whose edit is being judged
	quiet      quiet
	rang       time.Time
	err        error
}

// New returns a screen before its first message.
func New(o Options) *Model {
	m := &Model{o: o, sheets: shelf.Shelf{}, want: o.ID}
	if a, err := o.Store.Get(o.ID); o.ID != "" && err == nil && a.State != wire.ApprovalPending {
		m.history, m.past.Sel = true, a.ID
	}
	return m
}

// Err is why the screen ended, nil if a person left it.
func (m *Model) Err() error { return m.err }

// The messages beside those of the terminal.
type (
	// Changes are requests that came or were answered. The first ones are all that
	// wait.
	Changes []*wire.Approval
	// Lost says that there is no host, and why.
	Lost struct{ Err error }
	// second passes; ages are shown anew.
	second struct{}
)

// Init implements tea.Model. What was typed while the screen came up does not count.
func (m *Model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.stir(), m.o.After(time.Second, second{})}
	if m.history {
		cmds = append(cmds, m.listPast())
	}
	return tea.Batch(cmds...)
}

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	before := m.face()
	own, cmd := m.handle(msg)
	if e := m.selected(); e == nil || e.A.ID != before.id { // nothing of one request stays with another
		m.scroll, m.draft = 0, nil
	}
	cmd = tea.Batch(cmd, m.read())
	if !own && m.face() != before {
		cmd = tea.Batch(cmd, m.stir())
	}
	return m, cmd
}

// handle takes a message. own says that what changes under the cursor is what the
// person asked for.
func (m *Model) handle(msg tea.Msg) (own bool, cmd tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		return m.paste(msg.Content)
	case tea.ResumeMsg:
		return false, m.stir()
	case settled:
		m.quiet.settle(msg)
	case second:
		return false, m.o.After(time.Second, second{})
	case Changes:
		return false, m.changed(msg)
	case Lost:
		m.fail(msg.Err)
	case lone:
		return false, m.dispatch(msg)
	case answered:
		return false, m.answered(msg)
	case readMsg:
		m.sheets.Put(msg.a, msg.sheet)
	case edited:
		return false, tea.Batch(m.stir(), m.edited(msg))
	case judged:
		return false, m.judged(msg)
	case pastMsg:
		m.listed(msg)
	}
	return false, nil
}

// list is the one that is shown.
func (m *Model) list() *queue.List {
	if m.history {
		return &m.past
	}
	return &m.wait
}

// selected is the entry under the cursor, nil if there is none.
func (m *Model) selected() *queue.Entry { return m.list().Selected() }

// maxTold is how many of the last answers are shown where nothing waits.
const maxTold = 5

// changed takes what the feed tells.
func (m *Model) changed(list Changes) tea.Cmd {
	came := false
	for _, a := range list {
		e := m.wait.Find(a.ID)
		switch {
		case a.State == wire.ApprovalPending && e == nil:
			m.wait.Add(queue.New(a, m.o.Reader.Hidden(a)))
			if a.ID == m.want {
				m.wait.Sel, m.want = a.ID, ""
			}
			came = true
		case a.State == wire.ApprovalPending, e == nil, m.busy == a.ID: // known, or about to be
		case m.wait.Sel == a.ID && !m.history:
			e.A, e.Gone = a, true
			m.sheets.Drop(a.ID)
			m.taken()
			m.say(out.Yellow, went(a))
			m.tell(a)
		default:
			m.tell(a)
			m.wait.Remove(a.ID)
		}
	}
	m.wait.Refresh()
	told := m.known
	m.known = true
	if !came || !told { // who has just come looks
		return nil
	}
	return m.ring()
}

// taken says that somebody else has answered the request under the cursor. Where
// something is typed or chosen it goes on, to no end: the keys of a person who looks
// elsewhere must not come to mean something else.
func (m *Model) taken() {
	m.draft = nil
	if m.mode == confirming {
		m.mode = browsing
	}
}

// ring rings the bell, at most once a second.
func (m *Model) ring() tea.Cmd {
	now := m.o.Now()
	if !m.o.Bell || now.Sub(m.rang) < time.Second {
		return nil
	}
	m.rang = now
	return tea.Raw("\a")
}

// tell keeps an answer among the last ones.
func (m *Model) tell(a *wire.Approval) {
	m.told = append(m.told, became(a)+"  "+a.Tool+"  "+sheet.Brief(m.o.Reader.Hidden(a)))
	m.told = m.told[max(0, len(m.told)-maxTold):]
}

// went says what became of a request that was not answered here.
func went(a *wire.Approval) string {
	switch a.State {
	case wire.ApprovalExpired:
		return a.ID + " has expired: nobody waits for it any more"
	case wire.ApprovalCancelled:
		return a.ID + " was cancelled: its run was stopped"
	}
	return became(a) + " elsewhere"
}

// became says what became of a request.
func became(a *wire.Approval) string {
	s := a.ID + " " + a.State
	switch {
	case a.State == wire.ApprovalAllowed && a.InputEdited:
		s += " with the edited input"
	case a.State == wire.ApprovalAllowed && a.Scope == "session":
		s += " for the session"
	case a.State == wire.ApprovalAllowed:
		s += " " + a.Scope
	}
	return s
}
