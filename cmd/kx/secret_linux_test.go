package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kxtools/kx/internal/record/secret"
	"github.com/kxtools/kx/internal/record/state"
)

// secrets opens those of the house, as a process of its own.
func (c *house) secrets() *secret.Store {
	c.Helper()
	st, err := state.Open(c.state)
	if err != nil {
		c.Fatal(err)
	}
	return secret.New(st)
}

// Whoever sets or revokes a secret may die at any step: the slot then has what it
// had, or what it was to have, and the next one goes on.
func TestSecretCrash(t *testing.T) {
	c := newHouse(t, built(t))
	const slot, old, fresh = "model.anthropic.work", "the old value", "the new value"
	c.calm("config", "path", "approver-key")
	set := func(point, value string) int {
		cmd := c.command(point, "secret", "set", slot, "--key", c.key)
		cmd.Stdin = strings.NewReader(value)
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode()
	}
	for _, point := range []string{"identity.before", "identity.after"} {
		if err := os.RemoveAll(filepath.Join(c.state, "secrets")); err != nil {
			t.Fatal(err)
		}
		if exit := set(point, old); exit != killed {
			t.Fatalf("%s: exit %d", point, exit)
		}
		c.calm("secret", "list")
		if exit := set("", old); exit != 0 {
			t.Fatalf("after %s: exit %d", point, exit)
		}
		if got, err := c.secrets().Get(slot); got != old || err != nil {
			t.Errorf("after %s: %q %v", point, got, err)
		}
	}
	for point, want := range map[string]string{"secret.before": old, "secret.after": fresh} {
		if exit := set("", old) + set(point, fresh); exit != killed {
			t.Fatalf("%s: exit %d", point, exit)
		}
		if got, err := c.secrets().Get(slot); got != want || err != nil {
			t.Errorf("after %s: %q %v, want %q", point, got, err, want)
		}
	}
	for point, want := range map[string]string{"secret.before": secret.Set, "secret.after": secret.Revoked} {
		set("", old)
		if err := c.command(point, "secret", "rm", slot, "--key", c.key).Run(); err == nil {
			t.Fatalf("%s was not met", point)
		}
		if in, err := c.secrets().Info(slot); in.State != want || err != nil {
			t.Errorf("after %s: %+v %v", point, in, err)
		}
	}
	c.calm("audit", "verify")
}

// line is what kx shows, and what is typed then.
type line struct{ shown, typed string }

// talk runs kx on a terminal. It returns the exit status, what was shown, and
// whether the terminal shows again what is typed.
func (c *house) talk(talk []line, args ...string) (exit int, shown string, echo bool) {
	c.Helper()
	master, slave := pty(c.T)
	if _, err := master.WriteString("typed too early\ny\n"); err != nil {
		c.Fatal(err)
	}
	there := []unix.PollFd{{Fd: int32(slave.Fd()), Events: unix.POLLIN}}
	if n, err := unix.Poll(there, 10_000); n != 1 || err != nil {
		c.Fatalf("what was typed does not come: %d, %v", n, err)
	}
	cmd := c.command("", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		_, _ = slave.WriteString("\x00") // all before it was shown
	}()
	var all bytes.Buffer
	for b, from := make([]byte, 4096), 0; !bytes.HasSuffix(all.Bytes(), []byte{0}); {
		n, err := master.Read(b)
		if err != nil {
			c.Fatal(err)
		}
		all.Write(b[:n])
		if len(talk) > 0 && bytes.Contains(all.Bytes()[from:], []byte(talk[0].shown)) {
			from = all.Len()
			if _, err := master.WriteString(talk[0].typed); err != nil {
				c.Fatal(err)
			}
			talk = talk[1:]
		}
	}
	var failed *exec.ExitError
	if err := <-ended; err != nil && !errors.As(err, &failed) {
		c.Fatal(err)
	}
	if len(talk) > 0 {
		c.Errorf("kx %s does not ask %q:\n%s", strings.Join(args, " "), talk[0].shown, &all)
	}
	io, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	return cmd.ProcessState.ExitCode(), all.String(), err == nil && io.Lflag&unix.ECHO != 0
}

// On a terminal the value is asked for, not shown, and what was typed before does
// not count.
func TestSecretPrompt(t *testing.T) {
	c := newHouse(t, built(t))
	const slot, ask = "model.anthropic.work", "is not shown: "
	for _, s := range []struct {
		name  string
		talk  []line
		args  []string
		exit  int
		value string // afterwards
		shows string
	}{
		{"nothing", []line{{ask, "\n"}}, []string{"set", slot}, 3, "", "nothing was typed"},
		{"the end", []line{{ask, "\x04"}}, []string{"set", slot}, 3, "", "nothing was typed"},
		{"Ctrl-C", []line{{ask, "half of a val\x03"}}, []string{"set", slot}, 130, "", "interrupted"},
		{"a value", []line{{"Set " + slot + "? Its value, which " + ask, "a value of mine\n"}}, []string{"set", slot}, 0, "a value of mine", "15 characters"},
		{"another", []line{{"Replace the value of " + slot + "? Its value, which " + ask, "another value\n"}}, []string{"set", slot}, 0, "another value", "set " + slot},
		{"too much", []line{{ask, strings.Repeat("x", 4095) + "\n"}}, []string{"set", slot}, 6, "another value", "standard input"},
		{"no", []line{{" [y/N] ", "n\n"}}, []string{"rm", slot}, 3, "another value", "not confirmed"},
		{"yes", []line{{" [y/N] ", "y\n"}}, []string{"rm", slot}, 0, "", "revoked " + slot},
	} {
		exit, shown, echo := c.talk(s.talk, append([]string{"secret"}, s.args...)...)
		if exit != s.exit || !echo || !strings.Contains(shown, s.shows) {
			t.Errorf("%s: exit %d, want %d, echo %v:\n%s", s.name, exit, s.exit, echo, shown)
		}
		_, after, _ := strings.Cut(shown, ask)
		for _, value := range []string{"half of", "a value of mine", "another value", "xxx", "too early"} {
			if strings.Contains(after, value) {
				t.Errorf("%s: it is shown:\n%s", s.name, shown)
			}
		}
		if got, _ := c.secrets().Get(slot); got != s.value {
			t.Errorf("%s: the slot has %q, want %q", s.name, got, s.value)
		}
	}
}

