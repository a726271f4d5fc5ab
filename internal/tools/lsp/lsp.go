// Package lsp has the tools that ask language servers about code. It asks the
// resident of the workspace by way of Deps, leaves out what policy denies, and says
// the rest in words for a model.
package lsp

import (
	"context"

	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/wire"
)

// Deps are what the tools reach language servers with.
type Deps struct {
	// Ask asks the language host of the workspace. The verb is that of kx lsp; the
	// path of the question is absolute and canonical, or empty.
	Ask func(ctx context.Context, env *tool.Env, verb string, q wire.CodeQuery) (*wire.CodeAnswer, error)
}
