package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A command that leaves somebody behind who holds its output is over when it is, and
// when it is interrupted.
func TestCommandThatIsHeld(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	const long = 10 * time.Minute
	held := func(rest string) string {
		return fmt.Sprintf("sleep %d & echo $! > %s; %s", int(long.Seconds()), pid, rest)
	}
	kill := func() {
		raw, err := os.ReadFile(pid)
		if n, bad := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil && bad == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
	defer kill()
	began := time.Now()
	var errs bytes.Buffer
	if got, err := fromCmd(t.Context(), held("echo the value; echo said >&2"), &errs); got != "the value" || err != nil || errs.String() != "said\n" {
		t.Errorf("%q, %v, %q", got, err, &errs)
	}
	kill()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if got, err := fromCmd(ctx, held("wait"), &errs); got != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %q, %v", got, err)
	}
	if took := time.Since(began); took > long/2 {
		t.Errorf("it took %v", took)
	}
}

// Of what a command says no more is kept than a value may have.
func TestCommandThatSaysALot(t *testing.T) {
	for line, want := range map[string]int{"yes | tr -d '\\n' | head -c 9000000": enough, "echo a; yes | head -c 9000000": 1, "printf %70000s x": enough} {
		if got, err := fromCmd(t.Context(), line, &bytes.Buffer{}); len(got) != want || err != nil {
			t.Errorf("%s: %d bytes, %v", line, len(got), err)
		}
	}
}
