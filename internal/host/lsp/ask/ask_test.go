package ask

import (
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

// What deep symbols stand in takes no more memory than they do themselves.
func TestDeepSymbols(t *testing.T) {
	const deep = 3000
	name := strings.Repeat("ä", 100)
	symbols := []protocol.DocumentSymbol{{Name: "last"}}
	for range deep {
		symbols = []protocol.DocumentSymbol{{Name: name, Children: symbols}}
	}
	seen := 0
	walk(symbols, "", false, func(in string, _ bool, s protocol.DocumentSymbol) {
		if seen++; len(in) > maxContainer+len("…") || seen > 1 && !strings.HasSuffix(in, name) {
			t.Fatalf("symbol %d stands in %d bytes: %.50q", seen, len(in), in)
		}
	})
	if seen != deep+1 {
		t.Errorf("%d symbols", seen)
	}
	if got := within("a.b", "c"); got != "a.b.c" {
		t.Errorf("%q", got)
	}
}
