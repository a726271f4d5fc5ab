// Package door is how kx reaches kxd lsp: what it is called, and what goes with a
// question. It is all that kx links of language servers.
package door

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/record/config"
)

// Name is what the resident of a workspace is called; its socket has that name and
// .sock at its end. root is canonical.
func Name(root string) string {
	sum := sha256.Sum256([]byte(root))
	return "lsp-" + hex.EncodeToString(sum[:6])
}

// Moved is the code of the error where the folder of the workspace is another one now.
// The host ends then, and another one may be asked.
const Moved = "workspace_moved"

// Place is where a host stands: it inherits nothing, so it is told.
type Place struct {
	Root    string     `json:"root"` // of the workspace, canonical
	Dirs    paths.Dirs `json:"dirs"`
	Session string     `json:"xdg_runtime_dir"` // where the sockets of the user's session are, "" if nowhere
}

// Args are the arguments of every verb.
type Args struct {
	Query json.RawMessage `json:"query"` // a wire.CodeQuery whose path is absolute and canonical
	Setup Setup           `json:"setup"`
}

// Setup is what servers may see and do, as policy and configuration have it at this
// moment. A server that runs under another one is started again.
type Setup struct {
	Env     []string                `json:"env"`    // all variables of a server
	Hidden  []string                `json:"hidden"` // patterns of files that no server may read
	Code    bool                    `json:"code"`   // code of the project may run
	Servers []config.LanguageServer `json:"servers"`
}

// Places are variables that say where a user has libraries and toolchains: without them
// all that is imported from there counts as missing.
var Places = []string{"CARGO_HOME", "GOMODCACHE", "GOPATH", "RUSTUP_HOME"}

// Get returns a variable of an environment, "" if it is not set.
func Get(env []string, name string) string {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
