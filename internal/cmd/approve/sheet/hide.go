package sheet

import (
	"encoding/json"
	"strings"

	"github.com/kxtools/kx/pkg/wire"
)

// Clean is a text without known secrets. It is whole: of what was cut, or wrapped, a
// part of one may stay.
func (r *Reader) Clean(s string) string { return string(r.app.IO.Clean([]byte(s))) }

// Hidden is a request as it may be shown, without known secrets. Answers are given to
// the request itself.
func (r *Reader) Hidden(a *wire.Approval) *wire.Approval {
	raw, err := wire.Marshal(a)
	if err != nil {
		return a // whoever encodes it says so
	}
	clean := r.Clean(string(raw))
	if clean == string(raw) {
		return a
	}
	var shown wire.Approval
	if json.Unmarshal([]byte(clean), &shown) != nil { // a secret like JSON itself
		shown = wire.Approval{ID: a.ID, Kind: a.Kind, Tool: a.Tool, Session: a.Session, Caller: a.Caller, State: a.State, CreatedAt: a.CreatedAt, Reason: "it is all but a secret"}
	}
	return &shown
}

// hidden takes out of the lines of a sheet what came from elsewhere than the request.
func (r *Reader) hidden(s *Sheet) *Sheet {
	var all strings.Builder
	for _, p := range s.Parts {
		all.WriteString(p.Name + "\n")
		for _, l := range p.Lines {
			all.WriteString(l.Text + "\n")
		}
	}
	if r.Clean(all.String()) == all.String() {
		return s
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		p.Name = r.Clean(p.Name)
		for j := range p.Lines {
			p.Lines[j].Text = r.Clean(p.Lines[j].Text)
		}
	}
	return s
}
