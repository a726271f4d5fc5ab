package provider

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/kxtools/kx/internal/model"
)

const (
	// maxArgument bounds the arguments of one call: a tool takes no more, see the
	// models that are programs.
	maxArgument = 16 << 20
	// maxWrote is how much of arguments that are no JSON is kept: enough to see
	// what is wrong, for people and models.
	maxWrote = 4 << 10
	// maxID bounds ids, which stand in every record of a call.
	maxID = 128
	// maxCalls bounds the calls of one answer; more than a few dozen are a loop.
	maxCalls = 1000
)

// Fragment is a piece of a call, as it came.
type Fragment struct {
	ID    string // "" where it has none
	Index int    // -1 where it has none
	Name  string // "" where it has none
	Args  string
	Pos   int // among the Of pieces that came together
	Of    int
}

// Calls puts calls together from pieces. Servers differ in what ties pieces together:
// some leave out the index, some say 0 for every call, some give the id only once, or a
// new one with every piece. So a piece belongs to the call with its id, else with its
// index, else at its position; and one that names a tool begins a call unless it is seen
// to go on with one.
type Calls struct{ list []*call }

type call struct {
	id, name string
	index    int
	args     strings.Builder
	brackets brackets
}

// Entire takes in a call that came in one piece.
func (c *Calls) Entire(e *Events, id, name, args string) error {
	return c.put(e, len(c.list), Fragment{ID: id, Index: -1, Name: name, Args: args})
}

// Add takes in a piece and returns the number of the call that it belongs to.
func (c *Calls) Add(e *Events, f Fragment) (int, error) {
	n := c.find(f)
	if n < 0 {
		n = len(c.list)
	}
	return n, c.put(e, n, f)
}

func (c *Calls) put(e *Events, n int, f Fragment) error {
	if n == maxCalls {
		return e.Broken("it has more than %d calls", maxCalls)
	}
	if n == len(c.list) {
		c.list = append(c.list, &call{index: f.Index})
	}
	k := c.list[n]
	if k.id == "" {
		k.id = f.ID
	}
	if k.name == "" {
		k.name = f.Name
	}
	if err := e.Argument(k.args.Len() + len(f.Args)); err != nil {
		return err
	}
	k.args.WriteString(f.Args)
	k.brackets.add(f.Args)
	return e.Keep(len(f.Args))
}

// find returns the number of the call that goes on with f, or -1.
func (c *Calls) find(f Fragment) int {
	last := len(c.list) - 1
	byID, byIndex := -1, -1
	for i, k := range c.list {
		if f.ID != "" && k.id == f.ID {
			byID = i
		}
		if f.Index >= 0 && k.index == f.Index {
			byIndex = i
		}
	}
	at := byIndex
	switch {
	case f.Index >= 0:
	case f.Of > 1:
		at = min(len(c.list)-f.Of+f.Pos, last)
	default:
		at = last
	}
	switch {
	case byID >= 0 && (f.Name == "" || c.list[byID].goesOn(f)):
		return byID
	case byID >= 0:
		return -1 // another call with the same id
	case f.Name == "":
		return at
	case at < 0 || f.Index < 0 && f.Pos > 0:
		return -1
	case c.list[at].name == "":
		return at
	case f.ID != "" && c.list[at].id != "" || !c.list[at].goesOn(f):
		return -1
	case f.Index >= 0 || c.list[at].args.Len() > 0:
		return at
	}
	return -1
}

// goesOn reports whether a piece that names a tool may go on with the call.
func (k *call) goesOn(f Fragment) bool {
	return k.name == f.Name && !(k.brackets.closed && !empty(f.Args))
}

// cutShort is what a model can make something of: that it wrote no JSON it would take
// for a slip, and write the same again.
const cutShort = "the answer was cut before they were complete, because it reached the longest that is allowed: take smaller steps"

// List returns the calls. cut is set if the answer was cut at its longest: then
// arguments that are not there were not written, which is not the same as none.
func (c *Calls) List(e *Events, cut bool) ([]model.Call, error) {
	var list []model.Call
	used := map[string]bool{}
	for i, k := range c.list {
		if k.name == "" {
			return nil, e.Broken("a call names no tool")
		}
		one := model.Call{Tool: k.name}
		if goodID(k.id) && !used[k.id] {
			one.ID, used[k.id] = k.id, true
		}
		one.Input, one.Broken = Input([]byte(k.args.String()))
		if cut && i == len(c.list)-1 && (one.Broken != "" || empty(k.args.String())) {
			one.Broken = cutShort
		}
		if one.Broken != "" {
			one.Wrote = clip(k.args.String(), maxWrote)
		}
		list = append(list, one)
	}
	return list, nil
}

// Input returns arguments as a call has them. None, and null, are an empty object. What
// is no object is left out, and broken says why.
func Input(args []byte) (input json.RawMessage, broken string) {
	none := json.RawMessage("{}")
	args = bytes.TrimSpace(args)
	var v any
	switch {
	case len(args) == 0 || string(args) == "null":
		return none, ""
	case args[0] == '{' && json.Valid(args):
		return bytes.Clone(args), ""
	}
	if err := json.Unmarshal(args, &v); err != nil {
		return none, "they are no JSON: " + strings.TrimPrefix(err.Error(), "json: ")
	}
	return none, "they are no JSON object"
}

// goodID reports whether an id can stand in a record.
func goodID(id string) bool {
	return id != "" && len(id) <= maxID && strings.IndexFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

func empty(s string) bool { return strings.TrimSpace(s) == "" }

// brackets sees, piece by piece, whether an object has come to its end.
type brackets struct {
	depth           int
	closed          bool
	quoted, escaped bool
}

func (b *brackets) add(s string) {
	for i := range len(s) {
		switch c := s[i]; {
		case b.escaped:
			b.escaped = false
		case b.quoted && c == '\\':
			b.escaped = true
		case c == '"':
			b.quoted = !b.quoted
		case b.quoted:
		case c == '{' || c == '[':
			b.depth++
		case c == '}' || c == ']':
			b.depth--
			b.closed = b.closed || b.depth == 0
		}
	}
}
