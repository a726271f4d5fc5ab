// Package fsxtest lets a test run itself again in a child process: to be
// killed at any moment, or to meet a full disk. The tests of the packages that
// keep durable records use it.
package fsxtest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// childVar tells a test that it runs in a child process, and what to do there.
const childVar = "KX_TEST_CHILD"

// Child returns what the parent told this process to do; ok is false in the
// parent.
func Child() (task string, ok bool) {
	return os.LookupEnv(childVar)
}

// Command runs the current test again, in a process where Child returns task.
func Command(t *testing.T, task string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), childVar+"="+task)
	cmd.Stderr = os.Stderr
	return cmd
}

// Together runs the current test again in n processes at the same time, and
// fails it if one of them fails.
func Together(t *testing.T, task string, n int) {
	t.Helper()
	var wait []func() error
	for range n {
		cmd := Command(t, task)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wait = append(wait, cmd.Wait)
	}
	for _, w := range wait {
		if err := w(); err != nil {
			t.Fatal(err)
		}
	}
}

// Say acknowledges something to the parent by a line on stdout.
func Say(line string) { io.WriteString(os.Stdout, line+"\n") }

// Wait waits in a child for its end. Without a timer Go would take that for a
// deadlock.
func Wait() {
	for {
		time.Sleep(time.Hour)
	}
}

// KillAfter starts the child, kills it with SIGKILL as soon as it has said n
// lines, and returns all the lines it said. It fails the test if the child ends
// by itself.
func KillAfter(t *testing.T, task string, n int) []string {
	t.Helper()
	cmd := Command(t, task)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		said = append(said, lines.Text())
		if len(said) == n {
			cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); cmd.ProcessState.Exited() {
		t.Fatalf("the child ended by itself: %v, after saying %q", err, said)
	}
	return said
}
