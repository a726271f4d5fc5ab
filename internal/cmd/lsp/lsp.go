// Package lsp is kx lsp: what language servers know of the code of a workspace. A
// question is a call of a tool lsp_VERB through the gate, as kx call makes it; what is
// printed is the answer itself.
//
// The verbs that are about a position are rows of one table, in position.go.
package lsp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/call"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate"
	"github.com/kxtools/kx/internal/gate/scope"
	"github.com/kxtools/kx/internal/tools/lsp"
	"github.com/kxtools/kx/pkg/wire"
)

// New returns the noun.
func New(a *app.App) *app.Command {
	c := &app.Command{
		Name:  "lsp",
		Usage: "what language servers know of this code",
		What: `
Asks language servers about the code of this workspace: Go, TypeScript, JavaScript, Python and Rust, and others by the user's configuration. They are started by the first question and stay warm; every answer is of the files as they are on the disk.

Where is said as FILE:LINE:COL (from 1, columns in characters), FILE:LINE:NAME (an identifier on that line; NAME#2 is the second one), or --symbol NAME. What a server can't tell yet is pending (124), never empty or clean. kx-lsp(7) has it all.
`,
		Examples: []app.Example{
			{Line: "kx lsp diagnostics web/app.ts"},
			{Line: "kx lsp definition main.go:12:Truncate"},
			{Line: "kx lsp references --symbol clock.Truncate"},
			{Line: "kx lsp doctor", Does: "which servers are there, and how to install what is missing"},
		},
	}
	c.Commands = append(c.Commands, NewDiagnostics(a, nil))
	for _, p := range positions {
		c.Commands = append(c.Commands, NewPosition(a, p, nil))
	}
	c.Commands = append(c.Commands, NewSymbols(a, nil), NewRename(a, nil), NewStatus(a, nil), NewDoctor(a, nil))
	return c
}

// Calls makes calls through the gate.
type Calls interface {
	One(ctx context.Context, c wire.Call) *wire.Result
	All(ctx context.Context, list []wire.Call, emit func(*wire.Result) error) error
}

// Options of all questions.
type Options struct {
	App   *app.App
	Open  func() (Calls, error)
	Place func() (workspace, cwd string, err error)

	Wait  time.Duration
	Limit int
}

const (
	// usualWait is how long a question waits for a server that is still loading.
	usualWait = 10 * time.Second
	// mostWait is what the tools take.
	mostWait = 10 * time.Minute
)

func options(a *app.App) Options {
	s := site.Of(a)
	return Options{
		App:  a,
		Open: func() (Calls, error) { return open(s) },
		Place: func() (string, string, error) {
			ws, err := s.Workspace()
			if err != nil {
				return "", "", err
			}
			cwd, err := s.Path(".")
			if err == nil && !paths.Inside(ws, cwd) {
				cwd = ws
			}
			return ws, cwd, err
		},
	}
}

func (o *Options) flags(limit string) []cli.Flag {
	list := []cli.Flag{
		&cli.DurationFlag{Name: "wait", Usage: "wait up to `DUR` for a server that is still loading", Value: usualWait, Destination: &o.Wait},
	}
	if limit != "" {
		list = append(list, &cli.IntFlag{Name: "limit", Usage: "show up to `N` " + limit, Destination: &o.Limit})
	}
	return list
}

// check looks at the flags that all questions have.
func (o *Options) check() error {
	switch {
	case o.Wait < 0 || o.Wait > mostWait:
		return fail.Usage("--wait %s: expected a duration from 0 to %s", o.Wait, "10m").WithHint("kx lsp --help")
	case o.Limit < 0:
		return fail.Usage("--limit %d: expected a number above 0", o.Limit).WithHint("kx lsp --help")
	}
	return nil
}

// ask makes the call of a question.
func (o *Options) ask(verb string, q wire.CodeQuery, dry bool) (wire.Call, error) {
	q.Limit, q.WaitMS = o.Limit, o.Wait.Milliseconds()
	input := struct {
		wire.CodeQuery
		DryRun bool `json:"dry_run,omitempty"`
	}{q, dry}
	raw, err := wire.Marshal(input)
	return wire.Call{Tool: lsp.Name(verb), Input: raw}, err
}

// file checks what was typed as a file. Nobody is asked about one outside of the
// workspace, which no server looks at.
func (o *Options) file(typed string) (string, error) {
	ws, cwd, err := o.Place()
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(typed, "~") {
		typed = "./" + typed // the shell is who expands it
	}
	abs, err := paths.Canonical(cwd, typed)
	if err != nil {
		return "", err
	}
	if !paths.Inside(ws, abs) {
		return "", fail.New("outside_workspace", fail.ExitUsage, "%.200q is outside the workspace %s", typed, ws).WithHint("kx -C DIR lsp ...")
	}
	if abs == cwd && cwd != ws { // for a tool, where it stands is as good as no path
		return "", fail.New("is_folder", fail.ExitUsage, "%.200q is a folder, and this is asked of a file", typed).WithHint("kx lsp diagnostics --help")
	}
	return below(ws, cwd, typed, abs), nil
}

// below writes a path that names the workspace by a symlink to it as one in it: rules are
// about where a path leads, and what is on the way is outside. abs is where it leads.
func below(ws, cwd, typed, abs string) string {
	full := typed
	if !filepath.IsAbs(typed) {
		full = filepath.Join(cwd, typed)
	}
	for i := 1; i < len(full) && !paths.Inside(ws, full[:i]); i++ {
		if full[i] != '/' {
			continue
		}
		if dir, err := paths.Canonical(cwd, full[:i]); err != nil || dir != ws {
			continue
		}
		if to, err := paths.Canonical(cwd, ws+full[i:]); err == nil && to == abs {
			return ws + full[i:]
		}
	}
	return typed
}

// address reads an address, and the path in it.
func (o *Options) address(text string) (wire.CodeQuery, error) {
	_, cwd, err := o.Place()
	if err != nil {
		return wire.CodeQuery{}, err
	}
	q, err := parse(text, func(name string) bool {
		if !filepath.IsAbs(name) {
			name = filepath.Join(cwd, name)
		}
		st, err := os.Stat(name)
		return err == nil && !st.IsDir()
	})
	if err != nil {
		return q, err
	}
	q.Path, err = o.file(q.Path)
	return q, err
}

// gated are the calls of one command.
type gated struct {
	gate  *gate.Gate
	batch *gate.Batch
}

func open(s *site.Site) (Calls, error) {
	g, err := s.Calls(scope.Scope{}, 0)
	if err != nil {
		return nil, err
	}
	b, err := g.Begin()
	if err != nil {
		return nil, err
	}
	return &gated{g, b}, nil
}

func (c *gated) One(ctx context.Context, call wire.Call) *wire.Result { return c.batch.Do(ctx, call) }

func (c *gated) All(ctx context.Context, list []wire.Call, emit func(*wire.Result) error) error {
	next := func() (gate.Item, bool) {
		if len(list) == 0 {
			return gate.Item{}, false
		}
		first := list[0]
		list = list[1:]
		return gate.Item{Call: first}, true
	}
	return c.gate.Stream(ctx, next, call.Windows(c.gate, c.batch), func(a gate.Answer) error { return emit(a.Result) })
}

// decode reads a document of the host.
func decode[T any](raw json.RawMessage) (T, error) {
	var doc T
	if err := json.Unmarshal(raw, &doc); err != nil {
		return doc, fail.Failed("bad_answer", "the answer of the language host can't be read: %v", err)
	}
	return doc, nil
}
