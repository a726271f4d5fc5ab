package site

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/host"
	"github.com/kxtools/kx/internal/host/lsp/door"
	"github.com/kxtools/kx/internal/record/resident"
	"github.com/kxtools/kx/internal/record/trust"
	"github.com/kxtools/kx/pkg/socket"
	"github.com/kxtools/kx/pkg/wire"
)

// AskCode asks the language host of a workspace about code, starting it if need be.
func (s *Site) AskCode(ctx context.Context, env *tool.Env, verb string, q wire.CodeQuery) (*wire.CodeAnswer, error) {
	raw, err := wire.Marshal(q)
	if err != nil {
		return nil, err
	}
	args := door.Args{Query: raw, Setup: s.languageSetup(env.Standing)}
	var a wire.CodeAnswer
	return &a, twice(func() error { return s.askHost(ctx, env.Workspace, verb, args, &a) })
}

// twice asks a host, and the next one if that has just ended, as one whose workspace was
// replaced does.
func twice(ask func() error) error {
	err := ask()
	var e *socket.Error
	if errors.Is(err, socket.ErrClosed) || errors.As(err, &e) && e.Code == door.Moved {
		err = ask()
	}
	return host.Failure("the language host", err)
}

func (s *Site) askHost(ctx context.Context, root, verb string, args door.Args, a *wire.CodeAnswer) error {
	c, err := s.languageHost(ctx, root)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Ask(ctx, verb, args, a)
}

// languageHost connects to the language host of a workspace.
func (s *Site) languageHost(ctx context.Context, root string) (*socket.Client, error) {
	d, err := s.Dirs()
	if err != nil {
		return nil, err
	}
	at, err := wire.Marshal(door.Place{Root: root, Dirs: d, Session: s.app.Getenv("XDG_RUNTIME_DIR")})
	if err != nil {
		return nil, err
	}
	return s.Dial(ctx, door.Name(root), "host", "lsp", "--place", string(at))
}

// languageSetup is what language servers may see and do.
func (s *Site) languageSetup(at tool.Standing) door.Setup {
	return door.Setup{Env: proc.Env(slices.Concat(door.Places, at.Config.Sandbox.Env), s.app.Getenv), Hidden: at.Hidden(), Code: at.Code, Servers: at.Config.LanguageServers}
}

// LanguageHost asks the language host of this workspace what it knows of servers: of
// that of one language, or with "" of all. Where none runs it is started, or, without
// start, nothing (nil) is known.
func (s *Site) LanguageHost(ctx context.Context, verb, language string, start bool) ([]json.RawMessage, error) {
	o, err := s.judging()
	if err != nil {
		return nil, err
	}
	if o.State, err = s.Peek(); err != nil {
		return nil, err
	}
	var list []json.RawMessage
	err = twice(func() (err error) {
		list, err = s.askServers(ctx, o, verb, language, start)
		return err
	})
	return list, err
}

func (s *Site) askServers(ctx context.Context, o judge.Options, verb, language string, start bool) ([]json.RawMessage, error) {
	c, err := s.reachLanguageHost(ctx, o.Workspace, start)
	if c == nil || err != nil {
		return nil, err
	}
	defer c.Close()
	j, err := judge.Open(o)
	if err != nil {
		return nil, err
	}
	standing := tool.Standing{
		Config: j.Config, Code: j.Trust.Level == trust.LevelCode,
		Hidden: func() []string { return j.Place("").Hidden },
	}
	query, err := wire.Marshal(wire.CodeQuery{Name: language})
	if err != nil {
		return nil, err
	}
	list := []json.RawMessage{}
	err = c.Do(ctx, verb, door.Args{Query: query, Setup: s.languageSetup(standing)}, func(doc json.RawMessage) (bool, error) {
		var kind struct{ Type string }
		if err := json.Unmarshal(doc, &kind); err != nil {
			return false, err
		}
		if kind.Type == "end" {
			return false, nil
		}
		list = append(list, doc)
		return true, nil
	})
	return list, err
}

// reachLanguageHost connects to a host; nil if none runs and none shall be started.
func (s *Site) reachLanguageHost(ctx context.Context, root string, start bool) (*socket.Client, error) {
	if !start {
		d, err := s.Dirs()
		if err != nil {
			return nil, err
		}
		if _, path, held := resident.Read(resident.Lock(d.State, door.Name(root))); !held || path == "" {
			return nil, nil
		}
	}
	return s.languageHost(ctx, root)
}
