// Package shell is the tool bash: one command line, run by bash without its
// start-up files, in a session of its own, with the environment of proc.Env.
// Whatever the command started has ended when the call returns.
//
// The gate calls it; what a command may do was decided there, leaf by leaf.
package shell

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/gate/sandbox/advice"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// defaultTimeout is enough for most builds and test runs.
	defaultTimeout = 120 * time.Second
	// maxTimeout is what a call may ask for. The gate clamps it further.
	maxTimeout = 10 * time.Minute
	// streamCap is kept of stdout and of stderr, half from the start and half
	// from the end: together about what a model reads without harm.
	streamCap = 64 << 10
	// maxCommand is the longest single argument that Linux passes on.
	maxCommand = 128<<10 - 1
)

//go:embed bash.md
var bashText string

const bashSchema = `{"type":"object","additionalProperties":false,"required":["command"],"properties":{
"command":{"type":"string","minLength":1,"description":"what bash runs"},
"cwd":{"type":"string","minLength":1,"description":"the folder to run in; default: the current folder"},
"timeout_ms":{"type":"integer","minimum":1,"maximum":600000,"description":"ends the command after so many milliseconds; default 120000"},
"background":{"type":"boolean","const":false,"description":"not supported"},
"description":{"type":"string","description":"what the command is for, in a few words; shown to people"}}}`

// shells are where bash is looked for before PATH is.
var shells = []string{"/bin/bash", "/usr/bin/bash"}

// Tools returns the tool bash. Commands see the nine variables of proc.Env and
// those named in pass, as getenv has them.
func Tools(pass []string, getenv func(string) string) []tool.Tool {
	b := &bash{
		env:  func() []string { return proc.Env(pass, getenv) },
		find: sync.OnceValue(func() string { return findBash(shells, getenv("PATH")) }),
	}
	return []tool.Tool{{
		Spec: tool.Spec{
			Name: "bash", Family: "shell", Description: bashText, Schema: json.RawMessage(bashSchema),
			Timeout: maxTimeout, Serial: true, Spawns: true,
		},
		Run: b.run,
	}}
}

type bash struct {
	env  func() []string
	find func() string // the path of bash, or ""
}

type bashInput struct {
	Command   string `json:"command"`
	Cwd       string `json:"cwd"`
	TimeoutMS int64  `json:"timeout_ms"`
}

func (b *bash) run(ctx context.Context, env *tool.Env, input json.RawMessage) (wire.Output, error) {
	in, err := parse(input)
	if err != nil {
		return nil, err
	}
	if in.Cwd == "" {
		in.Cwd = env.Cwd
	}
	real := in.Cwd
	if env.Real != nil {
		real = env.Real(in.Cwd)
	}
	if err := checkFolder(real, in.Cwd); err != nil {
		return nil, err
	}
	path := b.find()
	if path == "" {
		return nil, fail.Unavailable("no_bash", "there is no bash on this machine").WithHint("kx doctor")
	}
	timeout := defaultTimeout
	if in.TimeoutMS > 0 {
		timeout = min(time.Duration(in.TimeoutMS)*time.Millisecond, maxTimeout)
	}
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// "--" keeps a command that begins with a dash from being an option of bash.
	spec := proc.Spec{Argv: []string{path, "--noprofile", "--norc", "-c", "--", in.Command}, Dir: in.Cwd, Env: b.env(), OutCap: streamCap, Secrets: env.Secrets}
	cell := &sandbox.Cell{Label: sandbox.None, Leave: func() []string { return nil }, Broken: func() {}}
	if env.Confine != nil {
		if cell, err = env.Confine(spec.Argv, spec.Dir); err != nil {
			return nil, err
		}
	}
	spec.Jail, spec.Env = cell.Plan, proc.With(spec.Env, cell.Env)
	res, err := proc.Run(ctx, spec)
	notes := cell.Leave()
	switch {
	case errors.Is(err, proc.ErrLost) && ctx.Err() == nil:
		err = fail.Failed("sandbox_ended", "the sandbox was ended while the command ran: look how far it came before you call it again").Because(err)
	case err != nil && ctx.Err() == nil:
		cell.Broken()
		return nil, fail.Unavailable("not_started", "bash could not be started: %s", err).WithHint("kx doctor").Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		err = fail.Timeout("the command was ended after %s", timeout.Round(time.Millisecond))
	case err == nil && res.Signal != "":
		err = fail.Failed("exit_status", "the command was ended by %s (exit status %d)", res.Signal, res.ExitCode)
	case err == nil && res.ExitCode != 0:
		err = fail.Failed("exit_status", "the command exited with status %d", res.ExitCode)
	}
	out := output(res, err, cell.Label)
	if cell.Plan != nil {
		notes = append(notes, advice.Of(in.Command, string(res.Stderr)+string(res.Stdout), cell.Label, res.ExitCode != 0)...)
	}
	for _, n := range notes {
		out["text"] = out.Text() + "\n[" + n + "]"
	}
	return out, err
}

