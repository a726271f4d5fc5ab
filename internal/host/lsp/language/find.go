package language

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/host/lsp/door"
)

// way is how a server is installed, where there is the program for it.
type way struct{ tool, command string }

// Env returns env without the entries of PATH that a project could have filled: those
// in the workspace, and those that are not absolute. Servers start programs, too.
func Env(env []string, workspace string) []string {
	list := slices.Clone(env)
	for i, v := range list {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			list[i] = "PATH=" + strings.Join(safe(value, workspace), string(filepath.ListSeparator))
		}
	}
	return list
}

// safe are the folders of a PATH that are not the project's.
func safe(path, workspace string) (list []string) {
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && !inWorkspace(dir, workspace) {
			list = append(list, dir)
		}
	}
	return list
}

// inWorkspace reports whether a path lies there by its name or by what it leads to.
func inWorkspace(path, workspace string) bool {
	if paths.Inside(workspace, filepath.Clean(path)) {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	return err == nil && paths.Inside(workspace, real)
}

// look finds a program on the PATH of env, or in the place that it names.
func look(env []string, workspace, name string) (string, error) {
	if filepath.IsAbs(name) {
		if !runnable(name) {
			return "", fmt.Errorf("%s is not there, or can't be run", name)
		}
		if inWorkspace(name, workspace) {
			return "", fmt.Errorf("%s lies in the workspace, which does not choose programs", name)
		}
		return name, nil
	}
	var refused error
	for _, dir := range filepath.SplitList(door.Get(env, "PATH")) {
		path := filepath.Join(dir, name)
		switch {
		case !filepath.IsAbs(dir) || !runnable(path):
		case inWorkspace(dir, workspace) || inWorkspace(path, workspace):
			refused = fmt.Errorf("%s lies in the workspace, which does not choose programs", path)
		default:
			return path, nil
		}
	}
	if refused != nil {
		return "", refused
	}
	return "", fmt.Errorf("%s is not on PATH", name)
}

func isFile(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

func runnable(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode().Perm()&0o111 != 0
}

// Find returns how the server is started, with the absolute path of its program. The
// error says in a few words why it can't be.
func (s *Server) Find(env []string, workspace string) (argv []string, err error) {
	program, err := look(env, workspace, s.Argv[0])
	if err != nil {
		return nil, err
	}
	if s.Proof != nil {
		if err := s.Proof(program); err != nil {
			return nil, err
		}
	}
	if _, err := s.missing(env, workspace); err != nil {
		return nil, err
	}
	return append([]string{program}, s.Argv[1:]...), nil
}

// need is a program that a server starts.
type need struct {
	program string
	ways    []way
}

// missing returns the first program that it needs and that is not there.
func (s *Server) missing(env []string, workspace string) (*need, error) {
	for _, n := range s.Needs {
		if _, err := look(env, workspace, n.program); err != nil {
			return &n, fmt.Errorf("%s needs %s: %w", s.Name, n.program, err)
		}
	}
	return nil, nil
}

// Install is the command that installs the server with what is on the PATH of env, ""
// if kx knows none.
func (s *Server) Install(env []string) string {
	ways := s.ways
	if _, err := look(env, "", s.Argv[0]); err == nil {
		if n, _ := s.missing(env, ""); n != nil {
			ways = n.ways
		}
	}
	for _, w := range ways {
		if _, err := look(env, "", w.tool); err == nil {
			return w.command
		}
	}
	if len(ways) == 0 {
		return ""
	}
	return ways[0].command
}

// Advice says why each server of a language can't be started, and the one command
// that mends it. why is empty if one was found.
func Advice(l *Language, env []string, workspace string) (why, install string) {
	var reasons []string
	for _, s := range l.Servers {
		_, err := s.Find(env, workspace)
		if err == nil {
			return "", ""
		}
		reasons = append(reasons, err.Error())
		if install == "" {
			install = s.Install(env)
		}
	}
	return strings.Join(reasons, "; "), install
}

// Missing is the error where no server of a language can be started.
func Missing(l *Language) *fail.Error {
	return fail.Unavailable("no_server", "no language server for %s on this machine", l.Title).WithHint("kx lsp doctor %s", l.Name)
}

// MayRun says why a server may not run here: one that runs code of the project needs
// a trust that covers it, and without full walls that is what any of them could do.
func MayRun(s *Server, code bool, walls sandbox.Walls) error {
	switch {
	case code:
		return nil
	case s.RunsCode:
		return fail.Unavailable("untrusted", "%s runs code of the project, which is not trusted that far", s.Name).WithHint("kx trust add --level code")
	case walls.Kind != jail.Full:
		return fail.Unavailable("no_walls", "%s can't be walled in on this machine, and the project is not trusted to run code", s.Name).WithHint("kx trust add --level code")
	}
	return nil
}

// maxPackage bounds a package.json: those of TypeScript have 3 KiB.
const maxPackage = 1 << 20

// packageOf returns the name and the version of the npm package that has a program;
// nothing where it is none, or one that starts another.
func packageOf(program string) (dir, name, version string) {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return "", "", ""
	}
	for dir = filepath.Dir(real); ; dir = filepath.Dir(dir) {
		raw, _, err := fsx.ReadRegular(filepath.Join(dir, "package.json"), maxPackage)
		var p struct{ Name, Version string }
		if err == nil && json.Unmarshal(raw, &p) == nil && p.Name != "" {
			return dir, p.Name, p.Version
		}
		if dir == filepath.Dir(dir) {
			return "", "", ""
		}
	}
}

// Called returns the name and the version of the npm package that a program is of;
// nothing of another program.
func Called(program string) (called [2]string) {
	if dir, name, version := packageOf(program); strings.Contains(dir, "/node_modules/") {
		called = [2]string{name, version}
	}
	return called
}

// firstNative is the first version of TypeScript whose compiler is a language server.
const firstNative = 7

// nativeTypeScript refuses a tsc that is too old; one that a version manager puts on
// PATH shows it when it is started.
func nativeTypeScript(program string) error {
	if _, name, version := packageOf(program); name == "typescript" && major(version) < firstNative {
		return fmt.Errorf("tsc is %s, and a language server from %d on", version, firstNative)
	}
	return nil
}

func major(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(first)
	return n
}

// hasTypeScript refuses a typescript-language-server that has no TypeScript of its
// own: it would take the project's.
func hasTypeScript(program string) error {
	if tsserver(program) == "" {
		return errors.New("typescript-language-server has no typescript older than 7 beside it")
	}
	return nil
}

// tsserver is the program that typescript-language-server starts: of the TypeScript
// that is installed with it.
func tsserver(program string) string {
	dir, _, _ := packageOf(program)
	if dir == "" {
		return ""
	}
	for _, place := range []string{filepath.Join(dir, "node_modules"), filepath.Dir(dir)} {
		if path := filepath.Join(place, "typescript", "lib", "tsserver.js"); isFile(path) {
			return path
		}
	}
	return ""
}

// ownTypeScript names the TypeScript that is used; without it that of the project is.
// While the project loads a second one, for syntax, would answer from single files.
func ownTypeScript(at Start) any {
	return map[string]any{
		"tsserver":                          map[string]any{"path": tsserver(at.Argv[0]), "useClientFileWatcher": true, "useSyntaxServer": "never"},
		"disableAutomaticTypingAcquisition": true, // there is no network
	}
}
