package shell

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/wire"
)

var vars = map[string]string{"PATH": "/usr/bin:/bin", "HOME": "/home/someone", "GOFLAGS": "-mod=mod", "KX_MODE": "plan", "TOKEN": "t"}

func getenv(k string) string { return vars[k] }

func call(t *testing.T, ctx context.Context, dir string, input map[string]any) (wire.Output, *fail.Error) {
	t.Helper()
	reg, err := tool.NewRegistry(Tools([]string{"GOFLAGS"}, getenv))
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(input)
	raw, err = reg.Get("bash").Check(raw)
	if err != nil {
		return nil, fail.As(err)
	}
	out, err := reg.Get("bash").Run(ctx, &tool.Env{Workspace: dir, Cwd: dir}, raw)
	return out, fail.As(err)
}

func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBash(t *testing.T) {
	dir := folder(t)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		input map[string]any
		text  string
		exit  int
		code  string
	}{
		{"output", map[string]any{"command": "echo hi"}, "hi", 0, ""},
		{"silence", map[string]any{"command": ":"}, "[exit status 0, no output]", 0, ""},
		{"both streams", map[string]any{"command": "echo out; echo err >&2; exit 3"}, "out\n[stderr]\nerr\n[exit status 3]", 3, "exit_status"},
		{"a signal", map[string]any{"command": "kill -9 $$"}, "[exit status 137]", 137, "exit_status"},
		{"a command like an option", map[string]any{"command": "-c 'echo pwned'"}, "[stderr]\n/bin/bash: line 1: -c: command not found\n[exit status 127]", 127, "exit_status"},
		{"the current folder", map[string]any{"command": "pwd"}, dir, 0, ""},
		{"another folder", map[string]any{"command": "pwd", "cwd": dir + "/sub"}, dir + "/sub", 0, ""},
		{"no start-up files, no terminal", map[string]any{"command": "shopt -q login_shell || [ -t 0 ] || cat; echo ${BASHRC-none}"}, "none", 0, ""},
		{"the environment", map[string]any{"command": "env | grep -v -e ^_= -e ^SHLVL -e ^PWD | sort"}, "GOFLAGS=-mod=mod\nHOME=/home/someone\nPATH=/usr/bin:/bin", 0, ""},
		{"raw bytes", map[string]any{"command": `printf 'a\xffb\033[31m'`}, "a\uFFFDb\x1b[31m", 0, ""},
	} {
		out, err := call(t, context.Background(), dir, c.input)
		var code string
		if err != nil {
			code = err.Code
		}
		got := []any{out["text"], out["exit_code"], code, out["sandbox"], out["truncated"]}
		want := []any{c.text, c.exit, c.code, "none", false}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestBashRefuses(t *testing.T) {
	dir := folder(t)
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	witness := filepath.Join(dir, "ran")
	touch := "touch " + witness
	for name, c := range map[string]struct {
		input map[string]any
		exit  int
		code  string
	}{
		"background":      {map[string]any{"command": touch, "background": true}, 2, "invalid_input"},
		"nothing":         {map[string]any{}, 2, "invalid_input"},
		"empty":           {map[string]any{"command": ""}, 2, "invalid_input"},
		"blank":           {map[string]any{"command": " \n\t"}, 2, "invalid_input"},
		"NUL":             {map[string]any{"command": touch + "\x00"}, 2, "invalid_input"},
		"not a string":    {map[string]any{"command": 1}, 2, "invalid_input"},
		"long":            {map[string]any{"command": touch + strings.Repeat(" ", maxCommand)}, 6, "command_too_long"},
		"unknown field":   {map[string]any{"command": touch, "shell": "zsh"}, 2, "invalid_input"},
		"no time":         {map[string]any{"command": touch, "timeout_ms": 0}, 2, "invalid_input"},
		"missing folder":  {map[string]any{"command": touch, "cwd": dir + "/nonesuch"}, 8, "no_such_folder"},
		"file as folder":  {map[string]any{"command": touch, "cwd": dir + "/file"}, 1, "not_a_folder"},
		"folder by link":  {map[string]any{"command": touch, "cwd": dir + "/link"}, 7, "path_changed"},
		"relative folder": {map[string]any{"command": touch, "cwd": "."}, 2, "invalid_input"},
	} {
		_, err := call(t, context.Background(), dir, c.input)
		if err == nil || err.Exit != c.exit || err.Code != c.code {
			t.Errorf("%s: %+v, want %s (%d)", name, err, c.code, c.exit)
		}
	}
	if _, err := os.Stat(witness); err == nil {
		t.Error("a refused command was run")
	}
	_, err := call(t, context.Background(), dir, map[string]any{"command": "true #" + strings.Repeat("x", maxCommand-6)})
	if err != nil {
		t.Errorf("the longest command: %v", err)
	}
}

func TestBashTimesOut(t *testing.T) {
	for name, c := range map[string]struct {
		call, gate time.Duration
	}{
		"its own timeout": {300 * time.Millisecond, time.Minute},
		"the gate's":      {time.Minute, 300 * time.Millisecond},
	} {
		dir := folder(t)
		ctx, cancel := context.WithTimeout(context.Background(), c.gate)
		defer cancel()
		began := time.Now()
		out, err := call(t, ctx, dir, map[string]any{
			"command": "echo begun; sleep 100 & echo $! >pid; wait", "timeout_ms": c.call.Milliseconds(),
		})
		if err == nil || err.Exit != fail.ExitTimeout {
			t.Fatalf("%s: error %v", name, err)
		}
		if !strings.HasPrefix(out.Text(), "begun\n[the command was ended after ") || out["stdout"] != "begun\n" {
			t.Errorf("%s: partial output is %q", name, out.Text())
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		assertDead(t, filepath.Join(dir, "pid"))
	}
}

func TestBashIsInterrupted(t *testing.T) {
	dir := folder(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := syscall.Mkfifo(filepath.Join(dir, "ready"), 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = os.ReadFile(filepath.Join(dir, "ready"))
		cancel()
	}()
	out, err := call(t, ctx, dir, map[string]any{"command": "echo $$ >pid; echo begun; echo >ready; sleep 100"})
	if err == nil || err.Exit != fail.ExitInterrupted || out["stdout"] != "begun\n" {
		t.Errorf("error %v, output %v", err, out)
	}
	assertDead(t, filepath.Join(dir, "pid"))
}

func TestBashLeavesNoJob(t *testing.T) {
	dir := folder(t)
	out, err := call(t, context.Background(), dir, map[string]any{"command": "setsid sleep 100 & echo $! >pid; disown; echo back"})
	if err != nil || out.Text() != "back" {
		t.Errorf("%v, %v", out, err)
	}
	assertDead(t, filepath.Join(dir, "pid"))
}

func assertDead(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("process %d survived: %v", pid, err)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestBashCapsOutput(t *testing.T) {
	out, err := call(t, context.Background(), folder(t), map[string]any{"command": "printf BEGIN; head -c 200000 /dev/zero | tr '\\0' x; printf END"})
	s := out.Text()
	if err != nil || out["truncated"] != true || !strings.HasPrefix(s, "BEGINxxx") || !strings.HasSuffix(s, "xxxEND") {
		t.Errorf("error %v, truncated %v, %q...", err, out["truncated"], s[:20])
	}
	if !strings.Contains(s, "\n[... 134472 bytes left out ...]\n") {
		t.Error("the middle has no mark, or the wrong one")
	}
}

func TestFindBash(t *testing.T) {
	dir := folder(t)
	if err := os.WriteFile(filepath.Join(dir, "bash"), []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := findBash(nil, dir); got != "" {
		t.Errorf("a file that can't be run: %q", got)
	}
	if err := os.Chmod(filepath.Join(dir, "bash"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for path, want := range map[string]string{
		"":                           "",
		".:" + "relative":            "",
		"/nonesuch:" + dir + ":/bin": dir + "/bash",
	} {
		if got := findBash([]string{"/nonesuch/bash"}, path); got != want {
			t.Errorf("PATH %q: %q, want %q", path, got, want)
		}
	}
	b := &bash{find: func() string { return "" }}
	_, err := b.run(context.Background(), &tool.Env{Cwd: dir}, json.RawMessage(`{"command":"true"}`))
	if fail.Exit(err) != fail.ExitUnavailable {
		t.Errorf("without bash: %v", err)
	}
}
