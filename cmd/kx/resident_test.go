package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"github.com/kxtools/kx/internal/base/signals"
	"github.com/kxtools/kx/internal/base/sock"
	frame "github.com/kxtools/kx/internal/host"
	"github.com/kxtools/kx/internal/record/state"
)

// resident NAME is a resident that does nothing.
func resident() {
	ctx, stop := signals.Until(context.Background())
	defer stop()
	err := frame.Run(ctx, frame.Frame{
		Name: os.Args[1], Version: "1.2.3", Idle: time.Minute,
		State:  filepath.Join(os.Getenv("XDG_STATE_HOME"), "kx"),
		Socket: filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "kx", os.Args[1]+".sock"),
		Begin: func(context.Context, *state.State, zerolog.Logger) (sock.Handler, func(), error) {
			return func(context.Context, *sock.Request, func(any) error) (any, error) { return nil, nil }, nil, nil
		},
	}, os.Stdout)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
