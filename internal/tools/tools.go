// Package tools is the surface: every built-in tool that this kx has, family by
// family. What a session sees of it is for the gate to say.
package tools

import (
	"os/exec"

	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file"
	"github.com/kxtools/kx/internal/tools/human"
	"github.com/kxtools/kx/internal/tools/lsp"
	"github.com/kxtools/kx/internal/tools/shell"
	"github.com/kxtools/kx/internal/tools/work"
)

// Registry returns all tools. pass names the variables that commands get beside
// the usual nine, getenv reads them; people are reached by way of d, language servers
// by way of code.
func Registry(pass []string, getenv func(string) string, d human.Deps, code lsp.Deps) (*tool.Registry, error) {
	return tool.NewRegistry(file.Tools(exec.LookPath), shell.Tools(pass, getenv), work.Tools(), human.Tools(d), lsp.Tools(code))
}
