// Command kxd is the long-lived half of kx, which kx starts by itself.
package main

import (
	"context"
	"os"

	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/kxdmain"
)

var version = "0.1.0-dev" // set when a release is built
func main() {
	os.Exit(kxdmain.Main(context.Background(), os.Args[1:], term.System(), os.Getenv, version))
}
