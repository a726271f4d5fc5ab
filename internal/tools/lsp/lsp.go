// Package lsp has the tools that ask language servers about code. They ask the
// resident of the workspace by way of Deps, and know nothing of servers themselves.
// What policy keeps from the caller is left out of every answer, and counted.
//
// A rename is the one that changes files: all of its edits or none, through the
// writer of apply_patch.
package lsp

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/wire"
)

// Deps are what the tools reach language servers with.
type Deps struct {
	// Ask asks the language host of the workspace. The verb is that of kx lsp. The
	// path of the question is absolute and canonical: a file, the workspace itself
	// for the diagnostics of all of it, or empty.
	Ask func(ctx context.Context, env *tool.Env, verb string, q wire.CodeQuery) (*wire.CodeAnswer, error)
}

// The texts for the model. address and answer are parts of several.
var (
	//go:embed lsp_diagnostics.md
	diagnosticsText string
	//go:embed lsp_hover.md
	hoverText string
	//go:embed lsp_definition.md
	definitionText string
	//go:embed lsp_references.md
	referencesText string
	//go:embed lsp_symbols.md
	symbolsText string
	//go:embed lsp_implementation.md
	implementationText string
	//go:embed lsp_type_definition.md
	typeDefinitionText string
	//go:embed lsp_callers.md
	callersText string
	//go:embed lsp_rename.md
	renameText string
	//go:embed address.md
	addressText string
	//go:embed answer.md
	answerText string
)

// The caps of answers, for a model that reads all of it; the host has the same.
const (
	maxLocations  = 50
	maxSymbols    = 100
	maxHover      = 2000 // characters
	mostItems     = 1000 // what a call may ask for
	mostHover     = 50_000
	defaultWait   = 10 * time.Second
	mostWait      = 10 * time.Minute
	timeout       = mostWait + 30*time.Second // the servers may take that long to start, and then answer
	maxCandidates = maxLocations
)

// verb is one of the tools.
type verb struct {
	name  string // as kx lsp has it
	text  string // for the model
	at    bool   // it is about a position
	usual int    // the limit that a call gets which names none
	most  int    // the largest one; 0 where there is nothing to limit
}

// verbs are the tools, by the verb of kx lsp.
var verbs = []verb{
	{"diagnostics", diagnosticsText, false, maxLocations, mostItems},
	{"hover", hoverText, true, maxHover, mostHover},
	{"definition", definitionText, true, maxLocations, mostItems},
	{"references", referencesText, true, maxLocations, mostItems},
	{"symbols", symbolsText, false, maxSymbols, mostItems},
	{"implementation", implementationText, true, maxLocations, mostItems},
	{"type-definition", typeDefinitionText, true, maxLocations, mostItems},
	{"callers", callersText, true, maxLocations, mostItems},
	{"rename", renameText, true, 0, 0},
}

// Name is what the tool of a verb of kx lsp is called.
func Name(verb string) string { return "lsp_" + strings.ReplaceAll(verb, "-", "_") }

// Tools returns the family.
func Tools(d Deps) []tool.Tool {
	list := make([]tool.Tool, 0, len(verbs))
	for _, v := range verbs {
		list = append(list, tool.Tool{Spec: tool.Spec{
			Name: Name(v.name), Family: "lsp", Description: v.description(), Schema: v.schema(), Timeout: timeout,
		}, Run: func(ctx context.Context, env *tool.Env, input json.RawMessage) (wire.Output, error) {
			return d.run(ctx, env, v, input)
		}})
	}
	return list
}

func (v verb) description() string {
	if v.at {
		return v.text + "\n" + addressText + "\n" + answerText
	}
	return v.text + "\n" + answerText
}

func (d Deps) run(ctx context.Context, env *tool.Env, v verb, raw json.RawMessage) (wire.Output, error) {
	var in input
	if err := tool.Decode(Name(v.name), raw, &in); err != nil {
		return nil, err
	}
	q, err := in.question(ctx, env, v)
	if err != nil {
		return nil, err
	}
	a, err := d.Ask(ctx, env, v.name, q)
	if err != nil {
		return nil, err
	}
	a.Type, a.V = Name(v.name), wire.Version
	if err := d.withhold(ctx, env, v, q, a); err != nil {
		return nil, err
	}
	cut(env, v, q, a)
	if v.name == "rename" && a.State == wire.CodeOK {
		if err := rename(ctx, env, a, in.DryRun); err != nil {
			return nil, err
		}
	}
	return answer(env, v, q, a)
}
