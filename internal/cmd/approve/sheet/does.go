package sheet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/tools/file"
	"github.com/kxtools/kx/pkg/wire"
)

// does is what the call would do, whole.
func (w *world) does() []Part {
	switch {
	case w.Tool == "bash":
		return w.command()
	case file.Changes(w.Tool):
		return w.files()
	}
	return w.input("input", nil)
}

// command is the command line, and what else a call of bash says.
func (w *world) command() []Part {
	var in struct {
		Command *string `json:"command"`
	}
	if json.Unmarshal(w.Input, &in) != nil || in.Command == nil {
		return w.input("input", nil)
	}
	parts := []Part{{"command", w.most(w.block(spaced(*in.Command)), w.ID)}}
	return append(parts, w.input("with", []string{"command"})...)
}

// spaced makes those spaces of a command line visible that are none to the shell: what
// looks like several words is one.
func spaced(command string) string {
	var b strings.Builder
	for _, r := range command {
		if r != ' ' && unicode.Is(unicode.Zs, r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// input takes an input apart, but for some fields. Texts in it are as they are.
func (w *world) input(name string, without []string) []Part {
	var in map[string]json.RawMessage
	if json.Unmarshal(w.Input, &in) != nil || in == nil {
		return []Part{{name, w.most(w.block(string(w.Input)), w.ID)}}
	}
	var lines []Line
	for _, k := range slices.Sorted(maps.Keys(in)) {
		if !slices.Contains(without, k) {
			lines = append(lines, w.field(k, in[k])...)
		}
	}
	switch {
	case len(lines) > 0:
		return []Part{{name, w.most(lines, w.ID)}}
	case len(without) == 0:
		return []Part{{name, []Line{line(remark, "(empty)")}}}
	}
	return nil
}

// field is one field of an input: on its line, or below its name if it has several.
func (w *world) field(name string, raw json.RawMessage) []Line {
	var s string
	if json.Unmarshal(raw, &s) != nil || s == "" {
		var pretty bytes.Buffer
		if s = string(raw); json.Indent(&pretty, raw, "", "  ") == nil {
			s = pretty.String()
		}
	}
	if lines := w.block(s); len(lines) > 1 {
		for i := range lines {
			lines[i].Text = "  " + lines[i].Text
			lines[i].Hang = 2
		}
		return append([]Line{line("", "%s", name)}, lines...)
	}
	return []Line{{Text: out.Sprintf("%s  %s", name, out.Block(w.cut(strings.TrimSuffix(s, "\n")))), Hang: 2}}
}

// questions are what is asked, its options by number, and what was answered.
func questions(a *wire.Approval) []Part {
	var parts []Part
	for i, q := range a.Questions {
		name := "question"
		if len(a.Questions) > 1 {
			name = fmt.Sprintf("question %d", i+1)
		}
		if q.MultiSelect {
			name += " (several answers)"
		}
		lines := blockOf(q.Question)
		var given wire.QuestionAnswer
		for _, ans := range a.Answers {
			if ans.QuestionID == q.ID {
				given = ans
			}
		}
		for j, o := range q.Options {
			l := line("", "%d  %s", j+1, o.Label)
			if o.Description != "" {
				l.Text += out.Sprintf(": %s", o.Description)
			}
			if slices.Contains(given.SelectedOptionIDs, o.ID) {
				l.Text, l.Style = l.Text+"  ✓ chosen", out.Bold
			}
			l.Hang = 3
			lines = append(lines, l)
		}
		if given.FreeformAnswer != "" {
			lines = append(lines, line(out.Bold, "answer  %s", given.FreeformAnswer))
		}
		parts = append(parts, Part{name, lines})
	}
	return parts
}

// blockOf is a text of several lines that is short enough to be shown whole.
func blockOf(s string) []Line { return (&Reader{Uncut: true}).block(s) }
