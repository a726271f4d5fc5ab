package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/host/lsp/disk"
	"github.com/kxtools/kx/internal/host/lsp/door"
	"github.com/kxtools/kx/internal/host/lsp/faketest"
	"github.com/kxtools/kx/internal/host/lsp/service"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/wire"
)

// patience is what a loaded machine may need for what takes a moment.
const patience = time.Minute

// TestMain lets the test binary be the server.
func TestMain(m *testing.M) {
	if faketest.Called() {
		os.Exit(faketest.Main())
	}
	os.Exit(m.Run())
}

// bench is a host whose servers are fake ones, in a workspace of its own.
type bench struct {
	*testing.T
	*Host
	setup door.Setup
	ended bool
}

// open returns one with a server for each extension, told what to do.
func open(t *testing.T, servers map[string][]string) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, setup: door.Setup{Code: true, Env: []string{"PATH=/usr/bin:/bin", "GORACE=atexit_sleep_ms=0"}}}
	for ext, does := range servers {
		b.setup.Servers = append(b.setup.Servers, config.LanguageServer{
			Name: "fake" + ext, Command: faketest.Argv(t, append(does, "ext="+ext)...), Extensions: map[string]string{ext: "fake"}})
	}
	b.Host = New(&service.Shared{
		Root: root, Scanner: disk.New(root), Walls: func() sandbox.Walls { return sandbox.Walls{} },
		Confine: func(string, *door.Setup, []string) (*sandbox.Cell, error) { return nil, nil },
		Log:     t.Logf,
	}, func() { b.ended = true })
	t.Cleanup(b.Close)
	return b
}

