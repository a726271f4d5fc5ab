// Package paths says where things are: the state, config and runtime
// directories, the workspace, sockets, and what a path written by a person or
// a model really names.
//
// Flags come before KX_* variables, those before XDG_*, those before the
// defaults; an empty variable is unset and a relative XDG_* value is ignored.
// Every path that leaves this package is absolute, clean and free of symlinks.
// It and internal/base/term are the only packages that read the environment.
package paths

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
)

// Env is what places are resolved from.
type Env struct {
	Getenv func(string) string
	UID    int
	Cwd    string // absolute

	StateDir  string // --state-dir
	ConfigDir string // --config-dir
	Workspace string // -C
	IgnoreEnv bool   // --ignore-env: no KX_* variable is read
}

// FromProcess returns the Env of this process, without flags.
func FromProcess() (Env, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return Env{}, fail.Usage("the current folder can't be read: %v", err).WithHint("cd ~").Because(err)
	}
	return Env{Getenv: os.Getenv, UID: os.Getuid(), Cwd: cwd}, nil
}

// Get returns the variable name, or "" for a KX_* variable that is ignored.
func (e Env) Get(name string) string {
	if e.Getenv == nil || e.IgnoreEnv && strings.HasPrefix(name, "KX_") {
		return ""
	}
	return e.Getenv(name)
}

// xdg returns an XDG variable, or "" if it is relative.
func (e Env) xdg(name string) string {
	if v := e.Get(name); filepath.IsAbs(v) {
		return v
	}
	return ""
}

// Dirs are the directories of one user's kx.
type Dirs struct {
	UID     int
	Home    string
	State   string
	Config  string
	Runtime string

	// Defaults are where the three would be without flags and KX_* variables,
	// and the fallback of Runtime. They stay protected when others are in use.
	Defaults []string
}

// Dirs resolves the directories. It creates nothing.
func (e Env) Dirs() (Dirs, error) {
	home := e.Get("HOME")
	if !filepath.IsAbs(home) {
		return Dirs{}, fail.Usage("HOME is not set to an absolute path").WithHint("export HOME=/home/you")
	}
	home, err := Canonical("/", home)
	if err != nil {
		return Dirs{}, err
	}
	d := Dirs{UID: e.UID, Home: home}
	state := first(e.xdg("XDG_STATE_HOME"), filepath.Join(home, ".local/state"))
	config := first(e.xdg("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	runtime := fallbackRuntime(e.UID)
	if x := e.xdg("XDG_RUNTIME_DIR"); x != "" {
		runtime = filepath.Join(x, "kx")
	}
	for _, p := range []struct {
		dir       *string
		explicit  string
		byDefault string
	}{
		{&d.State, first(e.StateDir, e.Get("KX_STATE_DIR")), filepath.Join(state, "kx")},
		{&d.Config, first(e.ConfigDir, e.Get("KX_CONFIG_DIR")), filepath.Join(config, "kx")},
		{&d.Runtime, e.Get("KX_RUNTIME_DIR"), runtime},
	} {
		def, err := e.place(p.byDefault, p.dir == &d.Runtime)
		if err != nil {
			return Dirs{}, err
		}
		d.Defaults = append(d.Defaults, def)
		*p.dir = def
		if p.explicit != "" {
			if *p.dir, err = e.place(p.explicit, p.dir == &d.Runtime); err != nil {
				return Dirs{}, err
			}
		}
	}
	fallback, err := e.place(fallbackRuntime(e.UID), true)
	if err != nil {
		return Dirs{}, err
	}
	if fallback != d.Defaults[2] {
		d.Defaults = append(d.Defaults, fallback)
	}
	return d, nil
}

// place makes dir canonical. The last part of the runtime directory is left as
// it is, so that a symlink there is seen and refused later.
func (e Env) place(dir string, keepLast bool) (string, error) {
	if !keepLast {
		return Canonical(e.Cwd, dir)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(e.Cwd, dir)
	}
	dir = filepath.Clean(dir)
	parent, err := Canonical("/", filepath.Dir(dir))
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(dir)), nil
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// fallbackRuntime is the runtime directory where the system gives none (ssh,
// cron, macOS), and the home of sockets whose own path would be too long.
func fallbackRuntime(uid int) string { return "/tmp/kx-" + strconv.Itoa(uid) }

// Environ is the environment of this process, for a program that takes its place.
func Environ() []string { return os.Environ() }
