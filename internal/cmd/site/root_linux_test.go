package site

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/agentroot"
)

// Below a tool or an agent neither a terminal nor the key helps.
func TestHumanBelowARoot(t *testing.T) {
	a, s := at(t)
	st, err := s.State()
	if err != nil {
		t.Fatal(err)
	}
	key, err := st.ApproverKeyPath()
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	a.IO.OpenTTY = func() (io.ReadWriteCloser, error) {
		asked++
		return &terminal{Reader: strings.NewReader("y\n")}, nil
	}
	roots, parent := agentroot.New(st, time.Now), os.Getppid()
	for _, kind := range []string{agentroot.Tool, agentroot.Agent} {
		if err := roots.Register(parent, kind, ""); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"", key} {
			a.Globals.Key = key
			_, err := s.Human(t.Context(), "kx trust add", "?")
			if e := fail.As(err); e == nil || e.Code != "not_a_person" || e.Exit != fail.ExitDenied ||
				!strings.HasPrefix(e.Msg, "kx trust add is for a person") || !strings.Contains(e.Msg, strconv.Itoa(parent)) {
				t.Errorf("%s, key %q: %v", kind, key, err)
			}
		}
		roots.Leave(parent)
	}
	if asked > 0 {
		t.Errorf("it was asked %d times", asked)
	}
	for _, key := range []string{"", key} {
		a.Globals.Key = key
		if _, err := s.Human(t.Context(), "kx trust add", "?"); err != nil {
			t.Errorf("after the roots left, key %q: %v", key, err)
		}
	}
}

// Who only asks who may decide makes no state directory.
func TestHumanMakesNothing(t *testing.T) {
	a, s := at(t)
	a.IO.OpenTTY = func() (io.ReadWriteCloser, error) { return &terminal{Reader: strings.NewReader("y\n")}, nil }
	if _, err := s.Human(t.Context(), "kx trust add", "?"); err != nil {
		t.Fatal(err)
	}
	d, err := s.Dirs()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.State); err == nil {
		t.Errorf("%s was made", d.State)
	}
}

func TestEnterRoot(t *testing.T) {
	_, s := at(t)
	st, err := s.State()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.enterRoot(st); err != nil {
		t.Fatal(err)
	}
	entry := filepath.Join(st.Dir(), "agentroot", strconv.Itoa(os.Getpid())+".json")
	raw, err := os.ReadFile(entry)
	if err != nil || !strings.Contains(string(raw), `"kind":"tool"`) {
		t.Errorf("the entry is %s, %v", raw, err)
	}
	// The process that runs tools is itself none.
	if err := s.belowRoot("kx trust add"); err != nil {
		t.Error(err)
	}
	// Nothing runs where it can't be entered.
	if err := os.RemoveAll(filepath.Dir(entry)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Dir(entry), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.enterRoot(st); err == nil {
		t.Error("it was entered nowhere")
	}
}
