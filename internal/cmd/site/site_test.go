package site

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/trust"
)

func TestPeekMakesNothing(t *testing.T) {
	_, s := at(t)
	ws := t.TempDir()
	c, err := s.Config(ws)
	if err != nil || c.Mode != "default" {
		t.Fatalf("%+v, %v", c, err)
	}
	d, _ := s.Dirs()
	for _, dir := range []string{d.State, d.Config} {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s was made", dir)
		}
	}
}

func TestConfigOfATrustedProject(t *testing.T) {
	a, s := at(t)
	ws := t.TempDir()
	os.Mkdir(filepath.Join(ws, ".kx"), 0o755)
	if err := os.WriteFile(filepath.Join(ws, ".kx/config.toml"), []byte("mode = \"plan\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ceiling := func() string {
		t.Helper()
		c, err := s.Config(ws)
		if err != nil {
			t.Fatal(err)
		}
		return c.ProjectMode
	}
	if got := ceiling(); got != "" {
		t.Errorf("untrusted: %v", got)
	}
	st, err := s.State()
	if err != nil {
		t.Fatal(err)
	}
	files, _ := trust.Read(ws)
	if _, err := trust.New(st, a.Now).Add(ws, trust.LevelFiles, files); err != nil {
		t.Fatal(err)
	}
	if got := ceiling(); got != "plan" {
		t.Errorf("trusted: %v", got)
	}

	// A record that is damaged may have held a deny: nothing is decided without it.
	records, _ := filepath.Glob(filepath.Join(st.Dir(), "trust/*.json"))
	os.Truncate(records[0], 10)
	if _, err := s.Config(ws); fail.Exit(err) != fail.ExitUsage || fail.As(err).Hint != "kx trust add" {
		t.Errorf("damaged: %v", err)
	}
}
