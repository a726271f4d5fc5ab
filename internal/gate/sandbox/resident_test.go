package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/base/paths"
)

// resident makes a plan for one and gives back what it took.
func (w *world) resident(name string) *Cell {
	w.t.Helper()
	c, err := w.Resident(w.at, name, []string{"/bin/true"}, w.at.Workspace)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Leave() })
	return c
}

// Only caches whose files have hashes for names are layers, and no command waits for
// those of a resident.
func TestResidentCaches(t *testing.T) {
	w := newWorld(t, full)
	for _, f := range []string{"home/.cache/gopls/x", "home/.cache/go-build/x", "home/.cargo/x", "home/go/pkg/x", "home/.npm/x"} {
		w.make(f, "")
	}
	c := w.resident("gopls")
	var layered []string
	for _, m := range c.Plan.Mounts {
		switch {
		case m.Upper != "":
			layered = append(layered, m.Target)
		case m.Target != "/tmp" && m.Target != "/var/tmp" && !m.ReadOnly:
			t.Errorf("%s can be written", m.Target)
		}
		if !m.ReadOnly && paths.Inside(w.Dirs.Home, m.Source) && m.Upper == "" {
			t.Errorf("it writes in %s", m.Source)
		}
	}
	if !slices.Equal(layered, []string{w.path("home/.cache/go-build"), w.path("home/.cache/gopls")}) || c.Plan.Network || c.Label != ReadOnly.Name {
		t.Errorf("layered %v, network %v, %s", layered, c.Plan.Network, c.Label)
	}
	want := []string{"GOCACHE=" + w.path("home/.cache/go-build"), "GOPLSCACHE=" + w.path("home/.cache"), "TMPDIR=/tmp", "XDG_CACHE_HOME=/tmp/.cache"}
	if !slices.Equal(c.Env, want) || c.Cache != "/tmp/.cache" {
		t.Errorf("%s, %v", c.Cache, c.Env)
	}
	place := func(c *Cell) string {
		i := slices.IndexFunc(c.Plan.Mounts, func(m jail.Mount) bool { return m.Upper != "" })
		return filepath.Dir(filepath.Dir(c.Plan.Mounts[i].Upper))
	}
	own := place(c)
	if place(w.resident("tsc")) == own || filepath.Base(own) != "0" {
		t.Errorf("two residents share %s", own)
	}
	w.make("home/.cache/x", "")
	if slot := place(w.confine(Default)); filepath.Base(slot) != "0" || slot == own {
		t.Errorf("a command gets %s", slot)
	}
	none := full
	none.Layers = false
	w = newWorld(t, none)
	w.make("home/.cache/go-build/x", "")
	if c := w.resident("gopls"); slices.ContainsFunc(c.Plan.Mounts, func(m jail.Mount) bool { return m.Upper != "" }) || !slices.Equal(c.Env, want[2:]) {
		t.Errorf("without layers: %v", c.Env)
	}
}

// Without mounts it writes in the same place, by its real name.
func TestResidentKinds(t *testing.T) {
	for _, walls := range []Walls{full, {Kind: jail.Landlock, Landlock: 7}, {Kind: jail.None}} {
		w := newWorld(t, walls)
		w.make("home/.ssh/id", "")
		w.make("home/ws/.env", "")
		w.at.Hidden = []string{"**/.env"}
		c := w.resident("x")
		for _, f := range []string{"home/.ssh", "home/ws/.env"} {
			if got := slices.Contains(c.Plan.Masked, w.path(f)); got != (walls.Kind != jail.None) {
				t.Errorf("%s: %s is masked: %v", walls.Kind, f, got)
			}
		}
		if walls.Kind == jail.Full {
			continue
		}
		if fi, err := os.Stat(c.Cache); err != nil || !fi.IsDir() || !paths.Inside(w.Dirs.State, c.Cache) || !slices.Contains(c.Env, "XDG_CACHE_HOME="+c.Cache) {
			t.Errorf("%s: cache %s, %v", walls.Kind, c.Cache, err)
		}
		for _, m := range c.Plan.Mounts {
			if !paths.Inside(m.Target, c.Cache) {
				t.Errorf("%s: it writes in %s", walls.Kind, m.Target)
			}
		}
	}
}

