package lsp

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/wire"
)

// HostOptions of kx lsp status and kx lsp doctor.
type HostOptions struct {
	App *app.App
	// Ask asks the language host of the workspace, of one language or of all. Without
	// start nothing is started, and nil is the answer where none runs.
	Ask func(ctx context.Context, verb, language string, start bool) ([]json.RawMessage, error)

	Language string // "" for all
}

// NewStatus returns the command; a nil run is the real one.
func NewStatus(a *app.App, run func(context.Context, *HostOptions) error) *app.Command {
	o := &HostOptions{App: a, Ask: site.Of(a).LanguageHost}
	if run == nil {
		run = status
	}
	return &app.Command{
		Name:  "status",
		Usage: "list the language servers that run here",
		What: `
Prints the language servers of this workspace: starting, loading, ready, ended (the next question starts it again) or failed (it ended too often), and why. It starts nothing.
`,
		Examples: []app.Example{{Line: "kx lsp status"}, {Line: "kx lsp status -o jsonl | jq -r 'select(.state != \"ready\").reason'"}},
		Exits:    []app.Exit{{Status: 5}},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func status(ctx context.Context, o *HostOptions) error {
	docs, err := ask[wire.LanguageServer](ctx, o, "status", false)
	if err != nil {
		return err
	}
	empty := "no language server has been started yet"
	if docs == nil {
		empty = "no language host runs for this workspace"
	}
	return out.List(o.App.Printer(), out.Columns[wire.LanguageServer]{
		Header: []string{"LANGUAGE", "SERVER", "STATE", "PID", "MEMORY", "OPEN", "UPTIME", "REASON"},
		Row: func(d wire.LanguageServer) []string {
			pid, memory, uptime := "", "", ""
			if d.PID > 0 {
				pid, memory = strconv.Itoa(d.PID), place.Size(d.Memory)
			}
			if d.Started != nil {
				uptime = o.App.Now().Sub(*d.Started).Round(time.Second).String()
			}
			return []string{d.Language, strings.TrimSpace(d.Name + " " + d.Version), d.State, pid, memory, strconv.Itoa(d.OpenFiles), uptime, d.Reason}
		},
		Empty: empty,
	}, docs)
}

// NewDoctor returns the command; a nil run is the real one.
func NewDoctor(a *app.App, run func(context.Context, *HostOptions) error) *app.Command {
	o := &HostOptions{App: a, Ask: site.Of(a).LanguageHost}
	if run == nil {
		run = doctor
	}
	return &app.Command{
		Name:  "doctor",
		Usage: "check the language servers, and say how to install them",
		What: `
Starts the server of each language and says whether it answers: ok, missing, failed, or untrusted (it would run code of the project, for which the workspace has to be trusted), and the one command that mends it.
`,
		Args:     "[LANGUAGE]",
		Examples: []app.Example{{Line: "kx lsp doctor"}, {Line: "kx lsp doctor rust"}},
		Exits:    []app.Exit{{Status: 5, Means: "a server is missing or does not work: that of LANGUAGE, or of a language that the workspace uses"}, {Status: 8, Means: "there is no such language"}},
		Complete: map[string]app.Completer{"": app.Values("go", "typescript", "javascript", "python", "rust")},
		Run: func(ctx context.Context, args []string) error {
			if len(args) > 0 {
				o.Language = args[0]
			}
			return run(ctx, o)
		},
	}
}

func doctor(ctx context.Context, o *HostOptions) error {
	docs, err := ask[wire.LanguageCheck](ctx, o, "doctor", true)
	if err != nil {
		return err
	}
	if err := out.List(o.App.Printer(), out.Columns[wire.LanguageCheck]{
		Header: []string{"LANGUAGE", "STATE", "SERVER", "DETAIL", "HINT"},
		Row: func(d wire.LanguageCheck) []string {
			detail := d.Reason
			if detail == "" {
				detail = d.Program
			}
			if !d.Used {
				detail = strings.TrimSpace(detail + " (not used here)")
			}
			return []string{d.Language, d.State, strings.TrimSpace(d.Server + " " + d.Version), detail, d.Hint}
		},
	}, docs); err != nil {
		return err
	}
	if slices.ContainsFunc(docs, func(d wire.LanguageCheck) bool { return d.State != "ok" && (d.Used || o.Language != "") }) {
		return app.Status(fail.ExitUnavailable)
	}
	return nil
}

func ask[T any](ctx context.Context, o *HostOptions, verb string, start bool) ([]T, error) {
	raw, err := o.Ask(ctx, verb, o.Language, start)
	if err != nil || raw == nil {
		return nil, err
	}
	docs := []T{}
	for _, r := range raw {
		d, err := decode[T](r)
		if err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	return docs, nil
}
