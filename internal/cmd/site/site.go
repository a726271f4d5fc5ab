// Package site is where a command stands: the user's directories, the
// workspace, and the records and the configuration in them. Each is opened when
// a command first asks for it, and once.
//
// It also knows how a person is asked: on the terminal, or by the approver key.
package site

import (
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/internal/record/trust"
)

// Site is where one command stands.
type Site struct {
	app   *app.App
	dirs  *paths.Dirs
	below bool // an agent has started this process to ask about a call
}

// Of returns the site of a command. It opens nothing.
func Of(a *app.App) *Site { return &Site{app: a} }

func (s *Site) env() (paths.Env, error) {
	e, err := paths.FromProcess()
	g := s.app.Globals
	e.Getenv, e.IgnoreEnv = s.app.Getenv, g.IgnoreEnv
	e.StateDir, e.ConfigDir, e.Workspace = g.StateDir, g.ConfigDir, g.Dir
	return e, err
}

// Dirs are the user's directories.
func (s *Site) Dirs() (paths.Dirs, error) {
	if s.dirs == nil {
		e, err := s.env()
		if err != nil {
			return paths.Dirs{}, err
		}
		d, err := e.Dirs()
		if err != nil {
			return paths.Dirs{}, err
		}
		s.dirs = &d
	}
	return *s.dirs, nil
}

// Workspace is the root that the command works in.
func (s *Site) Workspace() (string, error) {
	e, err := s.env()
	if err != nil {
		return "", err
	}
	d, err := s.Dirs()
	if err != nil {
		return "", err
	}
	return e.Root(d)
}

// Path makes canonical what a person typed as a path.
func (s *Site) Path(typed string) (string, error) {
	e, err := s.env()
	if err != nil {
		return "", err
	}
	return paths.Canonical(e.Cwd, typed)
}

// State opens the state directory and makes it if need be. All commands of a
// process share it, and what is kept with it.
func (s *Site) State() (*state.State, error) {
	d, err := s.Dirs()
	if err != nil {
		return nil, err
	}
	if st := s.app.State; st != nil && st.Dir() == d.State {
		return st, nil
	}
	st, err := state.Open(d.State)
	if err != nil {
		return nil, err
	}
	s.app.State = st
	return st, nil
}

// Peek opens the state directory for a command that changes nothing.
func (s *Site) Peek() (*state.State, error) {
	d, err := s.Dirs()
	if err != nil {
		return nil, err
	}
	if st := s.app.State; st != nil && st.Dir() == d.State {
		return st, nil
	}
	return state.Peek(d.State)
}

// Approving reads how the user answers requests.
func (s *Site) Approving() (config.Approve, error) {
	d, err := s.Dirs()
	if err != nil {
		return config.Approve{}, err
	}
	return config.LoadApprove(d.Config, d.UID)
}

// Config reads the configuration in force in a workspace. A record of trust
// that is damaged is an error: what it said may have been a deny.
func (s *Site) Config(workspace string) (*config.Config, error) {
	d, err := s.Dirs()
	if err != nil {
		return nil, err
	}
	records, err := s.Peek()
	if err != nil {
		return nil, err
	}
	st, err := trust.New(records, s.app.Now).Get(workspace)
	if err != nil {
		return nil, err
	}
	if st.Problem != "" {
		return nil, fail.Config("%s", st.Problem).WithHint("kx trust add")
	}
	return config.Load(d, workspace, st.Copies)
}
