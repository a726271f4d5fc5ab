package kxdmain

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	hostapprove "github.com/kxtools/kx/internal/host/approve"
)

// approve is the approval host. It is started by a client, which reads on its
// standard output how the start went, or with --stay by a service manager.
func approve(ctx context.Context, args []string, s *term.IO, _ func(string) string, version string) int {
	fs := flag.NewFlagSet("kxd approve", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o := hostapprove.Options{Version: version, Idle: hostapprove.Idle}
	fs.StringVar(&o.State, "state-dir", "", "")
	fs.StringVar(&o.Config, "config-dir", "", "")
	fs.StringVar(&o.Socket, "socket", "", "")
	fs.BoolFunc("stay", "", func(string) error { o.Idle = 0; return nil })
	err := fs.Parse(args)
	if err == nil {
		err = hostapprove.Run(ctx, o, s.Out)
	}
	if err != nil {
		fmt.Fprint(s.Out, out.Sprintf("%s\n", err))
	}
	return fail.Exit(err)
}
