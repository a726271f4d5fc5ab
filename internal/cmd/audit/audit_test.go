package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// record returns an App, its output and a record with a call, a request and a stop.
func record(t *testing.T) (*app.App, *bytes.Buffer, func() (*audit.Log, error)) {
	t.Helper()
	st, err := state.Open(filepath.Join(t.TempDir(), "kx"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	log := audit.New(st, func() time.Time { return now })
	for _, doc := range []any{
		audit.Decision{Type: audit.TypeDecision, V: 1, CallID: "c1", Session: "a3fk", Caller: "agent", Workspace: "/w",
			Decision: wire.Decision{Tool: "bash", Decision: wire.Deny, Reason: "no\x1b[31m"}, Input: json.RawMessage(`{"command":"rm -rf x"}`), DecidedBy: wire.Decider{Kind: "rule"}},
		audit.Outcome{Type: audit.TypeOutcome, V: 1, CallID: "c1", Status: wire.StatusDenied},
		audit.Approval{Type: audit.TypeApproval, V: 1, ID: "7k2q", Tool: "bash", Session: "a3fk", CallID: "c2", State: wire.ApprovalAllowed, DecidedBy: &wire.Decider{Kind: "human"}},
		audit.Decision{Type: audit.TypeDecision, V: 1, CallID: "c2", Session: "b2xy", Decision: wire.Decision{Tool: "write_file", Decision: wire.Allow}, DecidedBy: wire.Decider{Kind: "human"}},
	} {
		if _, err := log.Append(doc, false); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
	}
	s, _, stdout, _ := term.Test()
	a := app.New(s, func(string) string { return "" }, "")
	a.Now = func() time.Time { return now }
	a.Globals.Output = out.JSONL
	return a, stdout, func() (*audit.Log, error) { return log, nil }
}

func TestList(t *testing.T) {
	for _, tc := range []struct {
		name string
		o    ListOptions
		want string
	}{
		{"all", ListOptions{}, "1 2 3 4"},
		{"session", ListOptions{Session: "a3fk"}, "1 3"},
		{"tool", ListOptions{Tool: "write_*"}, "4"},
		{"decision", ListOptions{Decision: "deny"}, "1"},
		{"decided by", ListOptions{DecidedBy: "human"}, "4"},
		{"since", ListOptions{Since: "2h"}, "3 4"},
		{"until", ListOptions{Until: "2026-03-01T11:00:00Z"}, "1"},
		{"days", ListOptions{Until: "1d"}, ""},
	} {
		a, stdout, open := record(t)
		tc.o.App, tc.o.Open = a, open
		if err := list(t.Context(), &tc.o); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		var got []string
		for _, line := range strings.Split(strings.TrimSpace(stdout.String()), "\n") {
			var e audit.Entry
			if line != "" && json.Unmarshal([]byte(line), &e) == nil {
				got = append(got, fmt.Sprint(e.Seq))
			}
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: got %v, want %s", tc.name, got, tc.want)
		}
	}
}

func TestListAsTable(t *testing.T) {
	a, stdout, open := record(t)
	a.Globals.Output = out.MD
	if err := list(t.Context(), &ListOptions{App: a, Open: open}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| decision | deny | bash | rule | a3fk | c1 |", "| outcome | denied | | | | c1 |", "| approval | allowed | bash | human | a3fk | c2 |"} {
		if !strings.Contains(strings.Join(strings.Fields(stdout.String()), " "), want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
}

func TestShow(t *testing.T) {
	a, stdout, open := record(t)
	a.Globals.Output = out.Table
	if err := show(t.Context(), &ShowOptions{App: a, Open: open, ID: "c1"}); err != nil {
		t.Fatal(err)
	}
	got := stdout.String()
	for _, want := range []string{"audit 1  ", "\noutcome 2  ", `  input            {"command":"rm -rf x"}`, "  decision         deny\n", "  reason           no\\x1b[31m\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if err := show(t.Context(), &ShowOptions{App: a, Open: open, ID: "c9"}); fail.Exit(err) != fail.ExitNotFound {
		t.Errorf("no such call: %v", err)
	}
}
