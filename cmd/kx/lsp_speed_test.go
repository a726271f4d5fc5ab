package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	lsp "github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/host/lsp/client"
	"github.com/kxtools/kx/internal/host/lsp/lsptest"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

// A question to a warm host takes a fraction of what the server's own command line
// takes, and an edit is diagnosed as soon: of a module of 50,000 lines, whole processes
// of kx beside whole processes of gopls.
func TestCodeIsFast(t *testing.T) {
	c := newModule(t, nil)
	known := lsptest.Module(t, c.work, 1600, 50_000)
	c.env = append(c.env, "GOCACHE="+goEnv(t, "GOCACHE")) // gopls has it warm, too
	use := known["use"]
	rel, err := filepath.Rel(c.work, use.File)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Replace(use.String(), use.File, rel, 1)
	median := func(n int, do func()) time.Duration {
		var took []time.Duration
		for range n {
			began := time.Now()
			do()
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		return took[n/2]
	}
	kx := func(exit int, args ...string) {
		t.Helper()
		if got, out := c.both(append([]string{"lsp", "-o", "json", "--wait", "60s"}, args...)...); got != exit {
			t.Fatalf("%q: %d %s", args, got, out)
		}
	}
	began := time.Now()
	kx(0, "definition", at)
	first := time.Since(began)
	kx(0, "diagnostics", rel)
	peer := median(3, func() {
		cmd := exec.Command(filepath.Join(lsptest.Servers(t, "gopls")[0], "gopls"), "definition", at)
		cmd.Dir, cmd.Env = c.work, c.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("gopls definition: %v %s", err, out)
		}
	})
	t.Logf("first call %v, gopls definition %v", first, peer)
	// The goal is a fiftieth; a machine under load gets some slack.
	for _, verb := range []string{"hover", "definition", "references"} {
		took := median(20, func() { kx(0, verb, at) })
		t.Logf("%s %v, 1/%.0f", verb, took, float64(peer)/float64(took))
		if took > peer/20 {
			t.Errorf("%s takes %v, gopls definition %v", verb, took, peer)
		}
	}
	text, err := os.ReadFile(use.File)
	if err != nil {
		t.Fatal(err)
	}
	broken, state := append(slices.Clone(text), "\nvar _ int = \"\"\n"...), 0
	took := median(20, func() {
		content := text
		if state = 1 - state; state == 1 {
			content = broken
		}
		if err := os.WriteFile(use.File, content, 0o600); err != nil {
			t.Fatal(err)
		}
		kx(state, "diagnostics", rel)
	})
	t.Logf("an edit is diagnosed after %v", took)
	if took > peer/10 {
		t.Errorf("an edit is diagnosed after %v, gopls definition takes %v", took, peer)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// The first question, which starts the host and the server, takes hardly longer than
// the server alone takes to start and to answer it. Both have the caches warm that gopls
// keeps on disk.
func TestFirstQuestionIsFast(t *testing.T) {
	c := newModule(t, nil)
	known := lsptest.Module(t, c.work, 1600, 50_000)
	c.env = append(c.env, "GOCACHE="+goEnv(t, "GOCACHE"))
	use := known["use"]
	rel, err := filepath.Rel(c.work, use.File)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Replace(use.String(), use.File, rel, 1)
	ours := func() time.Duration {
		c.kx("host", "stop", "--all")
		began := time.Now()
		if exit, out := c.both("lsp", "definition", at, "-o", "json", "--wait", "60s"); exit != 0 {
			t.Fatalf("%d %s", exit, out)
		}
		return time.Since(began)
	}
	bare := func() time.Duration { return bareDefinition(t, c.work, append(c.env, "GOPROXY=off"), use) }
	ours() // the caches
	bare()
	const most = 1.6 // the goal is 1.15, and 1.2 was measured; the rest is for machines under load
	times := 5
	if os.Getenv("KX_STRESS") != "" { // enough of them to tell
		times = 21
	}
	var kx, gopls []time.Duration
	for range times {
		kx, gopls = append(kx, ours()), append(gopls, bare())
	}
	slices.Sort(kx)
	slices.Sort(gopls)
	ratio := float64(kx[times/2]) / float64(gopls[times/2])
	t.Logf("kx %v, gopls alone %v: %.2f", kx[times/2], gopls[times/2], ratio)
	if ratio > most {
		t.Errorf("the first question takes %.2f of the server's own time", ratio)
	}
}

// bareDefinition is the time that gopls alone, without walls, takes to start and to say
// where something is.
func bareDefinition(t *testing.T, root string, env []string, use lsptest.Place) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	gopls, err := client.Start(ctx, client.Options{
		Argv: []string{filepath.Join(lsptest.Servers(t, "gopls")[0], "gopls"), "serve"}, Dir: root, Env: env, Root: root,
		Ready: client.OnProgress, Options: map[string]any{"pullDiagnostics": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer gopls.Close()
	text, err := os.ReadFile(use.File)
	if err != nil {
		t.Fatal(err)
	}
	uri := protocol.FromPath(use.File)
	err = gopls.Notify(ctx, "textDocument/didOpen", lsp.DidOpenTextDocumentParams{TextDocument: lsp.TextDocumentItem{URI: uri, LanguageID: "go", Version: 1, Text: string(text)}})
	if err != nil {
		t.Fatal(err)
	}
	var found protocol.Locations
	err = gopls.Call(ctx, "textDocument/definition", lsp.TextDocumentPositionParams{
		TextDocument: lsp.TextDocumentIdentifier{URI: uri}, Position: lsp.Position{Line: use.Line - 1, Character: use.Column - 1},
	}, &found)
	took := time.Since(began)
	if err != nil || len(found) != 1 {
		t.Fatalf("%v %v", found, err)
	}
	return took
}
