package signals

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
)

// signalChild makes the test binary a process that waits for signals.
const signalChild = "KX_TEST_SIGNAL_CHILD"

// patience is how long a signal may take on a slow machine.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(signalChild) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := Until(context.Background())
	defer stop()
	calledOff := Last(ctx, func() { fmt.Println("never") })
	switch os.Getenv(signalChild) {
	case "last words":
		Last(ctx, func() { fmt.Println("last"); time.Sleep(patience) }) // nobody waits that long
	case "last words, short":
		Last(ctx, func() { fmt.Println("last") })
	}
	if !calledOff() {
		os.Exit(8)
	}
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println(context.Cause(ctx))
	time.Sleep(patience) // for the second signal
	os.Exit(9)
}

// TestSecondSignalKills sends one signal, which ends the context, and another.
func TestSecondSignalKills(t *testing.T) {
	for sig, says := range map[syscall.Signal]string{syscall.SIGINT: "interrupted", syscall.SIGTERM: "terminated"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), signalChild+"=1")
		lines, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"ready", says} {
			var got string
			if _, err := fmt.Fscanln(lines, &got); err != nil || got != want {
				t.Errorf("%v: the child says %q, want %q: %v", sig, got, want, err)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Errorf("%v: %v", sig, err)
			}
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != sig {
			t.Errorf("%v: the child ended with %v", sig, err)
		}
	}
}

// What is registered is done before the second signal kills, and neither it nor a
// third signal is waited for too long.
func TestLast(t *testing.T) {
	for kind, third := range map[string]bool{"last words": true, "last words, short": false} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), signalChild+"="+kind)
		lines, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"ready", "interrupted", "last"} {
			var got string
			if _, err := fmt.Fscanln(lines, &got); err != nil || got != want {
				t.Errorf("%s: the child says %q, want %q: %v", kind, got, want, err)
			}
			if want == "last" && !third {
				break
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
			t.Errorf("%s: the child ended with %v", kind, err)
		}
	}
	if !Last(context.Background(), func() {})() {
		t.Error("without Until something is done")
	}
}

// TestIgnoredSignalStaysIgnored: a shell starts background jobs with SIGINT
// ignored, and ^C must not reach them.
func TestIgnoredSignalStaysIgnored(t *testing.T) {
	cmd := exec.Command("sh", "-c", `trap "" INT; exec "$0"`, os.Args[0])
	cmd.Env = append(os.Environ(), signalChild+"=1")
	lines, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		says string
		send []syscall.Signal
	}{
		{"ready", []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}},
		{"terminated", []syscall.Signal{syscall.SIGKILL}},
	} {
		var got string
		if _, err := fmt.Fscanln(lines, &got); err != nil || got != step.says {
			t.Errorf("the child says %q, want %q: %v", got, step.says, err)
		}
		for _, sig := range step.send {
			if err := cmd.Process.Signal(sig); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
}

func TestNamed(t *testing.T) {
	term := fail.New("terminated", fail.ExitTerminated, "terminated")
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(term)
	hinted := term.WithHint("kx agent resume a3fk")
	other := fail.Denied("denied", "no")
	for _, c := range []struct {
		ctx       context.Context
		err, want error
	}{
		{ended, context.Canceled, term},
		{ended, fmt.Errorf("reading: %w", context.Canceled), term},
		{ended, fail.New("interrupted", fail.ExitInterrupted, "interrupted"), term},
		{ended, hinted, hinted},
		{ended, other, other},
		{ended, nil, nil},
		{context.Background(), context.Canceled, context.Canceled},
	} {
		if got := Named(c.ctx, c.err); got != c.want {
			t.Errorf("Named(%v) = %v, want %v", c.err, got, c.want)
		}
	}
}
