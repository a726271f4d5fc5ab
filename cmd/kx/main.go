// Command kx gives agents real tools behind one gate.
package main

import (
	"context"
	"os"

	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/root"
)

var version = "0.1.0-dev" // set when a release is built
func main() {
	os.Exit(root.Main(context.Background(), os.Args[1:], term.System(), os.Getenv, version))
}
