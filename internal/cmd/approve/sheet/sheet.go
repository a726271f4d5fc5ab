// Package sheet is what a person reads of a request before answering it: what it
// would do, to the last character, what was decided of each part, and which rules
// an answer for longer would add. kx approve show, its plain mode and its screen
// show the same sheet.
//
// Invariant: every text in a sheet is sanitised and stays on its line; what is left
// out is said to be left out.
package sheet

import (
	"encoding/json"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/pkg/wire"
)

// Sheet is a request as a person reads it, from the top.
type Sheet struct {
	Parts []Part
}

// Part is a piece of a sheet under a name of its own.
type Part struct {
	Name  string // "command", "diff internal/clock.go"; "" for what comes first
	Lines []Line
}

// Line is one line. Where it has to be wrapped, what follows is indented by Hang
// cells.
type Line struct {
	Text  string
	Style out.Style // "" for plain
	Hang  int
}

// Reader makes sheets.
type Reader struct {
	app *app.App
}

// New returns a reader of the user's requests. It opens nothing before the first
// sheet.
func New(a *app.App) *Reader { return &Reader{app: a} }

// Read makes the sheet of a request. It may take a while: it reads the files that
// the request is about and, once, the record. It may be used by several goroutines.
func (r *Reader) Read(a *wire.Approval) *Sheet { return &Sheet{} }

// Edit returns the request with another input, judged anew: its parts have the
// verdicts that hold now. The error says why the tool would not take the input.
func (r *Reader) Edit(a *wire.Approval, input json.RawMessage) (*wire.Approval, error) {
	return a, nil
}

// Brief is what a request would do, in one line without its tool. It reads nothing.
func Brief(a *wire.Approval) string { return "" }
