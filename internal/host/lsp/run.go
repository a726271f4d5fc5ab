package lsp

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/lineage"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/host"
	"github.com/kxtools/kx/internal/host/lsp/disk"
	"github.com/kxtools/kx/internal/host/lsp/door"
	"github.com/kxtools/kx/internal/host/lsp/service"
	"github.com/kxtools/kx/internal/record/agentroot"
	"github.com/kxtools/kx/internal/record/scratch"
	"github.com/kxtools/kx/internal/record/state"
)

// Idle is how long a host stays without a question. Its servers hold a lot of memory,
// and are warm again in seconds.
const Idle = 10 * time.Minute

// rootPause is between two looks whether the workspace is still there.
const rootPause = 3 * time.Second

// Run is the life of the host of a workspace, see host.Run.
func Run(ctx context.Context, at door.Place, socket, version string, said io.Writer) error {
	return run(ctx, at, socket, version, said, Idle)
}

func run(ctx context.Context, at door.Place, socket, version string, said io.Writer, idle time.Duration) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	f := host.Frame{Name: door.Name(at.Root), State: at.Dirs.State, Socket: socket, Version: version, Idle: idle}
	f.Begin = func(ctx context.Context, st *state.State, log zerolog.Logger) (sock.Handler, func(), error) {
		log.Info().Str("root", at.Root).Msg("begins")
		if err := enter(st); err != nil {
			return nil, nil, err
		}
		h := New(shared(at, st, log), end)
		go h.watch(ctx)
		return h.Handle, h.Close, nil
	}
	return host.Run(ctx, f, said)
}

// watch ends the host when its workspace was moved or deleted: nobody asks it any more,
// and its servers hold a lot of memory.
func (h *Host) watch(ctx context.Context) {
	look := time.NewTicker(rootPause)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if h.shared.Scanner.Gone() {
				h.shared.Log("%v", moved(h.root))
				h.end()
				return
			}
		}
	}
}

// enter enters this process as one below which no person acts: servers may run code of
// the project.
func enter(st *state.State) error {
	if err := agentroot.New(st, time.Now).RegisterSelf(agentroot.Tool, ""); err != nil {
		return fail.Failed("not_recorded", "no server runs before it is on record who runs it: %v", err).Because(err)
	}
	return nil
}

// shared is what the services of a workspace stand on.
func shared(at door.Place, st *state.State, log zerolog.Logger) *service.Shared {
	box := func(setup *door.Setup) *sandbox.Sandbox {
		return &sandbox.Sandbox{
			Dirs: at.Dirs, Scratch: scratch.New(st, time.Now), Boot: lineage.Boot, Passwd: sandbox.Passwd,
			Getenv: func(name string) string {
				if name == "XDG_RUNTIME_DIR" {
					return at.Session
				}
				return door.Get(setup.Env, name)
			},
		}
	}
	walls := box(&door.Setup{})
	return &service.Shared{
		Root: at.Root, Scanner: disk.New(at.Root), Walls: walls.Walls,
		Confine: func(server string, setup *door.Setup, argv []string) (*sandbox.Cell, error) {
			return box(setup).Resident(sandbox.Place{Workspace: at.Root, Hidden: setup.Hidden}, server, argv, at.Root)
		},
		Log: func(format string, args ...any) { log.Info().Msg(fmt.Sprintf(format, args...)) },
	}
}
