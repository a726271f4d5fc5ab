package tools

import (
	"os"
	"testing"

	"github.com/kxtools/kx/internal/tools/human"
	"github.com/kxtools/kx/internal/tools/lsp"
)

func TestRegistry(t *testing.T) {
	r, err := Registry(nil, os.Getenv, human.Deps{}, lsp.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Names()) < 10 {
		t.Errorf("only %v", r.Names())
	}
	if err := r.Verify(); err != nil {
		t.Error(err)
	}
}
