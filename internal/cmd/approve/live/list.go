package live

import (
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/pkg/wire"
)

// entry is a request in a list.
type entry struct {
	a     *wire.Approval
	brief string
	words string // what a filter looks in
	gone  bool   // it was answered elsewhere, and stays until the person moves on
}

func newEntry(a *wire.Approval) *entry {
	e := &entry{a: a, brief: sheet.Brief(a)}
	e.words = strings.ToLower(strings.Join([]string{a.ID, a.State, a.Session, a.Caller, a.Tool, e.brief, a.Cwd, a.Note}, "\n"))
	return e
}

// list is requests, those of them that a filter lets through, and a cursor that stays
// on its request whatever comes and goes.
type list struct {
	all    []*entry
	shown  []*entry
	filter string
	sel    string // the request under the cursor
	above  int    // rows above the first that is drawn
}

func (l *list) find(id string) *entry {
	if i := index(l.all, id); i >= 0 {
		return l.all[i]
	}
	return nil
}

func index(list []*entry, id string) int {
	return slices.IndexFunc(list, func(e *entry) bool { return e.a.ID == id })
}

// add puts a request at the end.
func (l *list) add(e *entry) {
	l.all = append(l.all, e)
	if l.passes(e) {
		l.shown = append(l.shown, e)
	}
}

// remove takes a request out; the cursor goes to the one that follows it.
func (l *list) remove(id string) {
	if i := index(l.shown, id); i >= 0 {
		if l.sel == id && len(l.shown) > 1 {
			next := i + 1
			if next == len(l.shown) {
				next = i - 1
			}
			l.sel = l.shown[next].a.ID
		}
		l.shown = slices.Delete(l.shown, i, i+1)
	}
	if i := index(l.all, id); i >= 0 {
		l.all = slices.Delete(l.all, i, i+1)
	}
}

// passes reports whether all words of the filter are somewhere in an entry.
func (l *list) passes(e *entry) bool {
	for w := range strings.FieldsSeq(strings.ToLower(l.filter)) {
		if !strings.Contains(e.words, w) {
			return false
		}
	}
	return true
}

// look sets the filter.
func (l *list) look(filter string) {
	l.filter, l.shown = filter, nil
	for _, e := range l.all {
		if l.passes(e) {
			l.shown = append(l.shown, e)
		}
	}
	l.refresh()
}

// refresh puts the cursor on the first request if it is on none.
func (l *list) refresh() {
	if len(l.shown) > 0 && index(l.shown, l.sel) < 0 {
		l.sel = l.shown[0].a.ID
	}
}

// at is the row of the cursor among those that are shown, -1 for none.
func (l *list) at() int { return index(l.shown, l.sel) }

func (l *list) selected() *entry {
	if i := l.at(); i >= 0 {
		return l.shown[i]
	}
	return nil
}

// move moves the cursor by n rows. What was left and is answered goes.
func (l *list) move(n int) {
	if len(l.shown) == 0 {
		return
	}
	left := l.selected()
	l.sel = l.shown[min(max(l.at()+n, 0), len(l.shown)-1)].a.ID
	if left != nil && left.gone && (left.a.ID != l.sel || len(l.shown) == 1) {
		l.remove(left.a.ID)
	}
}

// top is the first row that is drawn where there is room for some.
func (l *list) top(room int) int {
	at := max(l.at(), 0)
	l.above = min(l.above, at, max(0, len(l.shown)-room))
	l.above = max(l.above, at-room+1)
	return l.above
}

// waiting counts those that are not answered.
func (l *list) waiting() (n int) {
	for _, e := range l.all {
		if !e.gone {
			n++
		}
	}
	return n
}