func (b *bench) write(name, text string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(b.root, name), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

// ask asks, and waits as long as it takes.
func (b *bench) ask(verb string, q wire.CodeQuery) *wire.CodeAnswer {
	b.Helper()
	return b.within(patience, verb, q)
}

func (b *bench) within(wait time.Duration, verb string, q wire.CodeQuery) *wire.CodeAnswer {
	b.Helper()
	a, err := b.try(wait, verb, q)
	if err != nil {
		b.Fatal(err)
	}
	return a
}

func (b *bench) try(wait time.Duration, verb string, q wire.CodeQuery) (*wire.CodeAnswer, error) {
	if err := b.adopt(&b.setup); err != nil {
		return nil, err
	}
	q.WaitMS = wait.Milliseconds()
	return b.Answer(context.Background(), &request{verb: verb, query: q, setup: b.setup})
}

// What is left out of an answer is counted, wherever it is.
func TestTotal(t *testing.T) {
	const many = 150
	b := open(t, map[string][]string{".fk": {"pull"}})
	b.write("a.fk", strings.Repeat("BUG\n", many))
	b.write("b.fk", "BUG\n")
	all := many + 1
	for _, limit := range []int{0, 10, all} {
		a := b.ask("diagnostics", wire.CodeQuery{Limit: limit})
		if shown := len(a.Diagnostics); a.Total != all || a.Truncated != (limit < all) || limit > 0 && shown != limit {
			t.Errorf("limit %d: %d are shown of %d, truncated %v", limit, shown, a.Total, a.Truncated)
		}
		a = b.ask("diagnostics", wire.CodeQuery{Path: filepath.Join(b.root, "a.fk"), Limit: limit})
		if shown := len(a.Diagnostics); a.Total != many || a.Truncated != (limit < many) {
			t.Errorf("one file, limit %d: %d are shown of %d, truncated %v", limit, shown, a.Total, a.Truncated)
		}
	}
}

// An answer is never longer than a line of the socket: it has as much as fits.
func TestFit(t *testing.T) {
	b := open(t, map[string][]string{".fk": nil})
	b.write("a.fk", "let two\n"+strings.Repeat("use two "+strings.Repeat("\x01", 200)+"\n", 800))
	a := b.ask("references", wire.CodeQuery{Path: filepath.Join(b.root, "a.fk"), Line: 1, Column: 5, Limit: 1000})
	raw, err := wire.Marshal(a)
	if err != nil || len(raw) > maxAnswer || len(raw) < maxAnswer*9/10 || !a.Truncated || a.Total != 801 || a.Locations[0].Line != 1 || a.Note == "" {
		t.Errorf("%d bytes, %v: %d of %d, truncated %v, %q", len(raw), err, len(a.Locations), a.Total, a.Truncated, a.Note)
	}
	long := strings.Repeat("x", sock.MaxLine)
	one := &wire.CodeAnswer{Total: 2, Symbols: []wire.CodeSymbol{{Name: "short"}, {Name: long}}}
	if err := fit(one); err != nil || len(one.Symbols) != 1 || one.Total != 2 || !one.Truncated {
		t.Errorf("%v: %d symbols", err, len(one.Symbols))
	}
	for what, a := range map[string]*wire.CodeAnswer{
		"too_long": {Hover: long}, "too_many_edits": {Edits: []wire.CodeEdits{{Path: "a.fk", Edits: []wire.CodeEdit{{NewText: long}}}}},
	} {
		if err := fail.As(fit(a)); err == nil || err.Code != what || err.Exit != fail.ExitLimit {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Of many files that nothing is known of, some are named and the others counted.
func TestManySkipped(t *testing.T) {
	b := open(t, map[string][]string{".fk": {"pull", "loading=1h", "status"}})
	const many = maxSkipped + 50
	for i := range many {
		b.write(fmt.Sprintf("%03d.fk", i), "let one\n")
	}
	a := b.within(0, "diagnostics", wire.CodeQuery{})
	last := a.Skipped[len(a.Skipped)-1]
	if len(a.Skipped) != maxSkipped+1 || last.Path != "" || last.State != wire.CodePending || !strings.HasPrefix(last.Reason, "50 more files, fake.fk is still") {
		t.Errorf("%d are skipped, at last %+v", len(a.Skipped), last)
	}
}

// The reason of an answer is that of its state.
func TestReason(t *testing.T) {
	b := open(t, map[string][]string{".fl": {"pull", "loading=1h", "status"}})
	none := config.LanguageServer{Name: "none", Command: []string{"/none"}, Extensions: map[string]string{".fk": "fake"}}
	b.setup.Servers = append([]config.LanguageServer{none}, b.setup.Servers...)
	b.write("a.fk", "let one\n")
	b.write("b.fl", "let one\n")
	a := b.within(0, "diagnostics", wire.CodeQuery{})
	if len(a.Skipped) != 2 || a.State != wire.CodePending || !strings.Contains(a.Reason, "fake.fl") {
		t.Errorf("%s: %s; skipped %+v", a.State, a.Reason, a.Skipped)
	}
}

// A crash is told by the answer after it, once, whatever was asked.
func TestCrashIsTold(t *testing.T) {
	for verb, q := range map[string]wire.CodeQuery{"diagnostics": {}, "definition": {Symbol: "one"}, "symbols": {Query: "o"}} {
		t.Run(verb, func(t *testing.T) {
			b := open(t, map[string][]string{".fk": {"pull"}, ".fl": {"pull"}})
			b.write("a.fk", "let one\n")
			b.write("b.fl", "let other\n")
			if a := b.ask(verb, q); a.Note != "" {
				t.Fatalf("note %q", a.Note)
			}
			s, _ := b.service("a.fk")
			if err := syscall.Kill(s.State().PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(patience); s.State().State != "ended"; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("it has not ended in %v", patience)
				}
			}
			if a := b.ask(verb, q); strings.Count(a.Note, "fake.fk was started again: ") != 1 {
				t.Errorf("%s: note %q", a.State, a.Note)
			}
			if a := b.ask(verb, q); a.Note != "" {
				t.Errorf("it is told again: %q", a.Note)
			}
		})
	}
}

// Who calls is told also by a server that escapes addresses in another way.
func TestCallers(t *testing.T) {
	for _, odd := range []string{"pull", "odd=escaped"} {
		b := open(t, map[string][]string{".fk": {odd}})
		b.write("a.fk", "let one\n\nlet two\n  one\n")
		a := b.ask("callers", wire.CodeQuery{Path: filepath.Join(b.root, "a.fk"), Line: 1, Column: 5})
		if len(a.Locations) != 1 || a.Locations[0].Path != "a.fk" || a.Locations[0].Name != "two" || a.Locations[0].Kind != "function" {
			t.Errorf("%s: %+v", odd, a.Locations)
		}
	}
}

// A host whose workspace is another folder now answers nothing any more, and ends.
func TestReplaced(t *testing.T) {
	for _, verb := range []string{"doctor", "hover", "symbols"} {
		b := open(t, map[string][]string{".fk": {"pull"}})
		if err := errors.Join(os.Rename(b.root, b.root+".old"), os.Mkdir(b.root, 0o700)); err != nil {
			t.Fatal(err)
		}
		args, err := json.Marshal(map[string]any{"setup": b.setup, "query": wire.CodeQuery{Path: filepath.Join(b.root, "a.fk"), Line: 1, Column: 1}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Handle(context.Background(), &sock.Request{Verb: verb, Args: args}, func(any) error { return nil })
		if e := fail.As(err); e == nil || e.Code != door.Moved || !b.ended {
			t.Errorf("%s: %v, ended %v", verb, err, b.ended)
		}
	}
}

// A workspace that is not looked at as a whole is not clean.
func TestTooLarge(t *testing.T) {
	b := open(t, map[string][]string{".fk": {"pull"}})
	b.write("a.fk", "let one\n")
	for i := range disk.MaxFolders {
		if err := os.Mkdir(filepath.Join(b.root, fmt.Sprint(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	a := b.ask("diagnostics", wire.CodeQuery{})
	if a.State != wire.CodeUnavailable || !strings.Contains(a.Reason, tooMany) || len(a.Skipped) != 1 || !strings.Contains(a.Note, tooMany) {
		t.Errorf("%s: %s; note %s; skipped %v", a.State, a.Reason, a.Note, a.Skipped)
	}
	if err := os.Remove(filepath.Join(b.root, "0")); err != nil {
		t.Fatal(err)
	}
	if a := b.ask("diagnostics", wire.CodeQuery{}); a.State != wire.CodeClean || a.Note != "" {
		t.Errorf("%s, %s: note %s", a.State, a.Reason, a.Note)
	}
}

// What can't be read is named, and the rest answered. A path that is too long is like one
// without permission, also for root.
func TestUnreadable(t *testing.T) {
	b := open(t, map[string][]string{".fk": {"pull"}})
	b.write("a.fk", "let one\n")
	dir, err := os.OpenRoot(b.root)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("x", 250)
	for range 20 {
		if err := dir.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		below, err := dir.OpenRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		dir.Close()
		dir = below
	}
	dir.Close()
	a := b.ask("diagnostics", wire.CodeQuery{})
	if a.State != wire.CodeClean || len(a.Skipped) != 1 || !strings.HasPrefix(a.Skipped[0].Path, name) || a.Skipped[0].Reason != "the folder can't be read" {
		t.Errorf("%s, %s: skipped %v", a.State, a.Reason, a.Skipped)
	}
}

// Files that policy hides are counted, and not named: they are no part of what is clean.
func TestHiddenFiles(t *testing.T) {
	b := open(t, map[string][]string{".fk": {"pull"}, ".fq": {"pull"}})
	for _, name := range []string{"a.fk", "b.fq", "no.txt"} {
		b.write(name, "let one\n")
	}
	b.setup.Hidden = []string{"**/h*"}
	if a := b.ask("diagnostics", wire.CodeQuery{}); a.State != wire.CodeClean || a.Skipped != nil {
		t.Errorf("%s: %+v", a.State, a.Skipped)
	}
	for _, name := range []string{"h1.fk", "h2.fk", "h3.fq", "h.txt"} {
		b.write(name, "BUG\n")
	}
	a := b.ask("diagnostics", wire.CodeQuery{})
	want := []wire.CodeSkipped{
		{Language: "fake.fk", State: wire.CodeUnavailable, Reason: "2 files that policy hides"},
		{Language: "fake.fq", State: wire.CodeUnavailable, Reason: "1 file that policy hides"},
	}
	if a.State != wire.CodeClean || !slices.Equal(a.Skipped, want) {
		t.Errorf("%s: %+v", a.State, a.Skipped)
	}
}

// A file that can't be read stands in the way of no name, in its language and others.
func TestUnreadableFile(t *testing.T) {
	b := open(t, map[string][]string{".fk": {"pull"}, ".fq": {"pull"}})
	b.write("a.fk", "let one\n")
	b.write("b.fq", "let two\n")
	dir, err := os.OpenRoot(b.root)
	if err != nil {
		t.Fatal(err)
	}
	for left := 4090 - len(b.root); left > 0; left -= 251 { // the longest path has 4,095 bytes
		name := strings.Repeat("x", min(left, 250))
		if err := dir.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		below, err := dir.OpenRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		dir.Close()
		dir = below
	}
	err = dir.WriteFile("beyond.fq", []byte("let one\n"), 0o600)
	dir.Close()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		if a := b.ask("hover", wire.CodeQuery{Symbol: name}); a.State != wire.CodeOK || !strings.Contains(a.Hover, name) {
			t.Errorf("%s: %s, %s: %q", name, a.State, a.Reason, a.Hover)
		}
	}
	if a := b.ask("diagnostics", wire.CodeQuery{}); len(a.Skipped) != 1 || !strings.Contains(a.Skipped[0].Reason, "can't be read") {
		t.Errorf("it is no such file: %v", a.Skipped)
	}
}

// A server that answers with an error is named. What to do next depends on whose fault it is.
func TestServerError(t *testing.T) {
	for code, hint := range map[string]string{"0": "kx lsp references --help", "-32803": "kx lsp references --help", "-32603": "kx lsp status"} {
		b := open(t, map[string][]string{".fk": {"error=textDocument/references," + code}})
		b.write("a.fk", "let one\n")
		_, err := b.try(patience, "references", wire.CodeQuery{Path: filepath.Join(b.root, "a.fk"), Line: 1, Column: 5})
		if e := fail.As(err); e == nil || e.Exit != fail.ExitFailed || e.Msg != "fakelsp answers with an error: it was told to fail" || e.Hint != hint {
			t.Errorf("%s: %+v", code, e)
		}
	}
}

// A file that was to be open beside that of the question, and went before it was, does
// not matter.
func TestBesideGone(t *testing.T) {
	for name, q := range map[string]wire.CodeQuery{"position": {Path: "a.ts", Line: 1, Column: 5}, "symbol": {Symbol: "one"}} {
		t.Run(name, func(t *testing.T) {
			b := open(t, nil)
			b.setup.Servers = []config.LanguageServer{{Name: "tsc", Command: faketest.Argv(t, "ext=.ts"), Extensions: map[string]string{".ts": "typescript"}}}
			b.write("a.ts", "let one\n")
			b.write("b.ts", "use one\n")
			if q.Path != "" {
				q.Path = filepath.Join(b.root, q.Path)
			}
			if err := b.adopt(&b.setup); err != nil {
				t.Fatal(err)
			}
			s, _ := b.service("a.ts")
			done := make(chan struct{})
			go func() {
				defer close(done)
				for s.State().State == "" {
					time.Sleep(time.Millisecond)
				}
				_ = os.Remove(filepath.Join(b.root, "b.ts"))
			}()
			if a := b.ask("references", q); a.State != wire.CodeOK || a.Total != 1 {
				t.Errorf("%+v", a)
			}
			<-done
		})
	}
}

// An edit at a place that a file does not have is not made at another one.
func TestEditElsewhere(t *testing.T) {
	b := open(t, map[string][]string{".fk": {"odd=past"}})
	b.write("a.fk", "let one\n")
	a, err := b.try(patience, "rename", wire.CodeQuery{Path: filepath.Join(b.root, "a.fk"), Line: 1, Column: 5, NewName: "two"})
	if e := fail.As(err); e == nil || e.Code != "rename_refused" || !strings.Contains(e.Msg, "line 9") {
		t.Errorf("%+v, %v", a, err)
	}
}

// What a server has no method for it is not asked.
func TestLacks(t *testing.T) {
	b := open(t, map[string][]string{".fk": {"lacks=documentSymbol"}, ".fl": {"lacks=definition"}})
	b.write("a.fk", "let one\n")
	b.write("a.fl", "let two\nlet two\n")
	for _, q := range []wire.CodeQuery{{Path: filepath.Join(b.root, "a.fk")}, {Path: filepath.Join(b.root, "a.fk"), Symbol: "one"}} {
		verb := "symbols"
		if q.Symbol != "" {
			verb = "hover"
		}
		if a := b.ask(verb, q); a.State != wire.CodeUnavailable || !strings.Contains(a.Reason, "does not know of symbols") {
			t.Errorf("%s: %s, %s", verb, a.State, a.Reason)
		}
	}
	if a := b.ask("hover", wire.CodeQuery{Path: filepath.Join(b.root, "a.fl"), Symbol: "two"}); a.State != wire.CodeAmbiguous || a.Total != 2 {
		t.Errorf("%s: %d, %s", a.State, a.Total, a.Reason)
	}
}

// The places that may be meant fit into an answer.
func TestManyCandidates(t *testing.T) {
	b := open(t, map[string][]string{".fk": nil})
	const most, many = 1000, 1500
	b.write("a.fk", strings.Repeat("let one\n", many))
	if a := b.ask("hover", wire.CodeQuery{Symbol: "one"}); a.State != wire.CodeAmbiguous || len(a.Candidates) != most || a.Total != many || !a.Truncated {
		t.Errorf("%s: %d of %d, truncated %v", a.State, len(a.Candidates), a.Total, a.Truncated)
	}
}
