package root

import (
	"github.com/kxtools/kx/internal/cmd/agent"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/approve"
	"github.com/kxtools/kx/internal/cmd/audit"
	"github.com/kxtools/kx/internal/cmd/call"
	"github.com/kxtools/kx/internal/cmd/completion"
	"github.com/kxtools/kx/internal/cmd/config"
	"github.com/kxtools/kx/internal/cmd/doctor"
	"github.com/kxtools/kx/internal/cmd/host"
	"github.com/kxtools/kx/internal/cmd/lsp"
	"github.com/kxtools/kx/internal/cmd/man"
	"github.com/kxtools/kx/internal/cmd/model"
	"github.com/kxtools/kx/internal/cmd/policy"
	"github.com/kxtools/kx/internal/cmd/secret"
	"github.com/kxtools/kx/internal/cmd/session"
	"github.com/kxtools/kx/internal/cmd/tool"
	"github.com/kxtools/kx/internal/cmd/trust"
	"github.com/kxtools/kx/internal/cmd/version"
	"github.com/kxtools/kx/pkg/policy/mode"
)

// Tree returns all commands. Building it does no I/O.
func Tree(a *app.App) *app.Command {
	return &app.Command{
		Name:  "kx",
		Usage: "real tools for agents, behind one gate",
		What: `
kx gives any agent real tools behind one policy gate, with people answering in another terminal and a record of everything.

Words come first, flags may stand anywhere: kx NOUN VERB [ARG...]. Documents are a table on a terminal and JSON lines on a pipe.
`,
		Flags: a.GlobalFlags(),
		Examples: []app.Example{
			{Line: "kx help version", Does: "the help of a command"},
			{Line: "kx version --json", Does: "a document for a program"},
		},
		Exits: everyExit,
		Complete: map[string]app.Completer{
			"C":          app.Dirs,
			"output":     app.Values("auto", "json", "jsonl", "table", "md"),
			"state-dir":  app.Dirs,
			"config-dir": app.Dirs,
			"mode":       app.Values(mode.All...),
			"key":        app.Files,
		},
		Commands: []*app.Command{
			audit.New(a),
			agent.New(a),
			approve.New(a),
			call.New(a, nil),
			completion.New(a, nil),
			completion.NewComplete(a),
			config.New(a),
			doctor.New(a, nil),
			newHelp(a),
			host.New(a),
			lsp.New(a),
			man.New(a, nil),
			model.New(a),
			trust.New(a),
			policy.New(a),
			secret.New(a),
			session.New(a),
			tool.New(a),
			version.New(a, nil),
		},
	}
}

// everyExit shows the statuses of all commands in the help of kx itself.
var everyExit = []app.Exit{
	{Status: 1}, {Status: 3}, {Status: 4}, {Status: 5}, {Status: 6}, {Status: 7}, {Status: 8},
	{Status: 124}, {Status: 130}, {Status: 143},
}
