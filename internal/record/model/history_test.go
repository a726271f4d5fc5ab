package model

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fsx/fsxtest"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

func open(t testing.TB, dir string) *History {
	t.Helper()
	st, err := state.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return New(st)
}

func TestHistory(t *testing.T) {
	h := open(t, filepath.Join(t.TempDir(), "kx"))
	if all, err := h.List(); err != nil || len(all) != 0 {
		t.Fatalf("%v, %v", all, err)
	}
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.FixedZone("", 3600))
	for i := range Most + 7 {
		if err := h.Add(wire.ModelResolution{At: at, ID: fmt.Sprint("a/", i), Role: "default", Via: []string{"default"}, Outcome: "ok"}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := h.List()
	if err != nil || len(all) != Most || all[0].ID != "a/7" || all[Most-1].ID != fmt.Sprint("a/", Most+6) {
		t.Fatalf("%d, first %+v, %v", len(all), all[0], err)
	}
	if r := all[0]; r.Type != "model_resolution" || r.V != wire.Version || r.At.Format(time.RFC3339) != "2026-03-01T09:00:00Z" || r.Via[0] != "default" {
		t.Errorf("%+v", r)
	}
	if fi, err := os.Stat(h.path()); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	// What somebody broke is passed over, and goes with the next line.
	f, _ := os.OpenFile(h.path(), os.O_APPEND|os.O_WRONLY, 0)
	f.WriteString("{\"type\":\"model_re\n\x00\n{}\n")
	f.Close()
	if all, err := h.List(); err != nil || len(all) != Most {
		t.Errorf("%d, %v", len(all), err)
	}
	if err := h.Add(wire.ModelResolution{ID: "a/last"}); err != nil {
		t.Fatal(err)
	}
	if all, _ := h.List(); len(all) != Most || all[Most-1].ID != "a/last" {
		t.Errorf("%d, last %+v", len(all), all[len(all)-1])
	}
	os.Remove(h.path())
	os.Mkdir(h.path(), 0o700)
	if _, err := h.List(); err == nil {
		t.Error("a folder is a history")
	}
}

// Several processes write at once, and nothing is lost.
func TestTogether(t *testing.T) {
	const each = Most / 5
	if dir, ok := fsxtest.Child(); ok {
		h := open(t, dir)
		for range each {
			if err := h.Add(wire.ModelResolution{Outcome: "ok"}); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	dir := filepath.Join(t.TempDir(), "kx")
	fsxtest.Together(t, dir, 4)
	if all, err := open(t, dir).List(); err != nil || len(all) != 4*each {
		t.Errorf("%d, %v", len(all), err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"type":"model_resolution","v":1,"at":"2026-03-01T00:00:00Z","id":"a/b","via":["x"],"outcome":"ok"}` + "\n"))
	f.Add([]byte("{}\n\x00\n[\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, r := range parse(data) {
			if r.Type != "model_resolution" {
				t.Fatalf("%q holds %+v", data, r)
			}
			if _, err := wire.Marshal(r); err != nil {
				t.Fatalf("%q: %v", data, err)
			}
		}
	})
}
