package lsp

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/wire"
)

// Reader is for whom the text of an answer is.
type Reader struct {
	More string         // how more is asked for, before the number
	Zone *time.Location // nil for UTC, which is then said
	Bare bool           // an error that stands elsewhere says why there is no answer
}

// ForModels is the text of an output.
var ForModels = Reader{More: "limit "}

const (
	// widest is how far the columns of places are lined up; longer ones stand out.
	widest = 60
	// maxPatch is how much of a patch is shown, in bytes: it is there to check it.
	maxPatch = 16 << 10
)

// nouns name what an answer has, one and several.
var nouns = map[string][2]string{
	"lsp_definition":      {"definition", "definitions"},
	"lsp_references":      {"reference", "references"},
	"lsp_implementation":  {"implementation", "implementations"},
	"lsp_type_definition": {"type definition", "type definitions"},
	"lsp_callers":         {"caller", "callers"},
	"lsp_symbols":         {"symbol", "symbols"},
	"lsp_hover":           {"character", "characters"},
	"lsp_diagnostics":     {"finding", "findings"},
	"lsp_rename":          {"edit", "edits"},
}

// Text is an answer in words, one line for each thing that was found and one at the
// end that says of when it is. Where nothing could be told it says so.
func Text(a *wire.CodeAnswer, r Reader) string {
	var b strings.Builder
	switch {
	case r.Bare:
	case a.State == wire.CodePending, a.State == wire.CodeUnavailable:
		b.WriteString(a.State + ": " + oneLine(reason(a, "nothing is known")) + "\n")
	case a.State == wire.CodeAmbiguous:
		fmt.Fprintf(&b, "ambiguous: %s may be meant\n", plural(len(a.Candidates), "place", "places"))
	}
	b.WriteString(rows(a.Candidates))
	if a.Hover != "" {
		b.WriteString(strings.TrimRight(place.Readable(a.Hover), "\n") + "\n\n")
	}
	b.WriteString(rows(a.Locations))
	symbols(&b, a.Symbols)
	findings(&b, a.Diagnostics)
	patchLines(&b, a.Patch)
	for _, s := range a.Skipped {
		fmt.Fprintf(&b, "[nothing is known of %s: %s, %s]\n", skipped(s), s.State, oneLine(s.Reason))
	}
	if a.Note != "" {
		fmt.Fprintf(&b, "[%s]\n", oneLine(a.Note))
	}
	if a.Withheld > 0 {
		fmt.Fprintf(&b, "[%d left out: policy does not allow to read there]\n", a.Withheld)
	}
	switch a.State {
	case wire.CodeOK, wire.CodeClean, wire.CodeFindings:
		if len(a.Candidates) == 0 { // which are what was not found
			b.WriteString(last(a, r) + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func skipped(s wire.CodeSkipped) string {
	if s.Path != "" {
		return place.Name(s.Path)
	}
	return s.Language
}

// last says how much there is, who says so, and of when it is.
func last(a *wire.CodeAnswer, r Reader) string {
	parts := []string{count(a)}
	if a.Server != nil {
		parts = append(parts, oneLine(a.Server.Name+" "+short(a.Server.Version)))
	}
	if a.AsOf != nil {
		at := "fresh as of "
		if r.Zone != nil {
			at += a.AsOf.In(r.Zone).Format(time.TimeOnly)
		} else {
			at += a.AsOf.UTC().Format(time.TimeOnly) + " UTC"
		}
		parts = append(parts, at)
	}
	line := strings.Join(parts, " · ")
	if a.Truncated {
		if most := most(a.Type); a.Total > most {
			line += fmt.Sprintf("; %s%d shows more", r.More, most)
		} else {
			line += fmt.Sprintf("; %s%d shows all", r.More, a.Total)
		}
	}
	return line
}

// most is the largest limit of a tool.
func most(name string) int {
	if name == Name("hover") {
		return mostHover
	}
	return mostItems
}

// count says how many there are, and how many of them are shown.
func count(a *wire.CodeAnswer) string {
	noun := nouns[a.Type]
	shown := len(a.Locations) + len(a.Symbols) + len(a.Diagnostics)
	switch {
	case a.State == wire.CodeClean:
		return wire.CodeClean
	case a.Type == "lsp_rename":
		verb := "would change"
		if a.Applied {
			verb = "changed"
		}
		return fmt.Sprintf("%s %s (+%d -%d lines)", plural(len(a.Paths), "file", "files"), verb, a.Added, a.Removed)
	case a.Type == "lsp_hover":
		shown = utf8.RuneCountInString(a.Hover)
		if shown > 0 && !a.Truncated {
			return "hover"
		}
	}
	switch {
	case a.Truncated:
		return fmt.Sprintf("%d of %s", shown, plural(a.Total, noun[0], noun[1]))
	case a.Type == "lsp_hover":
		return "nothing to say here"
	case a.Total == 0:
		return "no " + noun[1]
	case a.Type == "lsp_diagnostics":
		return severities(a.Diagnostics)
	}
	return plural(a.Total, noun[0], noun[1])
}

func plural(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// severities counts findings by how bad they are.
func severities(list []wire.Diagnostic) string {
	n := map[string]int{}
	for _, d := range list {
		n[d.Severity]++
	}
	var parts []string
	for _, s := range [][2]string{{"error", "errors"}, {"warning", "warnings"}, {"information", "remarks"}} {
		if n[s[0]] == 1 && s[0] == "information" {
			parts = append(parts, "1 remark")
		} else if n[s[0]] > 0 {
			parts = append(parts, plural(n[s[0]], s[0], s[1]))
		}
	}
	return strings.Join(parts, ", ")
}

// short is a version as people say it: 0.23 for v0.23.0.
func short(version string) string {
	v := strings.TrimPrefix(version, "v")
	if rest, ok := strings.CutSuffix(v, ".0"); ok && strings.Count(rest, ".") == 1 {
		return rest
	}
	return v
}

// rows are places, lined up, with what stands there.
func rows(list []wire.CodeLocation) string {
	labels := make([]string, len(list))
	for i, l := range list {
		labels[i] = fmt.Sprintf("%s:%d:%d", place.Name(l.Path), l.Line, l.Column)
	}
	var b strings.Builder
	width := width(labels)
	for i, l := range list {
		tail, name := oneLine(l.Text), oneLine(l.Name)
		if name != "" && !strings.Contains(tail, name) {
			tail = strings.TrimSpace(strings.TrimSpace(l.Kind+" "+name) + "  " + tail)
		}
		if l.Outside {
			tail = strings.TrimSpace(tail + "  (outside the workspace)")
		}
		row(&b, labels[i], width, tail)
	}
	return b.String()
}

func row(b *strings.Builder, label string, width int, tail string) {
	b.WriteString(label)
	if tail != "" {
		b.WriteString(strings.Repeat(" ", max(width-utf8.RuneCountInString(label), 0)+2) + tail)
	}
	b.WriteByte('\n')
}

// width is how wide a column of labels is.
func width(labels []string) int {
	most := 0
	for _, l := range labels {
		if n := utf8.RuneCountInString(l); n <= widest {
			most = max(most, n)
		}
	}
	return most
}

// symbols are lined up below each other: those of a file by how deep they stand in it,
// others by their place.
func symbols(b *strings.Builder, list []wire.CodeSymbol) {
	outline := true
	for _, s := range list {
		outline = outline && s.Path == list[0].Path
	}
	labels := make([]string, len(list))
	for i, s := range list {
		labels[i] = fmt.Sprintf("%d:%d", s.Line, s.Column)
		if !outline {
			labels[i] = place.Name(s.Path) + ":" + labels[i]
		}
	}
	if outline && len(list) > 0 {
		b.WriteString(place.Name(list[0].Path) + "\n")
	}
	width := width(labels)
	for i, s := range list {
		tail := strings.Repeat("  ", max(s.Depth, 0)) + s.Kind + " " + oneLine(s.Name)
		if s.Container != "" && !outline {
			tail += "  in " + oneLine(s.Container)
		}
		if s.Outside {
			tail += "  (outside the workspace)"
		}
		row(b, labels[i], width, tail)
	}
}

func findings(b *strings.Builder, list []wire.Diagnostic) {
	labels := make([]string, len(list))
	for i, d := range list {
		labels[i] = fmt.Sprintf("%s:%d:%d", place.Name(d.Path), d.Line, d.Column)
	}
	width := width(labels)
	for i, d := range list {
		// Servers lay out long messages over several lines.
		message := strings.ReplaceAll(strings.TrimSpace(place.Readable(d.Message)), "\n", "\n    ")
		if by := oneLine(d.Source + " " + d.Code); by != "" {
			message += " [" + by + "]"
		}
		row(b, labels[i], width, d.Severity+" "+message)
		for _, r := range d.Related {
			fmt.Fprintf(b, "    %s:%d:%d  %s\n", place.Name(r.Path), r.Line, r.Column, oneLine(r.Text))
		}
	}
}

// patchLines shows the beginning of a patch, by whole lines.
func patchLines(b *strings.Builder, text string) {
	shown := 0
	for line := range strings.Lines(text) {
		if shown += len(line); shown > maxPatch {
			b.WriteString("[the rest of the patch is left out]\n")
			return
		}
		b.WriteString(line)
	}
}

// oneLine is a text that may not begin another line.
func oneLine(s string) string {
	return strings.TrimSpace(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(place.Readable(s)))
}
