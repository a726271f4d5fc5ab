package site

import (
	"errors"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/lineage"
	"github.com/kxtools/kx/internal/record/agentroot"
	"github.com/kxtools/kx/internal/record/state"
)

// enterRoot enters this process as one below which an agent acts, for as long as
// it lives. It comes before the first tool that starts programs.
func (s *Site) enterRoot(st *state.State) error {
	if err := agentroot.New(st, s.app.Now).RegisterSelf(agentroot.Tool, ""); err != nil {
		return fail.Failed("not_recorded", "no tool runs before it is on record who runs it: %v", err).Because(err)
	}
	return nil
}

// EnterClient enters the agent that this process answers, as one below which no
// person acts.
func (s *Site) EnterClient(name string) error {
	s.below = true
	st, err := s.State()
	if err != nil {
		return err
	}
	if err := agentroot.New(st, s.app.Now).RegisterClient(name); err != nil {
		return fail.Failed("not_recorded", "no call is allowed before it is on record who makes it: %v", err).Because(err)
	}
	return nil
}

// belowRoot refuses what is for a person to a process that descends from a tool or
// an agent.
func (s *Site) belowRoot(line string) error {
	st, err := s.Peek()
	if err != nil {
		return err
	}
	self, err := lineage.Self()
	if errors.Is(err, lineage.ErrUnknown) {
		return nil // the terminal and the key are all there is to go by
	}
	var root *agentroot.Root
	if err == nil {
		root, err = agentroot.New(st, s.app.Now).Above(self.PID)
	}
	switch {
	case err != nil:
		return fail.Denied("not_a_person", "%s is for a person, and from whom this process descends can't be read: %v", line, err).Because(err)
	case root != nil:
		return fail.Denied("not_a_person", "%s is for a person, and this process runs below %s", line, root)
	case self.Nested:
		return fail.Denied("not_a_person", "%s is for a person, and this process lives in a pid namespace of its own", line)
	}
	return nil
}