func parse(input json.RawMessage) (in bashInput, err error) {
	if err := tool.Decode("bash", input, &in); err != nil {
		return in, err
	}
	switch {
	case strings.TrimSpace(in.Command) == "":
		err = tool.Invalid("bash", "the command is empty")
	case strings.ContainsRune(in.Command, 0):
		err = tool.Invalid("bash", "the command has a NUL byte")
	case len(in.Command) > maxCommand:
		err = fail.Limit("command_too_long", "the command has %d bytes, allowed are %d: write it to a file with write_file and run that", len(in.Command), maxCommand)
	}
	return in, err
}

// checkFolder refuses a folder that is not what the gate judged any more. It is
// called name.
func checkFolder(dir, name string) error {
	if !filepath.IsAbs(dir) {
		return tool.Invalid("bash", "the folder %q is not absolute", name)
	}
	real, err := filepath.EvalSymlinks(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fail.NotFound("no_such_folder", "the folder %q does not exist", name)
	case err != nil:
		return fail.Failed("unreadable", "the folder %q can't be entered: %s", name, err).Because(err)
	case real != filepath.Clean(dir):
		return fail.Conflict("path_changed", "the folder %q leads through a symbolic link that was not there when the call was judged", name)
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return fail.Failed("not_a_folder", "%q is not a folder", name)
	}
	return nil
}

// findBash returns the first bash of the given places and of PATH, or "".
// Relative folders in PATH are left out: they would depend on the workspace.
func findBash(places []string, path string) string {
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			places = append(places[:len(places):len(places)], filepath.Join(dir, "bash"))
		}
	}
	for _, p := range places {
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return p
		}
	}
	return ""
}

// output is what a model and a program see of a command.
func output(res proc.Result, err error, label string) wire.Output {
	stdout, stderr := text(res.Stdout), text(res.Stderr)
	var parts []string
	if stdout != "" {
		parts = append(parts, strings.TrimSuffix(stdout, "\n"))
	}
	if stderr != "" {
		parts = append(parts, "[stderr]\n"+strings.TrimSuffix(stderr, "\n"))
	}
	switch {
	case err != nil && fail.As(err).Code != "exit_status":
		parts = append(parts, "["+fail.As(err).Msg+"]")
	case res.ExitCode != 0:
		parts = append(parts, fmt.Sprintf("[exit status %d]", res.ExitCode))
	case len(parts) == 0:
		parts = append(parts, "[exit status 0, no output]")
	}
	if len(res.Left) > 0 {
		parts = append(parts, fmt.Sprintf("[still running, not to be ended: process %s]", strings.Trim(fmt.Sprint(res.Left), "[]")))
	}
	return wire.Output{
		"text": strings.Join(parts, "\n"), "exit_code": res.ExitCode, "stdout": stdout, "stderr": stderr,
		"truncated": res.Truncated, "sandbox": label, "duration_ms": res.Duration.Milliseconds(),
	}
}

// text is b as JSON can carry it. Control characters stay: they are taken out
// where a person sees them.
func text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
