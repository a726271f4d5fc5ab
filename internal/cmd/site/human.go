package site

import (
	"context"
	"crypto/subtle"
	"errors"
	"os"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// Human lets a person decide about the command line, and says who did: question
// is asked on the controlling terminal, unless --key names the approver key.
// Without either, for an answer other than yes, and for whatever runs below a
// tool or an agent, the error exits with 3.
func (s *Site) Human(ctx context.Context, line, question string) (wire.Decider, error) {
	by, err := s.Person(line)
	if err != nil || by.Via != "" {
		return by, err
	}
	way := line + ` --key "$(kx config path approver-key)"`
	if err := s.Attended(line, way); err != nil {
		return by, err
	}
	yes, err := s.app.IO.Confirm(ctx, question)
	switch {
	case errors.Is(err, term.ErrNoTerminal):
		return by, fail.Denied("human_only", "%s is for a person, and there is no terminal to ask on", line).WithHint("%s", way).Because(err)
	case err != nil:
		return by, err
	case !yes:
		return by, fail.Denied("refused", "it was not confirmed: nothing was changed")
	}
	return by, nil
}

// Person refuses what runs below a tool or an agent, and a wrong key. It asks
// nothing: its caller does, see Types.
func (s *Site) Person(line string) (wire.Decider, error) {
	uid := os.Getuid()
	by := wire.Decider{Kind: "human", PID: os.Getpid(), UID: &uid}
	if err := s.belowRoot(line); err != nil {
		return by, err
	}
	if key := s.app.Globals.Key; key != "" {
		by.Via = "key"
		return by, s.checkKey(key)
	}
	return by, nil
}

// Attended refuses whoever wants no questions. way is the command for those.
func (s *Site) Attended(line, way string) error {
	if s.app.Globals.NoInput {
		return fail.Denied("human_only", "%s is for a person, and --no-input forbids asking one", line).WithHint("%s", way)
	}
	return nil
}

// Types asks a person for something that is not shown while it is typed, on the
// controlling terminal.
func (s *Site) Types(ctx context.Context, question string) (string, error) {
	if s.app.Globals.NoInput {
		return "", fail.Denied("human_only", "it has to be typed, and --no-input forbids asking").WithHint("kx secret set --help")
	}
	typed, err := s.app.IO.Hidden(ctx, question)
	switch {
	case errors.Is(err, term.ErrNoTerminal):
		return "", fail.Denied("human_only", "it has to be typed, and there is no terminal to ask on").WithHint("kx secret set --help").Because(err)
	case errors.Is(err, term.ErrLongLine):
		return "", fail.Limit("line_too_long", "%v: give it on the standard input", err).WithHint("kx secret set --help").Because(err)
	}
	return typed, err
}

// checkKey compares the key in file with the approver key.
func (s *Site) checkKey(file string) error {
	path, err := s.Path(file)
	if err != nil {
		return err
	}
	given, err := state.ReadKey(path)
	if err != nil {
		return err
	}
	st, err := s.State()
	if err != nil {
		return err
	}
	key, err := st.ApproverKey()
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(given, key) != 1 {
		return fail.Denied("wrong_key", "%s is not the approver key", file).WithHint("kx config path approver-key")
	}
	return nil
}
