package agentroot

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/lineage"
)

// shells run a line for somebody else, and are not meant then.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "busybox"}

// RegisterClient enters the client that has started this process to ask about a
// call. A person's own shell or terminal is never entered: whatever else is typed
// there would be an agent's.
func (s *Store) RegisterClient(name string) error {
	self, err := lineage.Self()
	if errors.Is(err, lineage.ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	client, err := clientOf(self, lineage.Of, lineage.Args)
	if err != nil || client == nil || s.entered(client) {
		return err
	}
	return s.Register(client.PID, Agent, name)
}

// entered reports whether a process is on record, so that the next call costs less.
func (s *Store) entered(p *lineage.Process) bool {
	r, err := s.read(p.PID)
	if err != nil {
		return false
	}
	boot, err := lineage.Boot()
	return err == nil && r.Boot == boot && r.Start == p.Start
}

// clientOf picks the client among the processes that this one descends from, the
// nearest first; nil if it is a person's.
func clientOf(self lineage.Process, of func(pid int) (lineage.Process, error), args func(pid int) ([]string, error)) (*lineage.Process, error) {
	for child := self; child.Parent > 0; {
		p, err := of(child.Parent)
		if err != nil {
			return nil, err
		}
		if p.Start > child.Start {
			return nil, errors.New("the process that asks has ended")
		}
		words, err := args(p.PID)
		if err != nil {
			return nil, err
		}
		shell := isShell(p)
		switch {
		case shell && runsLine(words):
			child = p
			continue
		case p.PID == 1, p.Session == p.PID && p.TTY != "", shell && !hasOperand(words):
			return nil, nil
		}
		return &p, nil
	}
	return nil, nil
}

func isShell(p lineage.Process) bool {
	return slices.Contains(shells, filepath.Base(p.Exe)) || p.Exe == "" && slices.Contains(shells, p.Name)
}

// runsLine reports whether a shell was started with -c, alone or among other
// letters.
func runsLine(words []string) bool {
	for _, w := range words[1:] {
		if w == "-" || w == "--" || !strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "+") {
			return false
		}
		if !strings.HasPrefix(w, "--") && strings.Contains(w, "c") {
			return true
		}
	}
	return false
}

// hasOperand reports whether a shell runs a file.
func hasOperand(words []string) bool {
	return slices.ContainsFunc(words[1:], func(w string) bool { return w != "" && w[0] != '-' && w[0] != '+' })
}
