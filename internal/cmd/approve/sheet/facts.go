package sheet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/wire"
)

// walls say what a sandbox keeps a command from, see kx-sandbox(7).
var walls = map[string]struct {
	words string
	style out.Style
}{
	sandbox.ReadOnly.Name:       {"writes in temp only, no network", ""},
	sandbox.WorkspaceWrite.Name: {"writes in the workspace and temp, no network", ""},
	sandbox.NetworkEnabled.Name: {"writes in the workspace and temp, network", ""},
	sandbox.Host.Name:           {"no sandbox: it has all your rights, by a rule of yours", warning},
	sandbox.Partial:             {"not all of a sandbox: this kernel only keeps it from writing outside and from reading what is masked", warning},
	sandbox.None:                {"no sandbox on this machine: nothing but the rules holds it", warning},
}

// fact is a line of the first part: what it is about, and that.
type fact struct {
	name, value string
	style       out.Style
}

// facts are where the request comes from, and what became of it.
func (w *world) facts(list ...fact) []Line {
	list = append(list, []fact{
		{"in", w.place(), ""}, {"session", w.Session, ""}, {"caller", w.Caller, ""}, w.walls(), {"mode", w.Mode, ""}, {"why", w.Reason, ""},
	}...)
	if w.Preview != "" {
		list = append(list, fact{"it says", fmt.Sprintf("%q (the caller's words)", w.Preview), ""})
	}
	if w.Mandatory {
		list = append(list, fact{"once", "it can only be allowed once, whatever the mode", warning})
	}
	if w.InputEdited {
		list = append(list, fact{"input", "changed by a person", warning})
	}
	list = append(list, w.until())
	list = append(list, w.answer()...)
	width := 0
	for _, f := range list {
		if f.value != "" {
			width = max(width, utf8.RuneCountInString(f.name))
		}
	}
	var lines []Line
	for _, f := range list {
		if f.value != "" {
			lines = append(lines, Line{Text: out.Sprintf("%-*s  %s", width, f.name, f.value), Style: f.style, Hang: width + 2})
		}
	}
	return lines
}

// place is the folder of the call, and the workspace if that is another one.
func (w *world) place() string {
	at := w.tilde(w.Cwd)
	if w.Workspace != w.Cwd && w.Workspace != "" {
		at += " (workspace " + w.tilde(w.Workspace) + ")"
	}
	return at
}

// tilde shortens the home of a path.
func (w *world) tilde(path string) string {
	if rest, ok := strings.CutPrefix(path, w.dirs.Home); ok && w.dirs.Home != "" && (rest == "" || rest[0] == '/') {
		return "~" + rest
	}
	return path
}

func (w *world) walls() fact {
	known, ok := walls[w.Sandbox]
	if !ok {
		return fact{"sandbox", w.Sandbox, ""}
	}
	return fact{"sandbox", w.Sandbox + ": " + known.words, known.style}
}

// near is how far off a moment may be that is told without its day.
const near = 12 * time.Hour

// at is a moment by the clock: a sheet is looked at for longer than "4 minutes" holds.
func (w *world) at(t time.Time) string {
	if t.Sub(w.app.Now()) < near {
		return t.Local().Format(time.TimeOnly)
	}
	return t.Local().Format(time.DateTime)
}

// until is how long the request, or its answer, is good for.
func (w *world) until() fact {
	switch {
	case w.State == wire.ApprovalPending && w.ExpiresAt != nil:
		return fact{"expires", "at " + w.at(*w.ExpiresAt), ""}
	case w.State == wire.ApprovalAllowed && w.SpendBy != nil:
		return fact{"use it", "by " + w.at(*w.SpendBy), ""}
	}
	return fact{}
}

// answer is what became of the request.
func (w *world) answer() []fact {
	var list []fact
	if w.DecidedAt != nil {
		was, since := w.State, ""
		if was == wire.ApprovalSpent {
			was, since = wire.ApprovalAllowed, ", and used"
		}
		when := fmt.Sprintf("%s at %s, after %s%s", was, w.DecidedAt.Local().Format(time.DateTime), Age(w.CreatedAt, *w.DecidedAt), since)
		list = append(list, fact{"answer", when, ""})
	}
	if by := w.DecidedBy; by != nil {
		words := []string{fmt.Sprintf("pid %d", by.PID)}
		for _, s := range []string{by.Exe, by.TTY} {
			if s != "" {
				words = append(words, s)
			}
		}
		if by.Via != "" {
			words = append(words, "via "+by.Via)
		}
		list = append(list, fact{"by", strings.Join(words, " "), ""})
	}
	list = append(list, fact{"note", w.Note, ""}, fact{"scope", w.Scope, ""})
	for _, r := range w.Rules {
		list = append(list, fact{"rule", ruleText(&r), ""})
	}
	return list
}

// changed says which files are not what they were when the request was made. An
// answer is for those contents: the call would ask again.
func (w *world) changed() []Line {
	if w.State != wire.ApprovalPending && w.State != wire.ApprovalAllowed {
		return nil
	}
	if w.judge == nil {
		if w.err == nil {
			return nil
		}
		return []Line{line(warning, "it can't be judged now: %v", w.err)}
	}
	var list []Line
	for _, path := range slices.Sorted(maps.Keys(w.asked.Digests)) {
		was, is := w.asked.Digests[path], w.judge.Digest(path)
		how := "has changed"
		switch {
		case w.InputEdited || was == is:
			continue
		case was == judge.Absent:
			how = "was made"
		case is == judge.Absent:
			how = "has gone"
		}
		list = append(list, Line{Style: warning, Hang: 2, Text: out.Sprintf("%s %s since this was asked: an answer would not count, the call will ask again", w.tilde(path), how)})
	}
	return list
}

// Age says how much time lies between two moments, in one unit.
func Age(a, b time.Time) string {
	d := max(a.Sub(b), b.Sub(a))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// ruleText writes a rule in one line as it would be written by hand.
func ruleText(r *wire.Rule) string {
	parts := []string{fmt.Sprintf("tool = %q", r.Tool)}
	if r.Effect != "" {
		parts = append(parts, fmt.Sprintf("effect = %q", r.Effect))
	}
	for _, k := range slices.Sorted(maps.Keys(r.When)) {
		parts = append(parts, fmt.Sprintf("%s = %q", k, r.When[k]))
	}
	parts = append(parts, fmt.Sprintf("decision = %q", string(r.Decision)))
	if r.Sandbox != "" {
		parts = append(parts, fmt.Sprintf("sandbox = %q", r.Sandbox))
	}
	return strings.Join(parts, ", ")
}

// written is ruleText of a rule that is not written yet.
func written(r *policy.Rule) string { return ruleText(r.Wire()) }
