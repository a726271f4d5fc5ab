package lsp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/pkg/wire"
)

func TestText(t *testing.T) {
	at := time.Date(2026, 3, 1, 14, 2, 11, 0, time.UTC)
	gopls := &wire.CodeServer{Name: "gopls", Version: "v0.23.0"}
	long := strings.Repeat("d/", 40) + "x.go"
	for _, tt := range []struct {
		what   string
		answer wire.CodeAnswer
		reader Reader
		want   string
	}{
		{"references", wire.CodeAnswer{Type: "lsp_references", State: wire.CodeOK, Server: gopls, AsOf: &at, Total: 2, Locations: []wire.CodeLocation{
			{Path: "internal/clock/clock.go", Line: 41, Column: 6, Text: "func Truncate(t Time) Time {"},
			{Path: "internal/clock/clock_test.go", Line: 17, Column: 9, Text: "got := Truncate(in)"},
		}}, Reader{Zone: time.UTC}, `internal/clock/clock.go:41:6       func Truncate(t Time) Time {
internal/clock/clock_test.go:17:9  got := Truncate(in)
2 references · gopls 0.23 · fresh as of 14:02:11`},
		{"for a model", wire.CodeAnswer{Type: "lsp_definition", State: wire.CodeOK, Server: gopls, AsOf: &at, Total: 1, Locations: []wire.CodeLocation{
			{Path: "/usr/lib/go/src/fmt/print.go", Line: 1, Column: 2, Outside: true},
		}}, ForModels, "/usr/lib/go/src/fmt/print.go:1:2  (outside the workspace)\n1 definition · gopls 0.23 · fresh as of 14:02:11 UTC"},
		{"nothing", wire.CodeAnswer{Type: "lsp_references", State: wire.CodeOK, Server: gopls}, ForModels, "no references · gopls 0.23"},
		{"cut", wire.CodeAnswer{Type: "lsp_references", State: wire.CodeOK, Total: 137, Truncated: true, Locations: []wire.CodeLocation{{Path: "a", Line: 1, Column: 1}}},
			Reader{More: "--limit "}, "a:1:1\n1 of 137 references; --limit 137 shows all"},
		{"cut, and too many", wire.CodeAnswer{Type: "lsp_references", State: wire.CodeOK, Total: 1370, Truncated: true, Locations: []wire.CodeLocation{{Path: "a", Line: 1, Column: 1}}},
			ForModels, "a:1:1\n1 of 1370 references; limit 1000 shows more"},
		{"callers", wire.CodeAnswer{Type: "lsp_callers", State: wire.CodeOK, Total: 2, Locations: []wire.CodeLocation{
			{Path: "a.go", Line: 1, Column: 1, Text: "x()", Name: "main", Kind: "function"}, {Path: "b.go", Line: 1, Column: 1, Name: "Run", Kind: "method", Outside: true},
		}}, ForModels, "a.go:1:1  function main  x()\nb.go:1:1  method Run  (outside the workspace)\n2 callers"},
		{"hover", wire.CodeAnswer{Type: "lsp_hover", State: wire.CodeOK, Hover: "```go\nfunc F()\n```\n", Total: 20, Server: gopls}, ForModels, "```go\nfunc F()\n```\n\nhover · gopls 0.23"},
		{"a long hover", wire.CodeAnswer{Type: "lsp_hover", State: wire.CodeOK, Hover: "äöü", Total: 5321, Truncated: true}, ForModels, "äöü\n\n3 of 5321 characters; limit 5321 shows all"},
		{"no hover", wire.CodeAnswer{Type: "lsp_hover", State: wire.CodeOK}, ForModels, "nothing to say here"},
		{"clean", wire.CodeAnswer{Type: "lsp_diagnostics", State: wire.CodeClean, Server: &wire.CodeServer{Name: "tsc", Version: "7.0.2"}, AsOf: &at}, Reader{Zone: time.FixedZone("x", 3600)},
			"clean · tsc 7.0.2 · fresh as of 15:02:11"},
		{"findings", wire.CodeAnswer{Type: "lsp_diagnostics", State: wire.CodeFindings, Total: 3, Diagnostics: []wire.Diagnostic{
			{Path: "web/app.ts", Line: 12, Column: 3, Severity: "error", Message: "Type 'A' is not\n  assignable", Source: "ts", Code: "2322", Related: []wire.CodeLocation{{Path: "b.ts", Line: 1, Column: 2, Text: "declared here"}}},
			{Path: "web/a.ts", Line: 1, Column: 1, Severity: "warning", Message: "unused", Source: "ts"},
			{Path: "web/a.ts", Line: 2, Column: 1, Severity: "information", Message: "old"},
		}}, ForModels, `web/app.ts:12:3  error Type 'A' is not
      assignable [ts 2322]
    b.ts:1:2  declared here
web/a.ts:1:1     warning unused [ts]
web/a.ts:2:1     information old
1 error, 1 warning, 1 remark`},
		{"an outline", wire.CodeAnswer{Type: "lsp_symbols", State: wire.CodeOK, Total: 2, Symbols: []wire.CodeSymbol{
			{Path: "a.py", Line: 1, Column: 7, Kind: "class", Name: "Clock"}, {Path: "a.py", Line: 12, Column: 9, Kind: "method", Name: "now", Container: "Clock", Depth: 1},
		}}, ForModels, "a.py\n1:7   class Clock\n12:9    method now\n2 symbols"},
		{"symbols that were looked for", wire.CodeAnswer{Type: "lsp_symbols", State: wire.CodeOK, Total: 2, Symbols: []wire.CodeSymbol{
			{Path: "a.py", Line: 1, Column: 7, Kind: "class", Name: "Clock"}, {Path: "/b.py", Line: 12, Column: 9, Kind: "method", Name: "now", Container: "Clock", Outside: true},
		}}, ForModels, "a.py:1:7    class Clock\n/b.py:12:9  method now  in Clock  (outside the workspace)\n2 symbols"},
		{"skipped", wire.CodeAnswer{Type: "lsp_diagnostics", State: wire.CodePending, Reason: "python is loading", Skipped: []wire.CodeSkipped{
			{Language: "python", State: "pending", Reason: "loading\n(3 s)"}, {Path: "a.rs", Language: "rust", State: "unavailable", Reason: "no server"},
		}}, ForModels, "pending: python is loading\n[nothing is known of python: pending, loading (3 s)]\n[nothing is known of a.rs: unavailable, no server]"},
		{"bare", wire.CodeAnswer{Type: "lsp_hover", State: wire.CodePending, Reason: "x"}, Reader{Bare: true}, ""},
		{"a dry run", wire.CodeAnswer{Type: "lsp_rename", State: wire.CodeOK, Patch: "--- a/x\n+++ b/x\n", Paths: []string{"x"}, Added: 1, Removed: 1, Total: 3}, ForModels,
			"--- a/x\n+++ b/x\n1 file would change (+1 -1 lines)"},
		{"a rename", wire.CodeAnswer{Type: "lsp_rename", State: wire.CodeOK, Paths: []string{"x", "y"}, Added: 2, Removed: 2, Applied: true}, ForModels, "2 files changed (+2 -2 lines)"},
		{"a wide path and a name that is odd", wire.CodeAnswer{Type: "lsp_references", State: wire.CodeOK, Total: 2, Locations: []wire.CodeLocation{
			{Path: long, Line: 1, Column: 1, Text: "a\nb"}, {Path: "n\nl", Line: 1, Column: 1, Text: "\x00"},
		}}, ForModels, long + ":1:1  a b\n\"n\\nl\":1:1  \uFFFD\n2 references"},
	} {
		if d := cmp.Diff(tt.want, Text(&tt.answer, tt.reader)); d != "" {
			t.Errorf("%s: %s", tt.what, d)
		}
	}
	for version, want := range map[string]string{"v0.23.0": "0.23", "7.0.2": "7.0.2", "1.1.409": "1.1.409", "": "", "1.0": "1.0", "2026-01-05": "2026-01-05"} {
		if got := short(version); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}

// A patch is shown by whole lines, and not without end.
func TestLongPatch(t *testing.T) {
	text := Text(&wire.CodeAnswer{Type: "lsp_rename", State: wire.CodeOK, Patch: strings.Repeat("+0123456789\n", 10_000)}, ForModels)
	if len(text) > maxPatch+200 || !strings.Contains(text, "+0123456789\n[the rest of the patch is left out]\n") {
		t.Errorf("%d bytes, ends with %q", len(text), text[len(text)-100:])
	}
}

// What a server says of itself and of names begins no line of an answer.
func TestNoLineOfAServer(t *testing.T) {
	for _, a := range []wire.CodeAnswer{
		{State: wire.CodePending, Reason: "loading\nFORGED"}, {State: wire.CodeUnavailable, Reason: "gone\nFORGED"},
		{Type: "lsp_callers", State: wire.CodeOK, Locations: []wire.CodeLocation{{Path: "a", Name: "x\nFORGED", Text: "y"}}},
		{Type: "lsp_diagnostics", State: wire.CodeFindings, Diagnostics: []wire.Diagnostic{{Path: "a", Message: "m", Source: "s\nFORGED", Code: "c\rFORGED"}}},
		{Type: "lsp_hover", State: wire.CodeOK, Server: &wire.CodeServer{Name: "x\nFORGED", Version: "1\nFORGED"}},
	} {
		if text := Text(&a, ForModels); strings.ContainsAny(text, "\r") || strings.Contains(text, "\nFORGED") || !strings.Contains(text, "FORGED") {
			t.Errorf("%q", text)
		}
	}
}

// Whatever the host sends, an answer has no more than was asked for.
func TestCaps(t *testing.T) {
	w := newWorld(t)
	var places []wire.CodeLocation
	var syms []wire.CodeSymbol
	var found []wire.Diagnostic
	for i := range 200 {
		places = append(places, wire.CodeLocation{Path: "a.go", Line: i + 1, Column: 1})
		syms = append(syms, wire.CodeSymbol{Path: "a.go", Line: i + 1, Column: 1, Name: fmt.Sprint("S", i)})
		found = append(found, wire.Diagnostic{Path: "a.go", Line: i + 1, Column: 1, Severity: "error", Message: "m"})
	}
	w.says("references", wire.CodeAnswer{State: wire.CodeOK, Locations: places, Total: 200})
	w.says("symbols", wire.CodeAnswer{State: wire.CodeOK, Symbols: syms, Total: 200})
	w.says("diagnostics", wire.CodeAnswer{State: wire.CodeFindings, Diagnostics: found, Total: 200})
	w.says("definition", wire.CodeAnswer{State: wire.CodeAmbiguous, Candidates: places})
	for _, tt := range []struct {
		verb, input, last string
		lines             int
	}{
		{"references", `{"symbol":"x"}`, "50 of 200 references; limit 200 shows all", 51},
		{"references", `{"symbol":"x","limit":3}`, "3 of 200 references; limit 200 shows all", 4},
		{"references", `{"symbol":"x","limit":200}`, "200 references", 201},
		{"symbols", `{"path":"a.go"}`, "100 of 200 symbols; limit 200 shows all", 102},
		{"diagnostics", `{}`, "50 of 200 findings; limit 200 shows all", 51},
	} {
		lines := strings.Split(w.text(tt.verb, tt.input), "\n")
		if len(lines) != tt.lines || lines[len(lines)-1] != tt.last {
			t.Errorf("%s %s: %d lines, the last is %q", tt.verb, tt.input, len(lines), lines[len(lines)-1])
		}
	}
	if out, err := w.call("definition", `{"symbol":"x"}`); err == nil || len(Answer(out).Candidates) != maxCandidates {
		t.Errorf("%v", err)
	}
	for _, tt := range []struct {
		hover, input string
		total, shown int
		truncated    bool
	}{
		{strings.Repeat("ä", 2000), ``, 2000, 2000, false},
		{strings.Repeat("ä", 2001), ``, 2001, 2000, true},
		{strings.Repeat("ä", 3000), ``, 9000, 2000, true}, // the host has cut it, too
		{strings.Repeat("ä", 2001), `,"limit":5000`, 2001, 2001, false},
		{strings.Repeat("ä", 30), `,"limit":7`, 30, 7, true},
	} {
		w.says("hover", wire.CodeAnswer{State: wire.CodeOK, Hover: tt.hover, Total: tt.total, Truncated: tt.total > 8000})
		w.says("definition", wire.CodeAnswer{State: wire.CodeOK})
		out, err := w.call("hover", `{"symbol":"x"`+tt.input+`}`)
		a := Answer(out)
		if err != nil || len([]rune(a.Hover)) != tt.shown || a.Truncated != tt.truncated || a.Total != tt.total {
			t.Errorf("%d of %d: %d shown, %t, total %d, %v", len(tt.hover), tt.total, len([]rune(a.Hover)), a.Truncated, a.Total, err)
		}
	}
}

// A secret at the place where a hover is cut is taken out as a whole.
func TestHoverWithASecret(t *testing.T) {
	w := newWorld(t)
	w.env.Secrets = redact.New([]redact.Secret{{Name: "key", Value: "s3cr3t-value-of-a-key"}})
	w.says("hover", wire.CodeAnswer{State: wire.CodeOK, Hover: strings.Repeat("x", 1990) + "s3cr3t-value-of-a-key", Total: 2011})
	out, err := w.call("hover", `{"symbol":"x"}`)
	if err != nil || strings.Contains(out["hover"].(string), "s3cr") || strings.Contains(out.Text(), "s3cr") {
		t.Errorf("%v, %v", out["hover"], err)
	}
}
