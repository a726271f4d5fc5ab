package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	lsp "github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/host/lsp/client"
	"github.com/kxtools/kx/internal/host/lsp/disk"
	"github.com/kxtools/kx/internal/host/lsp/door"
	"github.com/kxtools/kx/internal/host/lsp/faketest"
	"github.com/kxtools/kx/internal/host/lsp/language"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
	"github.com/kxtools/kx/internal/record/config"
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

// bench is a service of the fake server in a workspace of its own.
type bench struct {
	*testing.T
	*Service
	root  string
	setup door.Setup

	mu  sync.Mutex
	log []string
}

func open(t *testing.T, does ...string) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, root: root, setup: door.Setup{Code: true, Env: []string{"PATH=/usr/bin:/bin", "GORACE=atexit_sleep_ms=0"}}}
	b.write("a.fk", "let one\n  use two\nlet two\n")
	shared := &Shared{
		Root: root, Scanner: disk.New(root), Walls: func() sandbox.Walls { return sandbox.Walls{} },
		Confine: func(string, *door.Setup, []string) (*sandbox.Cell, error) { return nil, nil },
		Log: func(format string, args ...any) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.log = append(b.log, fmt.Sprintf(format, args...))
		},
	}
	langs := language.Table([]config.LanguageServer{{Name: "fake", Command: faketest.Argv(t, does...), Extensions: map[string]string{".fk": "fake"}}})
	fake := language.ByName(langs, "fake")
	fake.Servers[0].Ready = client.AtOnce
	b.Service = New(shared, []*language.Language{fake})
	t.Cleanup(b.Close)
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.root, name) }