// A program in /tmp is in sight, whatever PATH says.
func TestResidentProgram(t *testing.T) {
	w := newWorld(t, full)
	c, err := w.Resident(w.at, "x", []string{"/tmp/tools/bin/x"}, w.at.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Leave()
	if !slices.ContainsFunc(c.Plan.Mounts, func(m jail.Mount) bool { return m.Target == "/tmp/tools" && m.ReadOnly }) {
		t.Errorf("%v", c.Plan.Mounts)
	}
}

func TestHolds(t *testing.T) {
	w := newWorld(t, full)
	w.make("home/.netrc", "a")
	w.make("home/ws/.env", "a")
	w.at.Hidden = []string{"**/.env", escape.Replace(w.path("beside")) + "/*.key", w.path("home/token")}
	for name, change := range map[string]struct {
		do    func()
		holds bool
	}{
		"nothing":     {func() {}, true},
		"an edit":     {func() { w.make("home/ws/.env", "b") }, true},
		"renamed":     {func() { os.Rename(w.path("home/.netrc"), w.path("home/n")) }, false}, // the mask goes with it
		"made":        {func() { w.make("home/.pgpass", "a") }, false},
		"replaced":    {func() { w.make("home/n", "b"); os.Rename(w.path("home/n"), w.path("home/.netrc")) }, false},
		"beside":      {func() { w.make("beside/a.key", "") }, false},
		"not that":    {func() { w.make("beside/a.txt", "") }, true},
		"named":       {func() { w.make("home/token", "") }, false},
		"made to dir": {func() { os.Remove(w.path("home/ws/.env")); w.make("home/ws/.env/x", "") }, false},
	} {
		for _, f := range []string{"home/ws/.env", "home/.pgpass", "home/token", "beside"} {
			os.RemoveAll(w.path(f))
		}
		w.make("home/.netrc", "a")
		w.make("home/ws/.env", "a")
		c := w.resident("x")
		if !c.Holds() {
			t.Fatalf("%s: it does not hold at the start", name)
		}
		change.do()
		if got := c.Holds(); got != change.holds {
			t.Errorf("%s: holds %v", name, got)
		}
	}
}

// What was not there when masks were made is hidden by the same rules.
func TestHides(t *testing.T) {
	w := newWorld(t, full)
	w.at.Writable = []string{w.path("out")}
	w.at.Hidden = []string{"**/.env*", escape.Replace(w.at.Workspace) + "/vault/**", "**/keys", w.path("home/x.pem")}
	for path, want := range map[string]bool{
		"home/ws/.env": true, "home/ws/a/b/.env.local": true, "home/ws/a.env": false, "home/ws/vault/x/y": true, "home/ws/keys/deep/er": true,
		"home/ws/keyss": false, "home/.env": false, "out/.env": true, "home/x.pem": true, "home/x.pem2": false, "home/ws": false,
	} {
		if got := w.at.Hides(w.path(path)); got != want {
			t.Errorf("%s: %v", path, got)
		}
		// It says what is masked when the file is there.
		if strings.HasPrefix(path, "home/ws/") || strings.HasPrefix(path, "out/") {
			w.make(path, "")
		}
	}
	masked := w.resident("x").Plan.Masked
	for _, path := range []string{"home/ws/.env", "home/ws/a/b/.env.local", "home/ws/vault", "home/ws/keys", "out/.env"} {
		if !slices.Contains(masked, w.path(path)) || !w.at.Hides(w.path(path)) {
			t.Errorf("%s: masked %v, hidden %v", path, slices.Contains(masked, w.path(path)), w.at.Hides(w.path(path)))
		}
	}
}

// A program on PATH may be a link to one that lies where the private temp would hide it.
func TestLinkedProgram(t *testing.T) {
	w := newWorld(t, full)
	dir, err := os.MkdirTemp("/tmp", "kx-linked-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program, link := filepath.Join(dir, "server"), w.path("home/server")
	if err := errors.Join(os.WriteFile(program, nil, 0o700), os.Symlink(program, link)); err != nil {
		t.Fatal(err)
	}
	cell, err := w.Resident(w.at, "linked", []string{link}, w.at.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer cell.Leave()
	if !slices.ContainsFunc(cell.Plan.Mounts, func(m jail.Mount) bool { return m.Target == dir && m.Source == dir && m.ReadOnly }) {
		t.Errorf("%s is not in sight: %+v", dir, cell.Plan.Mounts)
	}
}

// A program is put where a resident finds it, and never through what it left there.
func TestResidentPut(t *testing.T) {
	w := newWorld(t, full)
	c := w.resident("x")
	var temp string
	for _, m := range c.Plan.Mounts {
		if m.Target == "/tmp" {
			temp = m.Source
		}
	}
	at := filepath.Join(temp, ".cache/run")
	for _, text := range []string{"one", "another"} {
		if err := c.Put("run", text); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(at)
		fi, _ := os.Stat(at)
		if err != nil || string(raw) != text || fi.Mode() != 0o700 {
			t.Errorf("%q %v %v", raw, fi.Mode(), err)
		}
	}
	w.make("home/mine", "mine")
	mine := w.path("home/mine")
	for _, what := range []func() error{
		func() error { return errors.Join(os.Remove(at), os.Symlink(mine, at)) },
		func() error {
			return errors.Join(os.RemoveAll(filepath.Dir(at)), os.Symlink(filepath.Dir(mine), filepath.Dir(at)))
		},
	} {
		if err := what(); err != nil {
			t.Fatal(err)
		}
		_ = c.Put("run", "other")
		raw, _ := os.ReadFile(mine)
		_, err := os.Lstat(w.path("home/run"))
		if string(raw) != "mine" || err == nil {
			t.Errorf("written outside: %q, %v", raw, err)
		}
	}
}
