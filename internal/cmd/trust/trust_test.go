package trust

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/record/trust"
	"github.com/kxtools/kx/pkg/wire"
)

// person runs kx trust add in a workspace and answers what it asks.
type person struct {
	t      *testing.T
	home   string
	ws     string
	answer error
	before func() // happens while the person reads

	asked  string
	output bytes.Buffer
}

func newPerson(t *testing.T) *person {
	p := &person{t: t, home: t.TempDir(), ws: t.TempDir()}
	return p
}

func (p *person) put(name, content string) {
	p.t.Helper()
	path := filepath.Join(p.ws, name)
	os.MkdirAll(filepath.Dir(path), 0o755)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) add(level string) error {
	p.t.Helper()
	s, _, stdout, _ := term.Test()
	a := app.New(s, func(name string) string { return map[string]string{"HOME": p.home}[name] }, "")
	a.Globals.Output = out.Table
	p.asked = ""
	err := add(p.t.Context(), &AddOptions{App: a, Level: level, Dir: p.ws, Human: func(_ context.Context, line, question string) (wire.Decider, error) {
		p.asked = question
		if p.before != nil {
			p.before()
		}
		return wire.Decider{Kind: "human"}, p.answer
	}})
	p.output = *stdout
	return err
}

func TestQuestion(t *testing.T) {
	p := newPerson(t)
	p.put(".kx/policy.toml", "[[rule]]\ntool = \"bash\"\ncommand = \"rm *\"\ndecision = \"deny\"\nfinal = true\n\n[[rule]]\ntool = \"write_file\"\ndecision = \"ask\"\n")
	p.put(".kx/config.toml", "mode = \"plan\"\n[limits]\nmax_timeout_ms = 1000\nmax_sandbox = \"read_only\"\nmax_parallel_tools = 4\n")
	if err := p.add(trust.LevelFiles); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--- /dev/null\n+++ .kx/policy.toml\n", "+command = \"rm *\"\n", "+max_timeout_ms = 1000\n", "Trust " + p.ws + ", level files?"} {
		if !strings.Contains(p.asked, want) {
			t.Errorf("%q is not in the question\n%s", want, p.asked)
		}
	}
	if strings.Contains(p.asked, "widen") {
		t.Errorf("nothing is widened by the first word\n%s", p.asked)
	}
	if !strings.HasPrefix(p.output.String(), "trusted "+p.ws+", level files\n") {
		t.Errorf("output %s", &p.output)
	}

	// The rules move, one is gone, one is new; limits go both ways.
	p.put(".kx/policy.toml", "# moved\n\n[[rule]]\ntool = \"write_file\"\ndecision = \"ask\"\n\n[[rule]]\ntool = \"bash\"\ncommand = \"ls *\"\ndecision = \"allow\"\n")
	p.put(".kx/config.toml", "[limits]\nmax_timeout_ms = 2000\nmax_sandbox = \"workspace_write\"\nmax_parallel_tools = 2\n")
	if err := p.add(trust.LevelCode); err != nil {
		t.Fatal(err)
	}
	_, wider, _ := strings.Cut(p.asked, "This would widen what is allowed:\n")
	want := "  gone: deny bash command=\"rm *\" final\n  new:  allow bash command=\"ls *\"\n" +
		"  limits.max_timeout_ms: 1000 becomes 2000\n  limits.max_sandbox: read_only becomes workspace_write\n" +
		"  mode: plan becomes whatever the user chose\n"
	if !strings.HasPrefix(wider, want) || !strings.Contains(wider, "Level code ") {
		t.Errorf("got\n%s\nwant\n%s", wider, want)
	}

	// Nothing changed: nothing is asked.
	if err := p.add(trust.LevelCode); err != nil || p.asked != "" {
		t.Errorf("asked %q, %v", p.asked, err)
	}
}

func TestNothingIsTrustedUnlessConfirmed(t *testing.T) {
	p := newPerson(t)
	p.put(".mcp.json", "{}\n")
	p.answer = errors.New("no")
	if err := p.add(trust.LevelFiles); !errors.Is(err, p.answer) {
		t.Errorf("got %v", err)
	}
	p.answer = nil
	p.before = func() { p.put(".mcp.json", "{\"evil\":1}\n") }
	if err := p.add(trust.LevelFiles); fail.Exit(err) != fail.ExitConflict {
		t.Errorf("changed while it was read: %v", err)
	}
	if records, _ := filepath.Glob(filepath.Join(p.home, ".local/state/kx/trust/*.json")); len(records) > 0 {
		t.Errorf("trusted: %v", records)
	}
	p.before = nil
	if err := p.add(trust.LevelFiles); err != nil || !strings.Contains(p.asked, "+{\"evil\":1}") {
		t.Errorf("asked %q, %v", p.asked, err)
	}
}

// A record that is damaged is shown as that, with all the files as new.
func TestDamagedRecord(t *testing.T) {
	p := newPerson(t)
	p.put(".mcp.json", "{}\n")
	if err := p.add(trust.LevelFiles); err != nil {
		t.Fatal(err)
	}
	records, _ := filepath.Glob(filepath.Join(p.home, ".local/state/kx/trust/*.json"))
	os.Truncate(records[0], 10)
	if err := p.add(trust.LevelFiles); err != nil || !strings.Contains(p.asked, "is not valid") || !strings.Contains(p.asked, "+{}") {
		t.Errorf("asked %q, %v", p.asked, err)
	}
}
