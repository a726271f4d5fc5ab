package site

import (
	"context"
	"encoding/json"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/wire"
)

// AskCode asks the language host of a workspace about code, starting it if need be.
func (s *Site) AskCode(_ context.Context, _ *tool.Env, _ string, _ wire.CodeQuery) (*wire.CodeAnswer, error) {
	return nil, fail.Unavailable("no_server", "there is no language host").WithHint("kx doctor")
}

// LanguageHost asks the language host of this workspace what it knows of servers. Where
// none runs it is started, or, without start, nothing (nil) is known.
func (s *Site) LanguageHost(_ context.Context, _ string, start bool) ([]json.RawMessage, error) {
	if !start {
		return nil, nil
	}
	return nil, fail.Unavailable("no_server", "there is no language host").WithHint("kx doctor")
}
