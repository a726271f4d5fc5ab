// Package queue is the list of requests on the screen of kx approve: those that a
// filter lets through, and a cursor.
//
// Invariant: the cursor stays on its request whatever comes and goes beside it.
package queue

import (
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/pkg/wire"
)

// Entry is a request in a list.
type Entry struct {
	A     *wire.Approval
	Brief string
	words string // what a filter looks in
	Gone  bool   // it was answered elsewhere, and stays until the person moves on
}

// New returns the entry of a request; shown is that without secrets.
func New(a, shown *wire.Approval) *Entry {
	e := &Entry{A: a, Brief: sheet.Brief(shown)}
	e.words = strings.ToLower(strings.Join([]string{a.ID, a.State, a.Session, a.Caller, a.Tool, e.Brief, a.Cwd, a.Note}, "\n"))
	return e
}

// List is requests, those of them that a filter lets through, and a cursor that stays
// on its request whatever comes and goes.
type List struct {
	All    []*Entry
	Shown  []*Entry
	Filter string
	Sel    string // the request under the cursor
	above  int    // rows above the first that is drawn
}

func (l *List) Find(id string) *Entry {
	if i := index(l.All, id); i >= 0 {
		return l.All[i]
	}
	return nil
}

func index(list []*Entry, id string) int {
	return slices.IndexFunc(list, func(e *Entry) bool { return e.A.ID == id })
}

// Add puts a request at the end.
func (l *List) Add(e *Entry) {
	l.All = append(l.All, e)
	if l.passes(e) {
		l.Shown = append(l.Shown, e)
	}
}

// Remove takes a request out; the cursor goes to the one that follows it.
func (l *List) Remove(id string) {
	if i := index(l.Shown, id); i >= 0 {
		if l.Sel == id && len(l.Shown) > 1 {
			next := i + 1
			if next == len(l.Shown) {
				next = i - 1
			}
			l.Sel = l.Shown[next].A.ID
		}
		l.Shown = slices.Delete(l.Shown, i, i+1)
	}
	if i := index(l.All, id); i >= 0 {
		l.All = slices.Delete(l.All, i, i+1)
	}
}

// passes reports whether all words of the filter are somewhere in an entry.
func (l *List) passes(e *Entry) bool {
	for w := range strings.FieldsSeq(strings.ToLower(l.Filter)) {
		if !strings.Contains(e.words, w) {
			return false
		}
	}
	return true
}

// Look sets the filter.
func (l *List) Look(filter string) {
	l.Filter, l.Shown = filter, nil
	for _, e := range l.All {
		if l.passes(e) {
			l.Shown = append(l.Shown, e)
		}
	}
	l.Refresh()
}

// Refresh puts the cursor on the first request if it is on none.
func (l *List) Refresh() {
	if len(l.Shown) > 0 && index(l.Shown, l.Sel) < 0 {
		l.Sel = l.Shown[0].A.ID
	}
}

// At is the row of the cursor among those that are shown, -1 for none.
func (l *List) At() int { return index(l.Shown, l.Sel) }

func (l *List) Selected() *Entry {
	if i := l.At(); i >= 0 {
		return l.Shown[i]
	}
	return nil
}

// Move moves the cursor by n rows. What was left and is answered goes.
func (l *List) Move(n int) {
	if len(l.Shown) == 0 {
		return
	}
	left := l.Selected()
	l.Sel = l.Shown[min(max(l.At()+n, 0), len(l.Shown)-1)].A.ID
	if left != nil && left.Gone && (left.A.ID != l.Sel || len(l.Shown) == 1) {
		l.Remove(left.A.ID)
	}
}

// Top is the first row that is drawn where there is room for some.
func (l *List) Top(room int) int {
	at := max(l.At(), 0)
	l.above = min(l.above, at, max(0, len(l.Shown)-room))
	l.above = max(l.above, at-room+1)
	return l.above
}

// Waiting counts those that are not answered.
func (l *List) Waiting() (n int) {
	for _, e := range l.All {
		if !e.Gone {
			n++
		}
	}
	return n
}
