package secret

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/record/secret"
)

// enough is read of a value to see that it is too long.
const enough = secret.MaxValue + 3 // and a line end

// fromInput reads a whole value, but for the line end that echo and editors put
// behind it.
func fromInput(r io.Reader) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(r, enough))
	if err != nil {
		return "", fail.Failed("input", "the standard input can't be read: %v", err).Because(err)
	}
	return withoutEnd(string(raw)), nil
}

func withoutEnd(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r") }

func fromEnv(getenv func(string) string, name string) (string, error) {
	value := getenv(name)
	if value == "" {
		return "", fail.Usage("the variable %.80q is not set, or empty", name).WithHint("kx secret set --help")
	}
	return value, nil
}

// lastWords is how long the output of a command is waited for that has ended: it may
// have left a daemon behind, as gpg does, which holds its output for ever.
const lastWords = time.Second

// head keeps the first bytes of what is written.
type head []byte

func (h *head) Write(b []byte) (int, error) {
	*h = append(*h, b[:min(len(b), enough-len(*h))]...)
	return len(b), nil
}

// fromCmd runs a command of a person's as their shell would, on their terminal, for
// it may have to ask them something. Its first line is the value: what pass, gopass
// and others print behind it is not.
func fromCmd(ctx context.Context, command string, stderr io.Writer) (string, error) {
	var said head
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = paths.Environ(), &said, stderr, lastWords
	err := cmd.Start()
	if err != nil {
		return "", fail.Failed("command", "the command can't be started: %v", err).Because(err)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &exit):
		return "", fail.Failed("command", "the command failed (%v): nothing was changed", exit.ProcessState).Because(err)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return "", fail.Failed("command", "the output of the command can't be read: %v", err).Because(err)
	}
	first, _, _ := strings.Cut(string(said), "\n")
	if first = withoutEnd(first); first == "" {
		return "", fail.Failed("command", "the first line that the command printed is empty: nothing was changed").WithHint("kx secret set --help")
	}
	return first, nil
}
