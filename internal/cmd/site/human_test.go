package site

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
)

// terminal answers questions, and keeps them.
type terminal struct {
	io.Reader
	asked bytes.Buffer
}

func (t *terminal) Write(b []byte) (int, error) { return t.asked.Write(b) }
func (t *terminal) Close() error                { return nil }

// at returns a site with directories of its own.
func at(t *testing.T) (*app.App, *Site) {
	t.Helper()
	home := t.TempDir()
	s, _, _, _ := term.Test()
	a := app.New(s, func(name string) string { return map[string]string{"HOME": home}[name] }, "")
	return a, Of(a)
}

func TestHuman(t *testing.T) {
	for answer, exit := range map[string]int{"y\n": 0, "yes\n": 0, "n\n": fail.ExitDenied, "\n": fail.ExitDenied, "": fail.ExitDenied} {
		a, s := at(t)
		tty := &terminal{Reader: strings.NewReader(answer)}
		a.IO.OpenTTY = func() (io.ReadWriteCloser, error) { return tty, nil }
		by, err := s.Human(t.Context(), "kx trust add", "Trust it?\x1b[2J")
		if fail.Exit(err) != exit {
			t.Errorf("%q: %v", answer, err)
		}
		if asked := tty.asked.String(); !strings.HasPrefix(asked, "Trust it?") || strings.Contains(asked, "\x1b[2J") {
			t.Errorf("asked %q", asked)
		}
		if by.Kind != "human" || by.PID != os.Getpid() || by.UID == nil || by.Via != "" {
			t.Errorf("by %+v", by)
		}
	}
}

func TestHumanWithoutTerminal(t *testing.T) {
	a, s := at(t)
	for _, noInput := range []bool{false, true} {
		a.Globals.NoInput = noInput
		_, err := s.Human(t.Context(), "kx trust rm", "?")
		if e := fail.As(err); e == nil || e.Exit != fail.ExitDenied || e.Hint != `kx trust rm --key "$(kx config path approver-key)"` {
			t.Errorf("got %+v", e)
		}
	}
}

func TestHumanByKey(t *testing.T) {
	a, s := at(t)
	st, err := s.State()
	if err != nil {
		t.Fatal(err)
	}
	path, err := st.ApproverKeyPath()
	if err != nil {
		t.Fatal(err)
	}
	host := filepath.Join(st.Dir(), "host.key")
	if _, err := st.HostKey(); err != nil {
		t.Fatal(err)
	}
	for file, exit := range map[string]int{path: 0, host: fail.ExitDenied, path + ".none": fail.ExitUsage, st.Dir(): fail.ExitUsage} {
		a.Globals.Key = file
		by, err := s.Human(t.Context(), "kx trust add", "?")
		if fail.Exit(err) != exit || by.Via != "key" {
			t.Errorf("%s: %+v, %v", file, by, err)
		}
	}
}
