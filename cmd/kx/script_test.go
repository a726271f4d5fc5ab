package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/kxdmain"
	"github.com/kxtools/kx/internal/host/lsp/faketest"
)

// scripts is the folder of the black-box scripts, a folder a noun.
const scripts = "../../testdata/script"

// TestMain makes programs of the test binary. They lie in one folder, so that
// kx finds kxd beside itself as it does when installed.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"kx": main,
		"kxd": func() {
			os.Exit(kxdmain.Main(context.Background(), os.Args[1:], term.System(), os.Getenv, version))
		},
		"resident":  resident,
		"rogue":     rogue,
		"fakemodel": fakeModel,
		"fakelsp":   func() { os.Exit(faketest.Main()) },
		"without":   without,
	})
}

// TestScripts runs every script that it finds.
func TestScripts(t *testing.T) {
	folders := map[string]bool{}
	err := filepath.WalkDir(scripts, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".txtar" {
			folders[filepath.Dir(path)] = true
		}
		return err
	})
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d folders of scripts, %v", len(folders), err)
	}
	for dir := range folders {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Dir:                 dir,
				RequireExplicitExec: true,
				RequireUniqueNames:  true,
				UpdateScripts:       os.Getenv("KX_UPDATE") != "",
				Setup:               setup,
				Condition:           condition,
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"exits": exits,
					"jq":    jq,
					"tame":  tame,
				},
			})
		})
	}
}

// setup gives a script a home of its own, with nothing of the machine in it.
func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	runtime, err := os.MkdirTemp("", "kx") // short: a socket's name has 100 bytes
	if err != nil {
		return err
	}
	env.Defer(func() {
		locks, _ := filepath.Glob(filepath.Join(home, ".local/state/kx/hosts/*.lock"))
		for _, lock := range append(locks, filepath.Join(home, ".local/state/kx/approvals/host.lock")) {
			endHost(lock, home)
		}
		os.RemoveAll(runtime)
	})
	servers, err := filepath.Abs("../../bin/servers") // by make servers
	if err != nil {
		return err
	}
	for k, v := range map[string]string{
		"HOME":                home,
		"SERVERS":             servers,
		"XDG_STATE_HOME":      filepath.Join(home, ".local/state"),
		"XDG_CONFIG_HOME":     filepath.Join(home, ".config"),
		"XDG_CACHE_HOME":      filepath.Join(home, ".cache"),
		"XDG_DATA_HOME":       filepath.Join(home, ".local/share"),
		"XDG_RUNTIME_DIR":     runtime,
		"GIT_CONFIG_GLOBAL":   filepath.Join(home, ".gitconfig"),
		"GIT_CONFIG_NOSYSTEM": "1",
		"GOFLAGS":             "",
		"LC_ALL":              "C.UTF-8",
		"TERM":                "xterm",
	} {
		env.Setenv(k, v)
	}
	return nil
}

// endHost ends a resident that a script started; it would end by itself
// when nobody has used it for a while. Its lock names it, its line says whose
// it is.
func endHost(lock, home string) {
	b, err := os.ReadFile(lock)
	if err != nil {
		return
	}
	pid, _, _ := strings.Cut(string(b), " ")
	n, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil || n <= 1 {
		return
	}
	line, err := exec.Command("ps", "-o", "args=", "-p", strconv.Itoa(n)).Output()
	if p, found := os.FindProcess(n); err == nil && found == nil && bytes.Contains(line, []byte(home)) {
		_ = p.Signal(syscall.SIGTERM)
	}
}

// condition knows what the machine can do. [userns]: a script may be root of a
// user namespace, to have a small disk of its own. Where that fails, it must be
// the kernel that forbids it.
func condition(name string) (bool, error) {
	if name != "userns" {
		return false, fmt.Errorf("there is no condition [%s]", name)
	}
	b, err := exec.Command("unshare", "-Urm", "true").CombinedOutput()
	if err == nil || runtime.GOOS != "linux" {
		return err == nil, nil
	}
	for file, off := range map[string]string{
		"kernel/unprivileged_userns_clone": "0", "kernel/apparmor_restrict_unprivileged_userns": "1",
		"user/max_user_namespaces": "0", "user/max_mnt_namespaces": "0",
	} {
		if v, err := os.ReadFile(filepath.Join("/proc/sys", file)); err == nil && strings.TrimSpace(string(v)) == off {
			return false, nil
		}
	}
	return false, fmt.Errorf("no user namespace: %v: %s", err, b)
}

// exits N CMD... runs a command and expects the exit status N.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N CMD [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	got := 0
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%s exits with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// jq [-s] EXPR FILE expects jq to find EXPR true of the documents in the file,
// which may be stdout or stderr; "! jq" expects it to be false.
func jq(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] jq [-s] EXPR FILE")
	}
	doc := ts.ReadFile(args[len(args)-1])
	cmd := exec.Command("jq", append([]string{"-e"}, args[:len(args)-1]...)...)
	cmd.Stdin = strings.NewReader(doc)
	var shown bytes.Buffer
	cmd.Stdout, cmd.Stderr = &shown, &shown
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 1) {
		ts.Fatalf("jq %q: %v\n%s\nof\n%s", args, err, &shown, doc)
	}
	if (err == nil) == neg {
		ts.Fatalf("%s is %s of\n%s", args[len(args)-2], map[bool]string{true: "true", false: "not true"}[neg], doc)
	}
}

// wild is what steers a terminal or hides from the eye.
var wild = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{ad}\x{61c}\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2060}-\x{206f}\x{fe00}-\x{fe0f}\x{feff}\x{e0000}-\x{e0fff}]`)

// tame SHOWN expects that the last command printed nothing wild, and that SHOWN,
// a regular expression, is somewhere in what it printed.
func tame(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tame SHOWN")
	}
	all := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	if at := wild.FindStringIndex(all); at != nil {
		ts.Fatalf("%+q is printed as it is in\n%+q", all[at[0]:at[1]], all)
	}
	if !utf8.ValidString(all) {
		ts.Fatalf("what is printed is no UTF-8:\n%+q", all)
	}
	if !regexp.MustCompile(args[0]).MatchString(all) {
		ts.Fatalf("%s is not in what is printed:\n%+q", args[0], all)
	}
}
