// Package door is how kx reaches kxd lsp: what it is called, and what goes with a
// question. It is all that kx links of language servers.
package door

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/kxtools/kx/internal/record/config"
)

// Name is what the resident of a workspace is called; its socket has that name and
// .sock at its end. root is canonical.
func Name(root string) string {
	sum := sha256.Sum256([]byte(root))
	return "lsp-" + hex.EncodeToString(sum[:6])
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
