// Package sheet is what a person reads of a request before answering it: what it
// would do, to the last character, what was decided of each part, and which rules
// an answer for longer would add. kx approve show, its plain mode and its screen
// show the same sheet.
//
// Invariant: every text in a sheet is sanitised, has no known secret, and stays on its
// line; what is left out is said to be left out.
package sheet

import (
	"strings"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/wire"
)

// Sheet is a request as a person reads it, from the top.
type Sheet struct {
	Parts []Part
}

// Part is a piece of a sheet under a name of its own. Its lines are to be shown
// indented below the name: a text in them may look like one.
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

// The looks of lines. The words say it, too.
const (
	warning = out.Yellow
	added   = out.Green
	removed = out.Red
	remark  = out.Dim
)

// Reader makes sheets.
type Reader struct {
	// Uncut sheets leave nothing out, however long it gets: for paper and pagers.
	Uncut bool

	app *app.App
}

// New returns a reader of the user's requests. It opens nothing before the first
// sheet.
func New(a *app.App) *Reader { return &Reader{app: a} }

// Read makes the sheet of a request. It may take a while: it reads the files that
// the request is about, and the record. It may be used by several goroutines.
func (r *Reader) Read(a *wire.Approval) *Sheet {
	w := r.world(a)
	parts := []Part{{Lines: append(w.changed(), w.facts()...)}}
	if a.Kind == approval.KindQuestion {
		return r.hidden(&Sheet{append(parts, questions(w.Approval)...)})
	}
	parts = append(parts, w.does()...)
	parts = append(parts, verdicts(w.Approval))
	if a.State == wire.ApprovalPending {
		parts = append(parts, w.rules())
	}
	return r.hidden(&Sheet{parts})
}

// Outcome is what became of a request, with what it would do in one line. It reads
// no files.
func (r *Reader) Outcome(a *wire.Approval) *Sheet {
	w := &world{Approval: r.Hidden(a), asked: a, Reader: r}
	w.dirs, w.err = site.Of(r.app).Dirs()
	if a.Kind == approval.KindQuestion {
		return r.hidden(&Sheet{append([]Part{{Lines: w.facts()}}, questions(w.Approval)...)})
	}
	return r.hidden(&Sheet{[]Part{{Lines: w.facts(fact{"what", Brief(w.Approval), ""})}}})
}

// world is a request and where it stands now.
type world struct {
	*wire.Approval // as it may be shown
	asked          *wire.Approval
	*Reader
	dirs  paths.Dirs
	judge *judge.Judge // nil where err says why there is none
	err   error
}

// world opens what the request would be judged by.
func (r *Reader) world(a *wire.Approval) *world {
	w := &world{Approval: r.Hidden(a), asked: a, Reader: r}
	s := site.Of(r.app)
	if w.dirs, w.err = s.Dirs(); w.err != nil {
		return w
	}
	o, err := s.Judging()
	if err != nil {
		w.err = err
		return w
	}
	o.Workspace, o.Cwd, o.Mode, o.ID, o.Caller = a.Workspace, a.Cwd, a.Mode, a.Session, a.Caller
	if foreign(a) {
		o.Sandbox = nil // the /tmp that it sees is the machine's
	}
	w.judge, w.err = judge.Open(o)
	return w
}

// foreign reports whether a request is for a call that another agent makes itself.
func foreign(a *wire.Approval) bool {
	for _, name := range catalogue.Clients {
		if a.Caller == name {
			return true
		}
	}
	return false
}

// env is where a tool would run the call.
func (w *world) env() *tool.Env {
	return &tool.Env{
		Workspace: w.Workspace, Cwd: w.Cwd, Home: w.dirs.Home, Judged: w.judge.Judged(w.Tool, w.asked.Input),
		MayRead: func(string) bool { return true }, // the reader is the user
		Real:    w.judge.Temp.Real,
	}
}

// line is a line of a format whose arguments are sanitised.
func line(style out.Style, format string, args ...any) Line {
	return Line{Text: out.Sprintf(format, args...), Style: style}
}

// tab is how wide a tab is shown: a line must not depend on where it stands.
const tab = "    "

// text is one line of a text from elsewhere. Tabs become spaces, as on a terminal.
func text(s string) string {
	if !strings.Contains(s, "\t") {
		return term.Line(s)
	}
	return strings.Join(mapped(strings.Split(s, "\t"), term.Line), tab)
}

func mapped(list []string, f func(string) string) []string {
	for i, s := range list {
		list[i] = f(s)
	}
	return list
}

const (
	// maxLines is how much of one text a sheet holds: more than anybody reads on a
	// screen, and little enough to be laid out anew when a window changes its size.
	maxLines = 5000
	// maxWide is how much of one line it holds, for the same reason.
	maxWide = 20_000
)

// block lays out a text of several lines.
func (r *Reader) block(s string) []Line {
	rows := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	list := make([]Line, 0, min(len(rows), maxLines+1))
	for _, row := range rows {
		list = append(list, Line{Text: r.cut(row)})
	}
	return list
}

// cut is text that says what of a very long line is left out.
func (r *Reader) cut(s string) string {
	if r.Uncut || len(s) <= maxWide {
		return text(s)
	}
	start := head(s, maxWide)
	return text(start) + out.Sprintf("… (%d more bytes in this line)", len(s)-len(start))
}

// head is the start of a text, about n bytes of it.
func head(s string, n int) string {
	for n < len(s) && n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:min(n, len(s))]
}

// most cuts a list of lines that is too long, and says so.
func (r *Reader) most(list []Line, id string) []Line {
	if r.Uncut || len(list) <= maxLines {
		return list
	}
	return append(list[:maxLines:maxLines], line(warning, "… %d more lines: kx approve show %s -o table", len(list)-maxLines, id))
}