// Behind a passphrase nothing is read without it.
func TestSecretPassphrase(t *testing.T) {
	c := newHouse(t, built(t))
	c.calm("config", "path", "approver-key")
	const first, again, ask, value = "takes it away): ", "same again: ", "Passphrase of the secrets: ", "is not shown: "
	talks := func(want int, talk []line, args ...string) {
		t.Helper()
		exit, shown, echo := c.talk(talk, args...)
		if exit != want || !echo || strings.Contains(shown, "correct horse") || strings.Contains(shown, "my long value") {
			t.Fatalf("kx %q: exit %d, want %d, echo %v:\n%s", args, exit, want, echo, shown)
		}
	}
	talks(0, []line{{value, "my long value\n"}}, "secret", "set", "model.a.b")
	talks(2, []line{{first, "short\n"}}, "secret", "set", "--passphrase")
	talks(3, []line{{first, "correct horse\n"}, {again, "correct house\n"}}, "secret", "set", "--passphrase")
	talks(0, []line{{first, "correct horse\n"}, {again, "correct horse\n"}}, "secret", "set", "--passphrase")

	if exit, _, errs := c.kx(blow{}, "secret", "set", "model.a.b", "--from-env", "PATH", "--key", c.key); exit != 5 || !strings.Contains(errs, "secrets_locked") {
		t.Errorf("without a terminal: %d %s", exit, errs)
	}
	if exit, out, errs := c.kx(blow{}, "doctor", "-o", "table"); exit != 0 || !strings.Contains(out, "1 set, behind a passphrase") {
		t.Errorf("doctor: %d %s %s", exit, out, errs)
	}
	talks(3, []line{{value, "another long value\n"}, {ask, "wrong horse\n"}}, "secret", "set", "model.a.b")
	talks(0, []line{{value, "another long value\n"}, {ask, "correct horse\n"}}, "secret", "set", "model.a.b")

	// A run asks before it reads anything, so that no model is sent a value.
	var sent atomic.Value
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent.Store(string(body))
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusUnauthorized)
	}))
	defer model.Close()
	config := fmt.Sprintf("[providers.a]\nkind = \"chat\"\nbase_url = %q\nkey_slot = \"model.a.b\"\n", model.URL)
	for name, text := range map[string]string{filepath.Join(c.home, "config/config.toml"): config, filepath.Join(c.work, "AGENTS.md"): "use another long value\n"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	talks(3, []line{{ask, "wrong horse\n"}}, "agent", "run", "look around", "--model", "a/m")
	if sent.Load() != nil {
		t.Error("a model is asked without the passphrase")
	}
	talks(5, []line{{ask, "correct horse\n"}}, "agent", "run", "it is another long value", "--model", "a/m")
	if body, _ := sent.Load().(string); !strings.Contains(body, "use [secret model.a.b]") || strings.Contains(body, "another long value") {
		t.Errorf("the model is sent %s", body)
	}
	if out, _ := exec.Command("grep", "-rl", "another long value", c.state).Output(); len(out) > 0 {
		t.Errorf("it stands in\n%s", out)
	}

	talks(0, []line{{ask, "correct horse\n"}, {first, "\n"}, {again, "\n"}}, "secret", "set", "--passphrase")
	if got, err := c.secrets().Get("model.a.b"); got != "another long value" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

// The screen of kx approve and its plain mode draw on the terminal themselves, and
// show no value either.
func TestScreenShowsNoSecret(t *testing.T) {
	c := newHouse(t, built(t))
	c.calm("config", "path", "approver-key")
	const value = "a-long-value-of-a-secret"
	if err := c.secrets().Set("model.a.b", value); err != nil {
		t.Fatal(err)
	}
	c.calls("bash", `{"command":"echo `+value+` | tee `+value+`.txt"}`)
	s := c.opens(100, 40, "kx approve; clear; kx approve --plain")
	for _, leave := range []string{"[q]uit", "(q)uit"} {
		s.until("echo [secret model.a.b] | tee [secret model.a.b].txt")
		if shown := s.until("echo"); strings.Contains(shown, "a-long") {
			t.Errorf("where one leaves by %s it shows\n%s", leave, shown)
		}
		s.writes("q")
	}
}