func (b *bench) write(name, text string) {
	b.Helper()
	if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

// said is how many lines of the log have a text.
func (b *bench) said(text string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.log {
		n += strings.Count(l, text)
	}
	return n
}

// until waits for something.
func (b *bench) until(what string, ok func() bool) {
	b.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("%s: not in %v", what, patience)
		}
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// hover asks about a place, from 0.
func (b *bench) hover(ctx context.Context, name string, line, char int) (text string, crash error, err error) {
	err = b.Do(ctx, &b.setup, []string{b.path(name)}, func(ctx context.Context, v *View) error {
		crash = v.Crash
		var h protocol.Hover
		err := v.Call(ctx, "textDocument/hover", lsp.TextDocumentPositionParams{
			TextDocument: lsp.TextDocumentIdentifier{URI: protocol.FromPath(b.path(name))}, Position: lsp.Position{Line: line, Character: char}}, &h)
		text = string(h.Contents)
		return err
	})
	return text, crash, err
}

func (b *bench) hovers(name string, line, char int, want string) {
	b.Helper()
	if got, _, err := b.hover(within(b.T, patience), name, line, char); err != nil || !strings.Contains(got, want) {
		b.Errorf("%s:%d:%d is %q, %v; want %q", name, line, char, got, err, want)
	}
}

// An answer that a change has overtaken is of another text than the one it would be read
// with, so it is asked for again.
func TestOvertaken(t *testing.T) {
	b := open(t)
	asked := 0
	err := b.Do(within(t, patience), &b.setup, []string{b.path("a.fk")}, func(ctx context.Context, v *View) error {
		if asked++; asked > 1 {
			if text, err := v.Text(b.path("a.fk")); err != nil || text.Line(1) != "let new" {
				t.Errorf("it is read with %q, %v", text.Line(1), err)
			}
			return nil
		}
		b.write("a.fk", "let new\nlet one\n")
		b.hovers("a.fk", 1, 5, "declared at a.fk:2:5") // another client
		return errors.New("an error of the old text")
	})
	if err != nil || asked != 2 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	changes := func(times int) func(context.Context, *View) error {
		return func(context.Context, *View) error {
			if times--; times >= 0 {
				b.write("a.fk", fmt.Sprintf("let x%d\n", time.Now().UnixNano()))
				b.hovers("a.fk", 0, 4, "let x")
			}
			return nil
		}
	}
	if err := b.Do(within(t, patience), &b.setup, nil, changes(manyTries+2)); err != nil {
		t.Errorf("with many changes: %v", err)
	}
	err = b.Do(within(t, 3*time.Second), &b.setup, nil, changes(1e6))
	if p := (*Pending)(nil); !errors.As(err, &p) || !strings.Contains(p.Reason, "overtaken by changes") {
		t.Errorf("with changes all the time: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = b.Do(ctx, &b.setup, nil, func(ctx context.Context, v *View) error {
		defer cancel()
		return changes(1)(ctx, v)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("with a change and no more time: %v", err)
	}
}

// A file that changes whenever it is needed is opened: its text is then the one that the
// server has.
func TestTextOfWhatChanges(t *testing.T) {
	b := open(t)
	b.write("b.fk", "let b\n")
	tries := 0
	err := b.Do(within(t, patience), &b.setup, []string{b.path("a.fk")}, func(ctx context.Context, v *View) error {
		tries++
		b.write("b.fk", "let b"+strings.Repeat("b", tries)+"\n")
		text, err := v.Text(b.path("b.fk"))
		if err == nil && text.Line(1) != "let "+strings.Repeat("b", tries) {
			t.Errorf("in try %d it is %q", tries, text.Line(1))
		}
		return err
	})
	if err != nil || tries != 2 {
		t.Errorf("%d tries, %v", tries, err)
	}
}

// What a server gets wrong by a mistake of its own it is asked again; any other error is
// the answer, without the server's stack.
func TestSlips(t *testing.T) {
	for slip, want := range map[string]string{"told to": "<nil>", "other": "it was told to fail (-32603)"} {
		b := open(t, "error=textDocument/hover,-32603")
		b.Languages()[0].Servers[0].Slips = []string{slip}
		if _, _, err := b.hover(within(t, patience), "a.fk", 0, 4); fmt.Sprint(err) != want {
			t.Errorf("%s: %v", slip, err)
		}
	}
}

// What is asked about stays open, however many other files are asked about meanwhile, and
// what is not is closed in the end.
func TestPinned(t *testing.T) {
	b := open(t)
	for i := range maxOpen + 5 {
		b.write(fmt.Sprint("f", i, ".fk"), fmt.Sprint("let name", i, "\n"))
	}
	err := b.Do(within(t, patience), &b.setup, []string{b.path("a.fk")}, func(ctx context.Context, v *View) error {
		for i := range maxOpen + 5 {
			b.hovers(fmt.Sprint("f", i, ".fk"), 0, 4, fmt.Sprint("let name", i))
		}
		if v.run.docs[b.path("a.fk")] == nil || len(v.run.docs) != maxOpen {
			t.Errorf("%d files are open", len(v.run.docs))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxOpen {
		b.hovers(fmt.Sprint("f", i, ".fk"), 0, 4, fmt.Sprint("let name", i))
	}
	if r := b.run; r.docs[b.path("a.fk")] != nil || len(r.pins.count) != 0 {
		t.Errorf("it is open still, pins are %v", r.pins.count)
	}
}

// No version of a text is ever that of another one: what a server says late, of a file
// that was closed and opened again, is not taken for news.
func TestVersions(t *testing.T) {
	b := open(t)
	seen := map[int]bool{}
	for i := range 3 {
		b.write("a.fk", fmt.Sprint("let v", i, "\n"))
		err := b.Do(within(t, patience), &b.setup, []string{b.path("a.fk")}, func(ctx context.Context, v *View) error {
			n := v.Sent(b.path("a.fk"))
			if seen[n] {
				t.Errorf("version %d was there before", n)
			}
			seen[n] = true
			return v.run.close(ctx, b.path("a.fk"))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// An open file that can't be sent any more harms no question about another one.
func TestLostFiles(t *testing.T) {
	for name, spoil := range map[string]func(b *bench){
		"binary": func(b *bench) { b.write("x.fk", "\x00") },
		"large":  func(b *bench) { b.write("x.fk", strings.Repeat("let long\n", maxFile/8)) },
		"folder": func(b *bench) { os.Remove(b.path("x.fk")); os.Mkdir(b.path("x.fk"), 0o700) },
		"gone":   func(b *bench) { os.Remove(b.path("x.fk")) },
		"link":   func(b *bench) { os.Remove(b.path("x.fk")); os.Symlink("x.fk", b.path("x.fk")) },
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			b.write("x.fk", "let other\n")
			b.hovers("x.fk", 0, 4, "let other")
			spoil(b)
			b.hovers("a.fk", 0, 4, "let one")
			b.hovers("a.fk", 0, 4, "let one")
			if _, _, err := b.hover(within(t, patience), "x.fk", 0, 4); fail.As(err) == nil || errors.Is(err, errStale) {
				t.Errorf("of the file itself: %v", err)
			}
			os.RemoveAll(b.path("x.fk"))
			b.write("x.fk", "let again\n")
			b.hovers("x.fk", 0, 4, "let again")
		})
	}
}

// New files that can't be opened don't keep the others from a server that wants them open.
func TestCreated(t *testing.T) {
	b := open(t)
	b.langs[0].Servers[0].OpenCreated = true
	b.hovers("a.fk", 0, 4, "let one")
	b.write("b.fk", "\x00")
	b.write("c.fk", "let three\n")
	b.hovers("a.fk", 0, 4, "let one")
	if b.run.docs[b.path("c.fk")] == nil || b.run.docs[b.path("b.fk")] != nil {
		t.Error("the wrong files are open")
	}
}

// A server that was not told, as it reads nothing or nobody waits for it, is told later.
func TestToldLater(t *testing.T) {
	b := open(t)
	b.hovers("a.fk", 0, 4, "let one")
	r := b.run
	d := r.docs[b.path("a.fk")]
	before := *d
	b.write("a.fk", "let changed\n")
	now, err := disk.Look(b.path("a.fk"))
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.change(gone, b.path("a.fk"), d, now); !errors.Is(err, context.Canceled) || d.version != before.version || d.at != before.at {
		t.Errorf("a change that was not told: %v", err)
	}
	if err := r.close(gone, b.path("a.fk")); err == nil || r.docs[b.path("a.fk")] == nil {
		t.Errorf("a close that was not told: %v", err)
	}
	b.write("b.fk", "let three\n")
	snap, err := b.shared.Scanner.Scan(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.openDoc(gone, b.path("b.fk"), snap); err == nil || r.docs[b.path("b.fk")] != nil {
		t.Errorf("an open that was not told: %v", err)
	}
	b.hovers("a.fk", 0, 5, "let changed")
	b.hovers("b.fk", 0, 5, "let three")
}

// A server that ends is started again, and the answer says so, also the one that finds it
// ended; after three times it is left alone.
func TestCrashes(t *testing.T) {
	b := open(t, "die=textDocument/definition")
	none := errors.New("no answer")
	for i := range maxCrashes {
		if err := b.Do(within(t, patience), &b.setup, nil, func(context.Context, *View) error { return none }); err != none {
			t.Fatal(err)
		}
		text, crash, err := b.hover(within(t, patience), "a.fk", 0, 4)
		if err != nil || !strings.Contains(text, "let one") || (crash == nil) != (i == 0) {
			t.Fatalf("%d: %q, crash %v, %v", i, text, crash, err)
		}
		if _, crash, _ := b.hover(within(t, patience), "a.fk", 0, 4); crash != nil {
			t.Errorf("%d: the crash is told again: %v", i, crash)
		}
		r := b.run
		_ = r.Call(within(t, patience), "textDocument/definition", nil, nil)
		<-r.Done()
	}
	_, _, err := b.hover(within(t, patience), "a.fk", 0, 4)
	if e := fail.As(err); e == nil || e.Exit != fail.ExitUnavailable || !strings.Contains(e.Msg, "3 times") || !strings.Contains(e.Msg, "died of textDocument/definition") {
		t.Errorf("after the third: %v", err)
	}
	if st := b.State(); st.State != "failed" || !strings.Contains(st.Reason, "died of") {
		t.Errorf("state %+v", st)
	}
	c := open(t, "die=textDocument/hover")
	if _, _, err := c.hover(within(t, patience), "a.fk", 0, 4); fail.Exit(err) != fail.ExitUnavailable || c.said("died of") == 0 {
		t.Errorf("one that ends at each question: %v", err)
	}
}

// A server that can't start says why in its state, and is tried again.
func TestNeverStarts(t *testing.T) {
	b := open(t, "exit=4")
	for range maxCrashes + 2 {
		if _, _, err := b.hover(within(t, patience), "a.fk", 0, 4); fail.As(err) == nil || fail.As(err).Code != failed || !strings.Contains(err.Error(), "it can't start") {
			t.Fatalf("%v", err)
		}
	}
	if st := b.State(); st.State != "failed" || !strings.Contains(st.Reason, "it can't start") {
		t.Errorf("state %+v", st)
	}
}

// Who asks with other walls than those under which a server starts gets another one.
func TestOtherWalls(t *testing.T) {
	b := open(t, "late=20ms")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			setup := b.setup
			setup.Hidden = []string{fmt.Sprint("secret", i/2)}
			err := b.Do(within(t, patience), &setup, nil, func(ctx context.Context, v *View) error {
				if v.run.setup.Hidden[0] != setup.Hidden[0] {
					t.Errorf("walls of %v for %v", v.run.setup.Hidden, setup.Hidden)
				}
				return nil
			})
			var p *Pending
			if err != nil && !errors.As(err, &p) {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// A restart for somebody else is no crash for who waits.
func TestRestartIsNoCrash(t *testing.T) {
	b := open(t)
	asked := 0
	err := b.Do(within(t, patience), &b.setup, []string{b.path("a.fk")}, func(ctx context.Context, v *View) error {
		if asked++; asked == 1 {
			b.restart(v.run, "it is told to")
			b.restart(v.run, "it is told to")
		}
		if v.Crash != nil {
			t.Errorf("told as a crash: %v", v.Crash)
		}
		return v.Call(ctx, "fake/told", nil, nil)
	})
	if err != nil || asked < 2 || len(b.crashes) != 0 || b.said("it is told to") != 1 {
		t.Errorf("asked %d times, %d crashes, %v", asked, len(b.crashes), err)
	}
}

// A service that was closed starts nothing any more, and leaves nothing that starts.
func TestClose(t *testing.T) {
	b := open(t)
	entered := make(chan *View)
	ended := make(chan error, 2)
	go func() {
		ended <- b.Do(within(t, patience), &b.setup, nil, func(ctx context.Context, v *View) error {
			select {
			case entered <- v:
			default:
			}
			<-v.Done()
			return v.Call(ctx, "fake/told", nil, nil)
		})
	}()
	v := <-entered
	b.Close()
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("who asked gets %v", err)
	}
	if b.starting != nil || b.run != nil || v.Err() == nil {
		t.Error("a server runs")
	}
	c := open(t, "mute")
	go func() { _, _, err := c.hover(within(t, patience), "a.fk", 0, 4); ended <- err }()
	c.until("the start", func() bool { return c.State().State == "starting" })
	began := time.Now()
	c.Close()
	if err := <-ended; !errors.Is(err, ErrClosed) || time.Since(began) > startTime/2 {
		t.Errorf("who waits for a start gets %v after %v", err, time.Since(began))
	}
}

// Time is over: pending, and the next question is answered.
func TestTime(t *testing.T) {
	b := open(t, "silent=textDocument/hover", "says")
	_, _, err := b.hover(within(t, 1500*time.Millisecond), "a.fk", 0, 4)
	var p *Pending
	if !errors.As(err, &p) || !strings.Contains(err.Error(), "fake") {
		t.Errorf("a hover that is not answered: %v", err)
	}
	err = b.Do(within(t, patience), &b.setup, nil, func(ctx context.Context, v *View) error { return v.Call(ctx, "fake/told", nil, nil) })
	if err != nil {
		t.Errorf("the next one: %v", err)
	}
	b.until("$/cancelRequest", func() bool { return b.said("told $/cancelRequest") == 1 })

	c := open(t, "loading=1h")
	c.langs[0].Servers[0].Ready = client.OnProgress
	if _, _, err := c.hover(within(t, 2*time.Second), "a.fk", 0, 4); !errors.As(err, &p) || !strings.Contains(err.Error(), "loading the project (0 %)") {
		t.Errorf("one that loads: %v", err)
	}
}

// A question that panics is an error of its own.
func TestCaught(t *testing.T) {
	b := open(t)
	ask := func() (err error) {
		defer b.shared.Caught(&err)
		return b.Do(within(t, patience), &b.setup, []string{b.path("a.fk")}, func(context.Context, *View) error { panic("a mistake") })
	}
	if err := ask(); fail.As(err) == nil || fail.As(err).Code != "internal" || b.said("panic: a mistake") != 1 {
		t.Errorf("it is %v", err)
	}
	b.hovers("a.fk", 0, 4, "let one")
	if len(b.run.pins.count) != 0 {
		t.Error("it still pins files")
	}
}

// A server gets no text of a file that is hidden from it, whatever leads there: the host
// stands outside of its walls. Nor does it spoil questions about others.
func TestLinkToHidden(t *testing.T) {
	b := open(t)
	b.setup.Hidden = []string{"**/secret/**"}
	for _, dir := range []string{"secret", "walled"} {
		if err := os.Mkdir(b.path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		b.write(dir+"/s.fk", "let hush\n")
	}
	links := map[string]string{"link.fk": "secret/s.fk", "folder": "secret", "wall.fk": "walled/s.fk", "good.fk": "a.fk"}
	for name, to := range links {
		if err := os.Symlink(to, b.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	in := func(open []string, ask func(v *View) error) error {
		return b.Do(within(t, patience), &b.setup, open, func(_ context.Context, v *View) error { return ask(v) })
	}
	if err := in(nil, func(v *View) error { v.run.masked = []string{b.path("walled")}; return nil }); err != nil {
		t.Fatal(err)
	}
	for name, hides := range map[string]bool{"link.fk": true, "folder/s.fk": true, "wall.fk": true, "walled/s.fk": true, "secret/s.fk": true, "good.fk": false} {
		err := in([]string{b.path(name), b.path("a.fk")}, func(v *View) error {
			content, err := v.Content(b.path(name))
			if err != nil || (len(content) == 0) != hides {
				t.Errorf("%s: it is read as %q, %v", name, content, err)
			}
			if err := v.Open(b.path("a.fk")); err != nil {
				t.Errorf("beside %s: %v", name, err)
			}
			return v.Open(b.path(name))
		})
		if IsHidden(err) != hides || !hides && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What is open and becomes such a link is closed.
	b.write("b.fk", "let b\n")
	if err := in([]string{b.path("b.fk")}, func(v *View) error { return v.Open(b.path("b.fk")) }); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(b.path("b.fk")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("secret/s.fk", b.path("b.fk")); err != nil {
		t.Fatal(err)
	}
	if err := in([]string{b.path("b.fk")}, func(v *View) error { return v.Open(b.path("b.fk")) }); !IsHidden(err) {
		t.Errorf("b.fk is still open: %v", err)
	}
}

// The masks of a server are on the files that there were: a new one that is hidden where a
// link leads is not among them.
func TestNewBehindLink(t *testing.T) {
	b := open(t)
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, b.path("folder")); err != nil {
		t.Fatal(err)
	}
	b.setup.Hidden = []string{outside + "/*.key.fk"}
	asked := func() (r *running) {
		if err := b.Do(within(t, patience), &b.setup, []string{b.path("a.fk")}, func(_ context.Context, v *View) error { r = v.run; return nil }); err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := asked()
	for _, f := range []struct {
		name    string
		another bool
	}{{"open.fk", false}, {"new.key.fk", true}} {
		if err := os.WriteFile(filepath.Join(outside, f.name), []byte("let x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		now := asked()
		if another := now != first; another != f.another || asked() != now {
			t.Errorf("%s: another server is asked %v", f.name, another)
		}
		first = now
	}
}
