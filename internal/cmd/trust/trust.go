// Package trust is kx trust: which workspaces may speak through files of their
// own.
package trust

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/internal/record/trust"
	"github.com/kxtools/kx/pkg/wire"
)

// New returns the noun.
func New(a *app.App) *app.Command {
	return &app.Command{
		Name:  "trust",
		Usage: "which workspaces may speak to kx through their files",
		What: `
A workspace may bring .kx/config.toml, .kx/policy.toml and .mcp.json. They do not speak until a person has read and trusted them. What was trusted stays in force, whatever becomes of the files, until a person trusts the change.
`,
		Examples: []app.Example{
			{Line: "kx trust add", Does: "read and trust the files of this workspace"},
			{Line: "kx trust list", Does: "what is trusted, and what has changed since"},
		},
		Commands: []*app.Command{NewAdd(a, nil), NewList(a, nil), NewRemove(a, nil)},
	}
}

// Doc is a workspace as kx trust prints it.
type Doc struct {
	Type      string            `json:"type"`
	V         int               `json:"v"`
	Workspace string            `json:"workspace"`
	State     string            `json:"state"` // trusted, changed, invalid, removed
	Level     string            `json:"level,omitempty"`
	AddedAt   time.Time         `json:"added_at,omitzero"`
	Files     map[string]string `json:"files,omitempty"` // sha256 of what is in force
	Changed   []string          `json:"changed,omitempty"`
	Problem   string            `json:"problem,omitempty"`
}

// document shows how a workspace stands.
func document(st trust.Status) Doc {
	d := Doc{Type: "trust", V: wire.Version, Workspace: st.Workspace, State: "trusted", Level: st.Level, AddedAt: st.AddedAt, Files: st.Digests(), Problem: st.Problem}
	for _, c := range st.Changed {
		d.Changed = append(d.Changed, c.File)
	}
	switch {
	case st.Problem != "":
		d.State, d.Changed = "invalid", nil
	case len(d.Changed) > 0:
		d.State = "changed"
	}
	return d
}

// ListOptions of kx trust list.
type ListOptions struct {
	App  *app.App
	Peek func() (*state.State, error)
}

// NewList returns the command; a nil run is the real one.
func NewList(a *app.App, run func(context.Context, *ListOptions) error) *app.Command {
	o := &ListOptions{App: a, Peek: site.Of(a).Peek}
	if run == nil {
		run = list
	}
	return &app.Command{
		Name:     "list",
		Usage:    "list the workspaces that are trusted",
		What:     "Lists the workspaces that are trusted, at which level, and which of their files are not what was trusted.",
		Examples: []app.Example{{Line: "kx trust list"}, {Line: "kx trust list -o jsonl | jq -r 'select(.state != \"trusted\").workspace'", Does: "where somebody should look"}},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func list(_ context.Context, o *ListOptions) error {
	st, err := o.Peek()
	if err != nil {
		return err
	}
	all, err := trust.New(st, o.App.Now).List()
	if err != nil {
		return err
	}
	var docs []Doc
	for _, s := range all {
		docs = append(docs, document(s))
	}
	return out.List(o.App.Printer(), out.Columns[Doc]{
		Header: []string{"WORKSPACE", "STATE", "LEVEL", "SINCE", "CHANGED"},
		Row: func(d Doc) []string {
			since := ""
			if !d.AddedAt.IsZero() {
				since = d.AddedAt.Local().Format(time.DateOnly)
			}
			what := slices.DeleteFunc(append(d.Changed, d.Problem), func(s string) bool { return s == "" })
			return []string{d.Workspace, d.State, d.Level, since, strings.Join(what, " ")}
		},
		Empty: "no workspace is trusted; kx trust add trusts this one",
	}, docs)
}
