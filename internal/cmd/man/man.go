// Package man is kx man: the manual, page by page, as it is installed.
package man

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/man"
)

// Options of kx man.
type Options struct {
	App   *app.App
	Pages fs.ReadDirFS

	Words []string
}

// New returns the command; a nil run is the real one.
func New(a *app.App, run func(context.Context, *Options) error) *app.Command {
	o := &Options{App: a, Pages: man.FS}
	if run == nil {
		run = show
	}
	return &app.Command{
		Name:  "man",
		Usage: "show a page of the manual",
		What:  "Shows a page of the manual: of kx itself, of a command, or of a subject such as json, state or policy. On a terminal man(1) shows it, if there is one; on a pipe it is the source of the page.",
		Args:  "[PAGE...]",
		Examples: []app.Example{
			{Line: "kx man"},
			{Line: "kx man version", Does: "the page of a command"},
			{Line: "kx man kx-version > kx-version.1", Does: "its source"},
		},
		Exits:    []app.Exit{{Status: fail.ExitNotFound, Means: "there is no such page"}},
		Complete: map[string]app.Completer{"": func(context.Context, string) []app.Proposal { return proposals(o.Pages) }},
		Run: func(ctx context.Context, args []string) error {
			o.Words = args
			return run(ctx, o)
		},
	}
}

func show(ctx context.Context, o *Options) error {
	file, err := find(o.Pages, strings.Join(o.Words, "-"))
	if err != nil {
		return err
	}
	page, err := fs.ReadFile(o.Pages, file)
	if err != nil {
		return err
	}
	viewer, err := exec.LookPath("man")
	if !o.App.IO.OutTTY || err != nil {
		return o.App.Printer().Raw(page)
	}
	// ^C belongs to the pager that man(1) starts.
	signal.Ignore(os.Interrupt)
	defer signal.Reset(os.Interrupt)
	cmd := exec.CommandContext(ctx, viewer, "-l", "-")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(page), o.App.IO.Out.Whole(), o.App.IO.Err.Whole()
	if err := cmd.Run(); err != nil {
		return fail.Failed("man", "man(1) could not show %s: %v", file, err).WithHint("kx man %s | less", argv.Quote(title(file)))
	}
	return nil
}

// find returns the file of a page that was named with or without its section
// and the kx- before it.
func find(pages fs.ReadDirFS, name string) (string, error) {
	list := names(pages)
	for _, want := range []string{name, "kx-" + name, "kx." + name} {
		for _, file := range list {
			if name == "" && file == "kx.1" || want == file || want == title(file) {
				return file, nil
			}
		}
	}
	err := fail.NotFound("no_page", "there is no manual page %q", name)
	var titles []string
	for _, file := range list {
		titles = append(titles, strings.TrimPrefix(title(file), "kx-"))
	}
	if near := argv.Nearest(strings.TrimPrefix(name, "kx-"), titles); near != "" {
		return "", fail.NotFound("no_page", "there is no manual page %q; did you mean %s?", name, near).WithHint("kx man %s", near)
	}
	return "", err.WithHint("kx man")
}

// Subject reports whether name is a page about a subject, not a command: json,
// state, policy.
func Subject(name string) bool {
	file, err := find(man.FS, name)
	return err == nil && !strings.HasSuffix(file, ".1")
}

// title is the name of a page without its section.
func title(file string) string { return file[:strings.LastIndexByte(file, '.')] }

// names returns the files of the manual, sorted.
func names(pages fs.ReadDirFS) []string {
	entries, err := pages.ReadDir(".")
	if err != nil {
		return nil // an embedded folder can be read
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	slices.Sort(list)
	return list
}

func proposals(pages fs.ReadDirFS) []app.Proposal {
	var list []app.Proposal
	for _, file := range names(pages) {
		list = append(list, app.Proposal{Value: strings.TrimPrefix(title(file), "kx-")})
	}
	return list
}
