package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/rules"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/host"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/internal/record/secret"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/internal/record/trust"
	"github.com/kxtools/kx/pkg/policy"
)

// checks makes all checks, in the order in which one needs the other.
func checks(a *app.App) []Row {
	s := site.Of(a)
	d, err := s.Dirs()
	if err != nil {
		return []Row{broken("directories", err)}
	}
	rows := []Row{stateDir(d), configDir(d), runtimeDir(d)}
	ws, err := s.Workspace()
	if err != nil {
		rows = append(rows, broken("workspace", err))
	} else {
		rows = append(rows, workspace(ws, d))
	}
	var status trust.Status
	if st, err := s.Peek(); err == nil && ws != "" {
		if status, err = trust.New(st, a.Now).Get(ws); err != nil {
			rows = append(rows, broken("trust", err))
		} else {
			rows = append(rows, trusted(status))
		}
	}
	rows = append(rows, secrets(s))
	c, err := config.Load(d, ws, status.Copies)
	if err != nil {
		rows = append(rows, broken("config", err))
	} else {
		rows = append(rows, row("config", OK, "valid", ""), policies(c))
	}
	kxd, err := host.Kxd(a.Getenv("KX_KXD"), []string{ws})
	if err != nil {
		rows = append(rows, broken("kxd", err))
	} else {
		rows = append(rows, row("kxd", OK, kxd, ""))
	}
	rows = append(rows,
		program("rg", "grep_search searches by itself, more slowly", "apt install ripgrep"),
		program("git", "nothing that asks git works", "apt install git"))
	return append(rows, enforced(s, c)...)
}

func stateDir(d paths.Dirs) Row {
	if _, err := state.Peek(d.State); err != nil {
		return broken("state", err)
	}
	fi, err := os.Stat(d.State)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return row("state", OK, d.State+", made when it is needed", "")
	case err != nil:
		return row("state", Broken, fmt.Sprintf("%s: %v", d.State, fsx.Reason(err)), "ls -ld "+d.State)
	case fi.Mode().Perm()&0o077 != 0:
		return row("state", Warn, fmt.Sprintf("%s can be read by others (mode %04o)", d.State, fi.Mode().Perm()), "chmod 700 "+d.State)
	}
	return row("state", OK, d.State, "")
}

func configDir(d paths.Dirs) Row {
	fi, err := os.Stat(d.Config)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return row("config dir", OK, d.Config+", not there: everything is built-in", "")
	case err != nil:
		return row("config dir", Broken, fmt.Sprintf("%s: %v", d.Config, fsx.Reason(err)), "ls -ld "+d.Config)
	case fi.Mode().Perm()&0o022 != 0:
		return row("config dir", Warn, fmt.Sprintf("%s can be written by others (mode %04o)", d.Config, fi.Mode().Perm()), "chmod go-w "+d.Config)
	}
	return row("config dir", OK, d.Config, "")
}

func runtimeDir(d paths.Dirs) Row {
	if _, err := os.Lstat(d.Runtime); errors.Is(err, fs.ErrNotExist) {
		return row("runtime", OK, d.Runtime+", made when it is needed", "")
	}
	if err := paths.EnsurePrivate(d.Runtime, d.UID); err != nil {
		return broken("runtime", err)
	}
	return row("runtime", OK, d.Runtime, "")
}

func workspace(ws string, d paths.Dirs) Row {
	if why := d.TooWide(ws); why != "" {
		return row("workspace", Warn, fmt.Sprintf("%s: no tool runs here, %s", ws, why), "kx -C DIR ...")
	}
	return row("workspace", OK, ws, "")
}

func trusted(st trust.Status) Row {
	var names []string
	for _, c := range st.Changed {
		names = append(names, strings.TrimSpace(c.File+" "+c.Problem))
	}
	list := strings.Join(names, ", ")
	switch {
	case st.Problem != "":
		return row("trust", Broken, st.Problem, "kx trust add")
	case st.Trusted && len(names) > 0:
		return row("trust", Warn, "level "+st.Level+", changed since: "+list, "kx trust add")
	case st.Trusted:
		return row("trust", OK, "level "+st.Level, "")
	case len(names) > 0:
		return row("trust", Warn, "not trusted, so these do not speak: "+list, "kx trust add")
	}
	return row("trust", OK, "nothing to trust", "")
}

