// Package version is kx version.
package version

import (
	"context"
	"runtime"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/pkg/wire"
)

// Options of kx version.
type Options struct {
	App *app.App
}

// Doc is the document that it prints.
type Doc struct {
	Type    string `json:"type"`
	V       int    `json:"v"`
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// New returns the command; a nil run is the real one.
func New(a *app.App, run func(context.Context, *Options) error) *app.Command {
	o := &Options{App: a}
	if run == nil {
		run = show
	}
	return &app.Command{
		Name:  "version",
		Usage: "print the version",
		What:  "Prints the version of kx, the Go it was built with and the platform.",
		Examples: []app.Example{
			{Line: "kx version"},
			{Line: "kx version --json"},
		},
		Run: func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func show(_ context.Context, o *Options) error {
	d := Doc{
		Type: "version", V: wire.Version,
		Version: o.App.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
	}
	return o.App.Printer().Record(d, func(t *out.Text) {
		t.Printf("kx %s (%s %s/%s)\n", d.Version, d.Go, d.OS, d.Arch)
	})
}
