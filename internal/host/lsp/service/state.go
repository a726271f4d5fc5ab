package service

import (
	"fmt"
	"strings"
	"time"
)

// State says how the server stands.
type State struct {
	Server, Language, Name, Version string
	State                           string // starting, loading, ready, ended, failed, or "" if it was never asked for
	PID                             int
	Memory                          int64
	Open                            int
	Started                         time.Time
	Reason                          string
	Program                         string
}

// State says how the server stands.
func (s *Service) State() State {
	s.mu.Lock()
	s.bury()
	st := State{Server: s.candidates()[0].Name, Language: s.candidates()[0].Language, Name: s.candidates()[0].Name, Reason: s.last}
	r := s.run
	switch {
	case r != nil:
		st.Server, st.Name, st.Version, st.PID, st.Open, st.Started, st.State = r.server.Name, r.Name(), r.Version(), r.PID(), int(r.open.Load()), r.began, "ready"
		st.Program = strings.Join(r.argv, " ")
		if loading, percent, _ := r.Loading(); loading {
			if st.State = "loading"; percent >= 0 {
				st.Reason = fmt.Sprintf("%d %%", percent)
			}
		} else if said := r.Said(); said != "" {
			st.Reason = said
		}
	case s.starting != nil:
		st.State, st.Started = "starting", s.starting.began
	case s.gaveUp() != nil:
		st.State = "failed"
	case s.failure != "":
		st.State, st.Reason = "failed", s.failure
	case s.last != "":
		st.State = "ended"
	}
	s.mu.Unlock()
	if r != nil {
		st.Memory = r.Memory()
	}
	return st
}
