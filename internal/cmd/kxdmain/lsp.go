package kxdmain

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/host/lsp"
	"github.com/kxtools/kx/internal/host/lsp/door"
)

// languages is the host of the language servers of one workspace.
func languages(ctx context.Context, args []string, s *term.IO, _ func(string) string, version string) int {
	fs := flag.NewFlagSet("kxd lsp", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	var at door.Place
	fs.Func("place", "", func(text string) error { return json.Unmarshal([]byte(text), &at) })
	socket := fs.String("socket", "", "")
	fs.StringVar(&at.Dirs.State, "state-dir", "", "")
	fs.StringVar(&at.Dirs.Config, "config-dir", "", "")
	err := fs.Parse(args)
	if err == nil {
		err = lsp.Run(ctx, at, *socket, version, s.Out)
	}
	if err != nil {
		fmt.Fprint(s.Out, out.Sprintf("%s\n", err))
	}
	return fail.Exit(err)
}
