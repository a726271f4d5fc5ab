package site

import (
	"context"
	"encoding/json"

	"github.com/kxtools/kx/internal/host/notify"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/wire"
)

// Ring tells the user of a new request, by the command that the user's
// configuration names. It waits for nothing but the start of it, and a call is
// parked whether somebody hears of it or not.
func (s *Site) Ring(_ context.Context, a *wire.Approval) {
	if err := s.tell(a); err != nil {
		s.app.Log().Debug().Err(err).Msg("the notify command was not started")
	}
}

// Notice is a message of an agent to its operator, as the notify command gets it.
type Notice struct {
	Type    string `json:"type"`
	V       int    `json:"v"`
	Message string `json:"message"`
}

// notify gives the notify command a message.
func (s *Site) notify(text string) error {
	return s.tell(Notice{"notice", wire.Version, text})
}

// tell starts the notify command with a document.
func (s *Site) tell(doc any) error {
	d, err := s.Dirs()
	if err != nil {
		return err
	}
	c, err := config.LoadApprove(d.Config, d.UID) // a project names no command
	if err != nil || c.Notify == "" {
		return err
	}
	raw, err := wire.Marshal(doc)
	if err != nil {
		return err
	}
	// Not the folder of the call, whose files are an agent's.
	return notify.Detach(c.Notify, d.Home, json.RawMessage(s.app.IO.Clean(raw)))
}
