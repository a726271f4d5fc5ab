package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

func open(t *testing.T, c *Client, text string) lsp.DocumentURI {
	t.Helper()
	uri := protocol.FromPath(filepath.Join(c.opt.Root, "a.fk"))
	err := c.Notify(within(t), "textDocument/didOpen", lsp.DidOpenTextDocumentParams{TextDocument: lsp.TextDocumentItem{URI: uri, LanguageID: "fake", Version: 1, Text: text}})
	if err != nil {
		t.Fatal(err)
	}
	return uri
}

func TestPushed(t *testing.T) {
	c := start(t, options(t))
	uri := open(t, c, "let one BUG\n")
	version := func(n int) func(protocol.Published) bool {
		return func(p protocol.Published) bool { return p.Version != nil && *p.Version == n }
	}
	first, err := c.WaitPushed(within(t), uri, version(1))
	if err != nil || len(first.Diagnostics) != 1 || first.Diagnostics[0].Code != "7" || first.Diagnostics[0].Range.Start.Character != 8 {
		t.Fatalf("%+v, %v", first, err)
	}
	if err := c.Notify(within(t), "textDocument/didChange", protocol.Change(uri, 2, "let one\n")); err != nil {
		t.Fatal(err)
	}
	second, err := c.WaitPushed(within(t), uri, version(2))
	if err != nil || len(second.Diagnostics) != 0 || second.Seq <= first.Seq || second.At.Before(first.At) {
		t.Errorf("%+v, %v", second, err)
	}
	c.Forget(uri)
	if _, ok := c.Pushed(uri); ok {
		t.Error("it is not forgotten")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.WaitPushed(ctx, uri, version(2)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// An address is the same however a server writes it.
func TestPushedAddresses(t *testing.T) {
	p := newPublished()
	p.add(protocol.Published{URI: "file:///a%20b/%c3%a9%2ego"}, 1)
	for _, uri := range []lsp.DocumentURI{"file:///a%20b/é.go", "file:///a b/%C3%A9.go", protocol.FromPath("/a b/é.go")} {
		if _, ok, _, _ := p.get(uri); !ok {
			t.Errorf("%s is not found", uri)
		}
	}
	if _, ok, _, _ := p.get("untitled:x"); ok {
		t.Error("another one is found")
	}
}

func TestLoading(t *testing.T) {
	for name, c := range map[string]struct {
		ready Ready
		does  []string
		waits bool
		what  string
	}{
		"at once":     {AtOnce, []string{"loading=300ms"}, false, ""},
		"by progress": {OnProgress, []string{"loading=300ms"}, true, "Setting up workspace reading"},
		"by status":   {OnStatus, []string{"loading=300ms", "status"}, true, ""},
		"no progress": {OnProgress, nil, true, ""},
		"by finding":  {OnFound, []string{"loading=300ms", "finds"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			opt := options(t, c.does...)
			opt.Ready = c.ready
			cl := start(t, opt)
			loading, _, _ := cl.Loading()
			if loading != c.waits {
				t.Errorf("loading %v", loading)
			}
			if c.what != "" {
				for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
					if _, percent, what := cl.Loading(); percent == 50 && what == c.what {
						break
					} else if time.Now().After(deadline) {
						t.Fatalf("%d %% of %q", percent, what)
					}
				}
			}
			if err := cl.Loaded(within(t)); err != nil {
				t.Fatal(err)
			}
			if loading, percent, what := cl.Loading(); loading || percent != -1 || what != "" {
				t.Errorf("loading %v, %d, %q", loading, percent, what)
			}
			if c.waits {
				mustHover(t, cl) // else it has nothing to tell
			}
		})
	}
}

func TestLoadingWhichNeverEnds(t *testing.T) {
	opt := options(t, "loading=1h")
	opt.Ready = OnProgress
	c := start(t, opt)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := c.Loaded(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	ended := make(chan error)
	go func() { ended <- c.Loaded(within(t)) }()
	c.Close()
	if err := <-ended; !errors.Is(err, ErrEnded) {
		t.Errorf("%v", err)
	}
}

// A server that is quiet is not waited for; one that says something will say what it
// has found.
func TestLoadingQuietly(t *testing.T) {
	l := newLoading(OnFound)
	now := func() (bool, bool) {
		loading, until := l.state()
		return loading, until.IsZero()
	}
	if loading, _ := now(); !loading {
		t.Error("it has loaded before it knows of anything")
	}
	l.notified("initialized")
	if loading, never := now(); !loading || never {
		t.Error("it is not waited for, or for ever")
	}
	l.says = time.Now()
	if loading, _ := now(); loading {
		t.Error("it is still waited for")
	}
	l.logged("Searching for source files")
	if loading, never := now(); !loading || !never {
		t.Error("it spoke, and is not waited for")
	}
	for _, text := range []string{"Found 1 source file", "No source files found."} {
		l.found = false
		l.logged(text)
		if loading, _ := now(); loading {
			t.Errorf("%q was not understood", text)
		}
	}
}

func TestWaitProgress(t *testing.T) {
	l := newLoading(AtOnce)
	c := &Client{load: l}
	work := func(token, kind, title string) {
		p := protocol.Progress{Token: protocol.Word(token)}
		p.Value.Kind, p.Value.Title = kind, title
		l.progress(p)
	}
	work("rust-analyzer/flycheck/0", "begin", "cargo check")
	work("other", "begin", "something else")
	for _, prefix := range []string{"rust-analyzer/flycheck/", "cargo"} {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		if err := c.WaitProgress(ctx, prefix); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", prefix, err)
		}
		cancel()
	}
	go work("rust-analyzer/flycheck/0", "end", "")
	if err := c.WaitProgress(within(t), "rust-analyzer/flycheck/"); err != nil {
		t.Error(err)
	}
}

// The health that a server reports is what it says, until it is well again.
// What a server calls its work fits into a message, whatever is in it.
func TestWhatItDoes(t *testing.T) {
	l := newLoading(OnProgress)
	p := protocol.Progress{Token: "a"}
	p.Value.Kind, p.Value.Title, p.Value.Message = "begin", "Set\ntings", strings.Repeat("x", maxWhat-1)+"é"
	l.progress(p)
	if _, _, what := l.tell(); what != "Set; tings "+strings.Repeat("x", maxWhat-1)+"\uFFFD" {
		t.Errorf("%q", what)
	}
}

func TestSaid(t *testing.T) {
	c := start(t, options(t, "status"))
	mustHover(t, c)
	if c.Said() != "it is told to be unwell" {
		t.Errorf("%q", c.Said())
	}
	c.said.ill(protocol.Status{Health: "ok"})
	c.said.message(lsp.LogMessageParams{Type: lsp.MTError, Message: "first\nsecond\x1b[1m"})
	c.said.message(lsp.LogMessageParams{Type: lsp.Info, Message: "chatter"})
	if want := `first; second\x1b[1m`; c.Said() != want {
		t.Errorf("%q", c.Said())
	}
}

func TestBeyond(t *testing.T) {
	c := &Client{watch: newWatched("/h/w")}
	var list []string
	for _, glob := range []string{
		"/h/w/**/*", "/h/lib/**/*.{go,mod}", "/h/lib/deep/**", "/h/lib-2/*", "/h/base.json", "/h/a \\[1\\]/**/*", "/h/**/*", "/**", "/h/node_modules/**/*", "/h/w/tsconfig.json",
	} {
		list = append(list, fmt.Sprintf(`{"globPattern": %q}`, glob))
	}
	raw := json.RawMessage(`{"watchers": [` + strings.Join(list, ",") + `]}`)
	c.watch.register([]protocol.Registration{{ID: "1", Method: watchFiles, Options: raw}})
	folders, files := c.Beyond()
	if got := fmt.Sprintf("%q %q", folders, files); got != `["/h/a [1]" "/h/lib" "/h/lib-2"] ["/h/base.json"]` {
		t.Error(got)
	}
}

func TestWatches(t *testing.T) {
	c := &Client{watch: newWatched("/w [1]")}
	w := &c.watch
	if !c.Watches("/x") || c.Registered(watchFiles) {
		t.Error("without a registration")
	}
	register := func(id, options string) {
		w.register([]protocol.Registration{{ID: id, Method: watchFiles, Options: []byte(options)}})
	}
	for _, x := range []struct {
		options  string
		yes, not []string
	}{
		{`{"watchers":[{"globPattern":{"baseUri":"file:///w%20%5B1%5D","pattern":"**/*.{go,mod}"}}]}`, []string{"/w [1]/a.go", "/w [1]/b/go.mod"}, []string{"/w [1]/a.rs", "/other/a.go"}},
		{`{"watchers":[{"globPattern":"/w [[]1]/**/*","kind":7},{"globPattern":"/lib/*.d.ts"}]}`, []string{"/w [1]/b/a", "/lib/x.d.ts"}, []string{"/lib/y/x.d.ts"}},
		{`{"watchers":[{"globPattern":"**"}]}`, []string{"/w [1]/b/.x"}, []string{"/other/x"}},
		{`{"watchers":[{"globPattern":{"baseUri":{"uri":"file:///lib","name":"l"},"pattern":"*.py"}}]}`, []string{"/lib/a.py"}, []string{"/lib/a/a.py"}},
		{`{"watchers":[{"globPattern":"[}"}]}`, []string{"/any\nthing"}, nil},
		{`{"watchers":[{"globPattern":"**/*{.c,.h}{,.in}\\{"}]}`, []string{"/w [1]/a.c.in{"}, []string{"/w [1]/a.c", "/other/a.h{"}},
		{`{"watchers":[{"globPattern":"` + strings.Repeat("{a,a}", 60) + `"}]}`, []string{"/w [1]/" + strings.Repeat("a", 60) + "b"}, nil}, // to try each took for ever
		{`nonsense`, []string{"/anything"}, nil},
		{`{"watchers":[]}`, nil, []string{"/anything"}},
	} {
		register("a", x.options)
		for _, path := range x.yes {
			if !c.Watches(path) {
				t.Errorf("%s: not %q", x.options, path)
			}
		}
		for _, path := range x.not {
			if c.Watches(path) {
				t.Errorf("%s: %q", x.options, path)
			}
		}
	}
	w.unregister(protocol.Unregistrations{List: []protocol.Registration{{ID: "a"}}})
	if !c.Watches("/anything") {
		t.Error("what is taken back stays")
	}
	for i := range maxRegistrations + 5 {
		register(time.Duration(i).String(), `{}`)
	}
	if len(w.list) != maxRegistrations {
		t.Errorf("%d registrations", len(w.list))
	}
}

// A request that is refused is answered with the reason for it, as the protocol has them.
func TestRefusal(t *testing.T) {
	list := make([]map[string]string, maxRegistrations+1)
	for i := range list {
		list[i] = map[string]string{"id": time.Duration(i).String(), "method": "x"}
	}
	raw, err := json.Marshal(map[string]any{"registrations": list})
	if err != nil {
		t.Fatal(err)
	}
	h := handler{&Client{watch: newWatched("/w")}}
	if _, e := h.answer("client/registerCapability", raw); e == nil || e.Code != requestFailed || e.Message != "too many registrations" {
		t.Errorf("%+v", e)
	}
	if _, e := h.answer("client/registerCapability", []byte(`[]`)); e == nil || e.Code != invalidParams {
		t.Errorf("%+v", e)
	}
}
