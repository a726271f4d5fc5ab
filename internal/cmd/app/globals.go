package app

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/pkg/policy/mode"
)

// Globals are the flags that every command has, after flag and environment
// were weighed. Empty means not given: what stands below (session, project,
// user, built-in) is for who knows it.
type Globals struct {
	Dir       string // -C
	Output    out.Format
	Quiet     bool
	Verbose   int
	NoColor   bool
	NoInput   bool
	StateDir  string
	ConfigDir string
	Mode      string // canonical, camelCase
	Session   string
	As        string
	Key       string
	IgnoreEnv bool

	json    bool
	output  string
	version bool
}

// ParseMode returns the canonical name of a mode given in camelCase or
// kebab-case.
func ParseMode(name string) (string, error) {
	if m, ok := mode.Parse(name); ok {
		return m, nil
	}
	if near := argv.Nearest(name, mode.All); near != "" {
		return "", fail.Usage("unknown mode %q; did you mean %s?", name, near)
	}
	return "", fail.Usage("unknown mode %q: expected %s", name, strings.Join(mode.All, ", "))
}

// GlobalFlags are the flags of the root, bound to the App.
func (a *App) GlobalFlags() []cli.Flag {
	g := &a.Globals
	return []cli.Flag{
		&cli.StringFlag{Name: "C", Usage: "work in the workspace `DIR`", Destination: &g.Dir},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "print as `FORMAT`: auto, json, jsonl, table or md; auto is a table on a terminal and jsonl on a pipe", Destination: &g.output},
		&cli.BoolFlag{Name: "json", Usage: "same as -o json", Destination: &g.json},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print only results and errors", Destination: &g.Quiet},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "tell what happens on the standard error; twice for more", Count: &g.Verbose},
		&cli.BoolFlag{Name: "no-color", Usage: "print without colour", Destination: &g.NoColor},
		&cli.BoolFlag{Name: "no-input", Usage: "never ask anything", Destination: &g.NoInput},
		&cli.StringFlag{Name: "state-dir", Usage: "keep state in `DIR`", Destination: &g.StateDir},
		&cli.StringFlag{Name: "config-dir", Usage: "read configuration from `DIR`", Destination: &g.ConfigDir},
		&cli.StringFlag{Name: "mode", Usage: "work in `MODE`: default, acceptEdits, bypassPermissions, plan or dontAsk", Destination: &g.Mode},
		&cli.StringFlag{Name: "session", Usage: "work in the session `ID`", Destination: &g.Session},
		&cli.StringFlag{Name: "as", Usage: "the `NAME` of the caller in records", Destination: &g.As},
		&cli.StringFlag{Name: "key", Usage: "show that a person decides by the approver key in `FILE`, where there is no terminal", Destination: &g.Key},
		&cli.BoolFlag{Name: "ignore-env", Usage: "read no KX_* variable", Destination: &g.IgnoreEnv},
		&cli.BoolFlag{Name: "version", Usage: "print the version", Destination: &g.version},
	}
}

// levels are the values of KX_LOG.
var levels = []string{"trace", "debug", "info", "warn", "error"}

// Env are the variables that kx reads, for the help and the manual.
var Env = []struct{ Name, Help string }{
	{"KX_STATE_DIR", "where state is kept"},
	{"KX_CONFIG_DIR", "where configuration is read from"},
	{"KX_RUNTIME_DIR", "where sockets are made"},
	{"KX_WORKSPACE", "the workspace, as -C"},
	{"KX_OUTPUT", "the format, as --output"},
	{"KX_MODE", "the mode, as --mode"},
	{"KX_SESSION", "the session, as --session"},
	{"KX_NO_INPUT", "not empty: as --no-input"},
	{"KX_LOG", "what to log: trace, debug, info, warn or error"},
	{"KX_KXD", "another kxd than the one beside kx"},
	{"NO_COLOR", "not empty: as --no-color"},
	{"PAGER", "shows on a terminal what is longer than the screen, less if it is not set; empty or cat: nothing does, as with --no-input"},
	{"TERM", "dumb: no colour, no pager, and nothing is drawn over"},
}

// Settle weighs the environment against the flags and checks both. It runs once
// between parsing and the command.
func (a *App) Settle() error {
	g := &a.Globals
	var err error
	if g.Output, err = format(g, a.Getenv("KX_OUTPUT")); err != nil {
		return err
	}
	g.Verbose = max(g.Verbose, 0) // the parser counts an unset flag with an alias as -1
	g.NoInput = g.NoInput || a.Getenv("KX_NO_INPUT") != ""
	if g.Session == "" {
		g.Session = a.Getenv("KX_SESSION")
	}
	source := "--mode"
	if g.Mode == "" {
		g.Mode, source = a.Getenv("KX_MODE"), "KX_MODE"
	}
	if g.Mode != "" {
		if g.Mode, err = ParseMode(g.Mode); err != nil {
			return fail.Usage("%s: %v", source, err).WithHint("kx --help")
		}
	}
	if level := a.Getenv("KX_LOG"); !slices.Contains(levels, level) && level != "" {
		return fail.Usage("KX_LOG: unknown level %q: expected %s", level, strings.Join(levels, ", "))
	}
	if g.NoColor {
		a.IO.OutColor, a.IO.ErrColor = false, false
	}
	return nil
}

func format(g *Globals, env string) (out.Format, error) {
	name, source := g.output, "--output"
	switch {
	case g.json && name != "" && name != string(out.JSON):
		return out.Auto, fail.Usage("--json and --output %s contradict each other", name)
	case g.json:
		return out.JSON, nil
	case name == "" && env != "":
		name, source = env, "KX_OUTPUT"
	case name == "":
		return out.Auto, nil
	}
	f, ok := out.Parse(name)
	if !ok {
		return out.Auto, fail.Usage("%s: unknown format %q: expected auto, json, jsonl, table or md", source, name)
	}
	return f, nil
}

// WantsVersion reports whether --version was given.
func (g *Globals) WantsVersion() bool { return g.version }