func secrets(s *site.Site) Row {
	st, err := s.Peek()
	if err != nil {
		return broken("secrets", err)
	}
	store := secret.New(st)
	all, err := store.List()
	if err != nil {
		return broken("secrets", err)
	}
	locked, err := store.Locked()
	if err == nil {
		_, err = secret.Redactor(st) // which reads each
	}
	of := map[string]int{}
	for _, in := range all {
		of[in.State]++
	}
	switch {
	case err != nil:
		return broken("secrets", err)
	case locked:
		return row("secrets", Warn, fmt.Sprintf("%d set, behind a passphrase: a kx that was not given it can't take them out of what it prints and records", of[secret.Set]), "man kx-secret-set")
	case len(all) == 0:
		return row("secrets", OK, "none", "")
	}
	return row("secrets", OK, fmt.Sprintf("%d set, %d revoked", of[secret.Set], of[secret.Revoked]), "")
}

func policies(c *config.Config) Row {
	in, err := rules.Load(c)
	if err != nil {
		return broken("policy", err)
	}
	of := map[policy.Scope]int{}
	for _, r := range in.Set.Rules() {
		of[r.Scope]++
	}
	return row("policy", OK, fmt.Sprintf("%d rules of the user's, %d of the project's, %d built-in",
		of[policy.User], of[policy.Project], of[policy.Builtin]), "")
}

func program(name, without, install string) Row {
	path, err := exec.LookPath(name)
	if err != nil {
		return row(name, Missing, without, install)
	}
	return row(name, OK, path, "")
}

// enforced says what stands between programs and the machine, and what does not.
func enforced(s *site.Site, c *config.Config) []Row {
	w, err := s.Walls()
	if err != nil {
		return []Row{broken("sandbox", err)}
	}
	rows := []Row{walls(w, c)}
	switch {
	case w.Landlock == 0:
		rows = append(rows, row("landlock", Missing, "this kernel has none, or it is switched off: with a network, programs reach abstract sockets (X11, D-Bus)", "man kx-sandbox"))
	case w.Landlock < jail.ABIScopes:
		rows = append(rows, row("landlock", Warn, fmt.Sprintf("ABI %d: files, but neither abstract sockets nor signals", w.Landlock), "man kx-sandbox"))
	case w.Landlock < jail.ABISockets:
		rows = append(rows, row("landlock", OK, fmt.Sprintf("ABI %d: files, abstract sockets, signals; a socket that is made during a call can be reached by its name (ABI %d)", w.Landlock, jail.ABISockets), ""))
	default:
		rows = append(rows, row("landlock", OK, fmt.Sprintf("ABI %d: files, sockets, signals", w.Landlock), ""))
	}
	if w.Kind != jail.Full {
		return rows
	}
	if !w.OwnProc {
		rows = append(rows, row("sandbox /proc", Warn, "a part of /proc is covered here, as in containers: programs see which others run, and their command lines", "man kx-sandbox"))
	}
	if !w.Layers {
		rows = append(rows, row("sandbox caches", Warn, "nothing can be laid over the caches of your home: programs begin with empty ones", "man kx-sandbox"))
	}
	return rows
}

func walls(w sandbox.Walls, c *config.Config) Row {
	opened := c != nil && c.Experimental.UnsandboxedBash
	switch {
	case w.Kind == jail.Full:
		return row("sandbox", OK, "namespaces of user, mounts, processes and ipc", "")
	case opened:
		return row("sandbox", Warn, "incomplete, and experimental.unsandboxed_bash lets bash run without asking: "+w.Why, "kx config show")
	case w.Kind == jail.Landlock:
		return row("sandbox", Warn, "Landlock only, so bash asks every time, and programs may outlive a call, reach sockets by their names, and change modes and times of files: "+w.Why, w.Hint)
	}
	return row("sandbox", Warn, "none, so bash asks every time and nothing holds what you allow: "+w.Why, w.Hint)
}
