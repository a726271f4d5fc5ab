package sheet

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/policy/view"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/patch"
	"github.com/kxtools/kx/pkg/wire"
)

// subject is the field of an input that tells most, in order.
var subject = []string{"path", "url", "query", "pattern", "message", "name"}

// Brief is what a request would do, in one line without its tool. It reads nothing. It
// cuts, so the request is one of Hidden.
func Brief(a *wire.Approval) string {
	if a.Kind == approval.KindQuestion && len(a.Questions) > 0 {
		s := oneLine(a.Questions[0].Question)
		if n := len(a.Questions) - 1; n > 0 {
			s += fmt.Sprintf(" (and %d more)", n)
		}
		return s
	}
	var in map[string]json.RawMessage
	if json.Unmarshal(a.Input, &in) != nil {
		return oneLine(string(a.Input))
	}
	get := func(field string) string {
		var s string
		_ = json.Unmarshal(in[field], &s) // what is no text has none
		return s
	}
	path := func() string { return term.Line(relative(a.Workspace, get("path"))) }
	switch a.Tool {
	case "bash":
		if in["command"] != nil {
			return oneLine(spaced(get("command")))
		}
	case "write_file":
		return path() + " " + view.Count(count(get("content")), "line", "lines")
	case "edit_file":
		return path() + " " + changes(count(get("new_string")), count(get("old_string")))
	case "apply_patch":
		return patched(a, get("patch"))
	}
	for _, field := range subject {
		if s := get(field); s != "" && !catalogue.IsMCP(a.Tool) {
			if field == "path" {
				s = relative(a.Workspace, s)
			}
			return oneLine(s)
		}
	}
	return first(in)
}

// first are the first fields of an input of which nothing is known.
func first(in map[string]json.RawMessage) string {
	const most = 3 // tell one call from another
	var words []string
	for k, v := range in {
		words = append(words, k+"="+string(v))
	}
	slices.Sort(words)
	more := len(words) > most
	s := oneLine(strings.Join(words[:min(len(words), most)], " "))
	if more {
		s += " …"
	}
	return s
}

// patched names the files of a patch, and counts its lines.
func patched(a *wire.Approval, text string) string {
	files, err := patch.Parse(text)
	if err != nil || len(files) == 0 {
		return oneLine(text)
	}
	var names []string
	in, gone := 0, 0
	for _, f := range files {
		names = append(names, relative(a.Workspace, f.Path))
		for _, h := range f.Hunks {
			for _, l := range h.Lines {
				switch l.Kind {
				case '+':
					in++
				case '-':
					gone++
				}
			}
		}
	}
	return oneLine(strings.Join(names, ", ")) + " " + changes(in, gone)
}

// relative is a path as it is seen from the workspace.
func relative(workspace, path string) string {
	if rel, err := filepath.Rel(workspace, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// newline stands for the end of a line in one line.
const newline = "⏎"

// oneLine is a text of several lines in one.
func oneLine(s string) string {
	s = strings.TrimRight(s, "\n")
	if len(s) > maxBrief {
		s = head(s, maxBrief) + "…"
	}
	rows := strings.Split(s, "\n")
	return strings.Join(mapped(rows, func(row string) string { return text(strings.TrimSpace(row)) }), " "+newline+" ")
}

// maxBrief is more than a line of any list has room for.
const maxBrief = 2000
