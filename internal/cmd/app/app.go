// Package app is what every command stands on: the streams, the global flags,
// the printer, the logger, and the description of a command from which its
// parsing, help, man page and completion are made (Command).
//
// Invariants: building the tree does no I/O; globals are valid before a command
// runs; nothing is opened before it is asked for. internal/cmd/root makes the
// App, the packages beside it use it.
package app

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/record/state"
)

// App is one run of kx.
type App struct {
	IO      *term.IO
	Globals Globals
	Version string
	Now     func() time.Time
	Root    *Command     // the whole tree, for help and completion
	State   *state.State // the state directory, once a command has opened it

	getenv func(string) string
	log    *zerolog.Logger
}

// New returns an App on the given streams. getenv reads the environment.
func New(s *term.IO, getenv func(string) string, version string) *App {
	return &App{IO: s, Version: version, Now: time.Now, getenv: getenv}
}

// Getenv reads the environment as the command may see it: no KX_* variable
// under --ignore-env. An empty variable is unset.
func (a *App) Getenv(name string) string {
	if a.Globals.IgnoreEnv && strings.HasPrefix(name, "KX_") {
		return ""
	}
	return a.getenv(name)
}

// Printer returns the printer for the format in force.
func (a *App) Printer() *out.Printer { return out.New(a.IO, a.Globals.Output, a.Globals.Quiet) }

// Log returns the logger. It tells those who develop or debug what happens
// inside; what a user must know is printed, never logged.
func (a *App) Log() *zerolog.Logger {
	if a.log == nil {
		l := newLogger(a.IO, a.Globals, a.Getenv("KX_LOG"))
		a.log = &l
	}
	return a.log
}

func newLogger(s *term.IO, g Globals, level string) zerolog.Logger {
	if g.Quiet {
		return zerolog.Nop()
	}
	at := zerolog.WarnLevel
	if l, err := zerolog.ParseLevel(level); err == nil && level != "" {
		at = l
	}
	if g.Verbose > 0 {
		at = zerolog.DebugLevel
	}
	if g.Verbose > 1 {
		at = zerolog.TraceLevel
	}
	var w io.Writer = documents{s.Err}
	if s.ErrTTY {
		w = zerolog.ConsoleWriter{Out: s.Err, NoColor: true}
	}
	return zerolog.New(w).Level(at).With().Timestamp().Logger()
}

// documents takes log lines for programs.
type documents struct{ to term.Stream }

func (d documents) Write(b []byte) (int, error) { return len(b), d.to.Exact(b) }

// Note tells a person what goes on, on the standard error. It is no log: with -q,
// and where only a program reads along, nothing is said.
func (a *App) Note(format string, args ...any) {
	if a.Notes() {
		fmt.Fprint(a.IO.Err, out.Sprintf(format+"\n", args...))
	}
}

// Notes reports whether a person hears notes.
func (a *App) Notes() bool {
	return !a.Globals.Quiet && (a.IO.ErrTTY || !a.Globals.Output.Resolve(a.IO.OutTTY).Data())
}
