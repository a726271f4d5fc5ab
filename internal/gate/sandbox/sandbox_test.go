package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/record/scratch"
	"github.com/kxtools/kx/internal/record/state"
)

// world is a home with a workspace, outside of /tmp as far as the plans know.
type world struct {
	*Sandbox
	t    *testing.T
	dir  string
	at   Place
	vars map[string]string
}

func newWorld(t *testing.T, walls Walls) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, vars: map[string]string{}}
	st, err := state.Open(w.path("state"))
	if err != nil {
		t.Fatal(err)
	}
	w.Sandbox = &Sandbox{
		Dirs:    paths.Dirs{UID: 4242, Home: w.path("home"), State: st.Dir(), Config: w.path("config"), Runtime: w.path("run"), Defaults: []string{w.path("home/.local/state/kx")}},
		Scratch: scratch.New(st, time.Now), Getenv: func(k string) string { return w.vars[k] }, Passwd: func() string { return w.path("passwd") }, Boot: func() (string, error) { return "boot", nil },
		known: &walls,
	}
	w.at = Place{Session: "s", Workspace: w.path("home/ws")}
	w.make("home/ws/f", "")
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) make(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// confine makes a plan and gives back what it took.
func (w *world) confine(p Profile) *Cell {
	w.t.Helper()
	c, err := w.Confine(w.at, p, []string{"/bin/true"}, w.at.Workspace)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Leave() })
	return c
}

// short names paths from the world's folder.
func (w *world) short(list []string) []string {
	var out []string
	for _, p := range list {
		if rest, ok := strings.CutPrefix(p, w.dir+"/"); ok {
			out = append(out, rest)
		}
	}
	return out
}

var full = Walls{Kind: jail.Full, Landlock: 7, OwnProc: true, Layers: true}

func TestProfiles(t *testing.T) {
	for _, tt := range []struct {
		max     string
		want    Profile
		ws      bool
		network bool
	}{
		{"read_only", ReadOnly, false, false},
		{"workspace_write", WorkspaceWrite, true, false},
		{"network_enabled", NetworkEnabled, true, true},
		{"host", NetworkEnabled, true, true},
	} {
		p := Default.Under(tt.max)
		if p != tt.want {
			t.Errorf("under %s: %+v", tt.max, p)
		}
		w := newWorld(t, full)
		w.at.Writable = []string{w.path("other")}
		w.make("other/f", "")
		c := w.confine(p)
		if c.Label != tt.want.Name || c.Plan.Network != tt.network {
			t.Errorf("%s: label %s, network %v", tt.max, c.Label, c.Plan.Network)
		}
		for _, dir := range []string{w.at.Workspace, w.path("other")} {
			if got := slices.ContainsFunc(c.Plan.Mounts, func(m jail.Mount) bool { return m.Target == dir && !m.ReadOnly }); got != tt.ws {
				t.Errorf("%s: %s can be written: %v", tt.max, dir, got)
			}
		}
	}
	w := newWorld(t, full)
	if c := w.confine(Host); c.Plan != nil || c.Label != "host" {
		t.Errorf("host: %+v", c)
	}
	if ReadOnly.Under("host") != ReadOnly || Host.Under("read_only") != ReadOnly {
		t.Error("a cap widens, or does not hold")
	}
}

// What this machine can enforce is in the plan and in its name.
func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		walls Walls
		label string
	}{{full, "network_enabled"}, {Walls{Kind: jail.Landlock, Landlock: 7}, Partial}, {Walls{Kind: jail.None}, None}} {
		w := newWorld(t, tt.walls)
		w.make("home/.ssh/id", "")
		c := w.confine(Default)
		if c.Label != tt.label || w.Label(Default) != tt.label || w.Label(Host) != "host" || c.Plan.Kind != tt.walls.Kind {
			t.Errorf("%s: %s %s", tt.walls.Kind, c.Label, c.Plan.Kind)
		}
		masked := slices.Contains(c.Plan.Masked, w.path("home/.ssh"))
		if masked != (tt.walls.Kind != jail.None) {
			t.Errorf("%s: masked %v", tt.walls.Kind, c.Plan.Masked)
		}
		for _, m := range c.Plan.Mounts {
			if tt.walls.Kind == jail.Landlock && (m.Source != m.Target || m.Upper != "" || m.ReadOnly) {
				t.Errorf("Landlock can't do %+v", m)
			}
		}
	}
}

// kx's own directories are masked wherever they are, and so is what opens
// something elsewhere.
func TestMasks(t *testing.T) {
	w := newWorld(t, full)
	w.vars["XDG_RUNTIME_DIR"] = w.path("user-run")
	for _, f := range []string{"home/.aws/credentials", "passwd/.ssh/id", "home/.claude.json", "home/.claude/x", "home/.config/gh/hosts.yml", "home/.tmux-1/s", "home/.gitconfig", "home/.npmrc"} {
		w.make(f, "registry=https://r.example/\n")
	}
	got := w.short(w.confine(Default).Plan.Masked)
	for _, want := range []string{"state", "config", "run", "home/.local/state/kx", "user-run", "home/.ssh", "home/.aws", "passwd/.ssh", "home/.claude.json", "home/.claude", "home/.config/gh", "home/.tmux-1", "home/.bash_history"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not masked", want)
		}
	}
	for _, not := range []string{"home/.gitconfig", "home/.npmrc", "home/ws", "home"} {
		if slices.Contains(got, not) {
			t.Errorf("%s is masked", not)
		}
	}
	w.make("home/.npmrc", "//r.example/:_authToken=x\n")
	if got := w.short(w.confine(Default).Plan.Masked); !slices.Contains(got, "home/.npmrc") {
		t.Error("a token is not masked")
	}
	// A workspace is seen, wherever it is.
	w.at.Workspace = w.path("home/.aws/ws")
	w.make("home/.aws/ws/f", "")
	if got := w.short(w.confine(Default).Plan.Masked); slices.Contains(got, "home/.aws") {
		t.Error("the workspace is masked")
	}
}

// Caches are laid over; those that are not there are made elsewhere.
func TestCaches(t *testing.T) {
	w := newWorld(t, full)
	w.make("home/.cache/x", "")
	c := w.confine(Default)
	var layered []string
	for _, m := range c.Plan.Mounts {
		if m.Upper != "" {
			layered = append(layered, m.Target)
			if paths.Inside(w.Dirs.Home, m.Upper) || filepath.Dir(m.Upper) != filepath.Dir(m.Work) {
				t.Errorf("changes go to %s", m.Upper)
			}
		}
	}
	if !slices.Equal(layered, []string{w.path("home/.cache")}) {
		t.Errorf("layered %v", layered)
	}
	env := strings.Join(c.Env, " ")
	if !strings.Contains(env, "npm_config_cache=/tmp/.cache/npm") || strings.Contains(env, "XDG_CACHE_HOME") || !strings.Contains(env, "TMPDIR=/tmp") {
		t.Errorf("environment %v", c.Env)
	}
	none := full
	none.Layers = false
	w = newWorld(t, none)
	w.make("home/.cache/x", "")
	if env := strings.Join(w.confine(Default).Env, " "); !strings.Contains(env, "XDG_CACHE_HOME=/tmp/.cache/cache") {
		t.Errorf("environment %v", env)
	}
}

func TestWritableIsChecked(t *testing.T) {
	w := newWorld(t, full)
	for _, bad := range []string{"/", w.Dirs.Home, w.dir, w.Dirs.State, w.path("config/x")} {
		w.at.Writable = []string{bad}
		if _, err := w.Confine(w.at, Default, []string{"/bin/true"}, w.at.Workspace); fail.Exit(err) != fail.ExitUsage {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func (w *world) repository(dir string) {
	for _, f := range []string{"HEAD", "config", "hooks/x", "objects/x", "refs/x"} {
		w.make(filepath.Join(dir, f), "")
	}
}

// Git works, and what it runs stays as it is.
func TestRepository(t *testing.T) {
	w := newWorld(t, full)
	w.repository("home/ws/.git")
	w.repository("home/ws/.git/modules/lib/sub")
	w.make("home/ws/.envrc", "")
	c := w.confine(Default)
	if d := cmp.Diff([]string{"home/ws/.git", "home/ws/.git/modules", "home/ws/.git/modules/lib", "home/ws/.git/modules/lib/sub"}, w.short(c.Plan.Pinned)); d != "" {
		t.Errorf("pinned %s", d)
	}
	if d := cmp.Diff([]string{"home/ws/.git/hooks", "home/ws/.git/config", "home/ws/.git/modules/lib/sub/hooks", "home/ws/.git/modules/lib/sub/config", "home/ws/.envrc"}, w.short(c.Plan.Fixed)); d != "" {
		t.Errorf("fixed %s", d)
	}

	// A linked worktree shares a repository outside, if that says so too.
	w = newWorld(t, full)
	w.repository("main/.git")
	w.make("home/ws/.git", "gitdir: "+w.path("main/.git/worktrees/ws")+"\n")
	w.make("main/.git/worktrees/ws/commondir", "../..\n")
	w.make("main/.git/worktrees/ws/gitdir", w.path("home/ws/.git")+"\n")
	opened := func() bool {
		return slices.ContainsFunc(w.confine(Default).Plan.Mounts, func(m jail.Mount) bool { return m.Target == w.path("main/.git") })
	}
	if !opened() {
		t.Error("a worktree's repository is closed")
	}
	fixed := w.short(w.confine(Default).Plan.Fixed)
	for _, want := range []string{"home/ws/.git", "main/.git/hooks", "main/.git/config", "main/.git/worktrees/ws/gitdir", "main/.git/worktrees/ws/commondir"} {
		if !slices.Contains(fixed, want) {
			t.Errorf("%s is not fixed: %v", want, fixed)
		}
	}
	for name, spoil := range map[string]func(){
		"it names another worktree": func() { w.make("main/.git/worktrees/ws/gitdir", w.path("home/other/.git")+"\n") },
		"it names none":             func() { os.Remove(w.path("main/.git/worktrees/ws/gitdir")) },
		"the common one is elsewhere": func() {
			w.make("main/.git/worktrees/ws/gitdir", w.path("home/ws/.git")+"\n")
			w.make("main/.git/worktrees/ws/commondir", "../../../..\n")
		},
		"it is no link": func() { w.make("home/ws/.git", "x") },
	} {
		if spoil(); opened() {
			t.Errorf("opened although %s", name)
		}
	}
}

// What must not be made is taken away, and said.
func TestTakeAway(t *testing.T) {
	w := newWorld(t, full)
	w.repository("home/ws/.git")
	c := w.confine(Default)
	w.make("home/ws/.mcp.json", "{}")
	w.make("home/ws/.kx/policy.toml", "x")
	w.make("home/ws/.git/commondir", "../evil")
	w.make("home/ws/fine", "")
	notes := strings.Join(c.Leave(), "\n")
	for _, name := range []string{".mcp.json", ".kx", ".git/commondir"} {
		if _, err := os.Lstat(w.path("home/ws/" + name)); err == nil || !strings.Contains(notes, name+" was made by the command") {
			t.Errorf("%s: %v, notes %q", name, err, notes)
		}
	}
	if _, err := os.Stat(w.path("home/ws/fine")); err != nil {
		t.Error("another file is gone")
	}
	moved, _ := filepath.Glob(filepath.Join(w.Dirs.State, "scratch/aside/*/.kx/policy.toml"))
	if len(moved) != 1 {
		t.Errorf("it is lost: %v", notes)
	}
	if again := c.Leave(); len(again) > 0 {
		t.Errorf("said twice: %v", again)
	}
	// What was there before is not taken away.
	w.make("home/ws/.mcp.json", "{}")
	if notes := w.confine(Default).Leave(); len(notes) > 0 {
		t.Errorf("notes %v", notes)
	}
}

// Rules hide files from programs, and nobody moves them out of the rules' sight.
func TestHide(t *testing.T) {
	w := newWorld(t, full)
	for _, f := range []string{"home/ws/.env", "home/ws/a/b/.env.local", "home/ws/vault/x/y", "home/ws/open", "home/other/.env"} {
		w.make(f, "")
	}
	if err := os.Symlink("a/b/.env.local", w.path("home/ws/.env-link")); err != nil {
		t.Fatal(err)
	}
	w.at.Hidden = []string{"**/.env*", escape.Replace(w.at.Workspace) + "/vault/**", w.path("gone")}
	p := w.confine(Default).Plan
	masked := w.short(p.Masked)
	for _, want := range []string{"home/ws/.env", "home/ws/a/b/.env.local", "home/ws/vault"} {
		if !slices.Contains(masked, want) {
			t.Errorf("%s is not masked: %v", want, masked)
		}
	}
	for _, not := range []string{"home/ws/open", "home/other/.env", "home/ws/vault/x/y"} {
		if slices.Contains(masked, not) {
			t.Errorf("%s is masked", not)
		}
	}
	if d := cmp.Diff([]string{"home/ws/a", "home/ws/a/b"}, w.short(p.Pinned)); d != "" {
		t.Errorf("pinned %s", d)
	}
	for i := range maxHidden + 1 {
		w.make(filepath.Join("home/ws/many", ".env"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+time.Duration(i).String()), "")
	}
	if _, err := w.Confine(w.at, Default, []string{"/bin/true"}, w.at.Workspace); fail.Exit(err) != fail.ExitLimit {
		t.Errorf("too many: %v", err)
	}
}

// The private temp has two names, and what lies in /tmp otherwise keeps its own.
func TestTempNames(t *testing.T) {
	temp := Temp{func() []string { return []string{"/tmp/work"} }, func() string { return "/state/scratch/temp/s" }}
	for path, real := range map[string]string{
		"/tmp": "/state/scratch/temp/s", "/tmp/a/b": "/state/scratch/temp/s/a/b", "/var/tmp/a": "/state/scratch/temp/s/a",
		"/tmp/work": "/tmp/work", "/tmp/work/x": "/tmp/work/x", "/tmp/works": "/state/scratch/temp/s/works", "/tmpx": "/tmpx", "/etc/tmp": "/etc/tmp",
	} {
		if got := temp.Real(path); got != real {
			t.Errorf("%s is %s", path, got)
		}
		if temp.Holds(path) != (real != path) {
			t.Errorf("%s: held %v", path, temp.Holds(path))
		}
	}
	if got := temp.Name("/state/scratch/temp/s/a"); got != "/tmp/a" {
		t.Error(got)
	}
	if got := temp.Name("/state/scratch/temp/s2"); got != "/state/scratch/temp/s2" {
		t.Error(got)
	}
	if none := (Temp{}); none.Real("/tmp/x") != "/tmp/x" || none.Holds("/tmp/x") || none.Exists() || !temp.Exists() {
		t.Error("without one, /tmp is not what it is")
	}
	w := newWorld(t, Walls{Kind: jail.Landlock})
	if w.Temp(func() Place { return w.at }).Exists() {
		t.Error("a private temp without mounts")
	}
	w.Dirs.Home, w.at.Workspace, w.at.Writable, w.vars["PATH"] = "/tmp/h/me", "/tmp/h/ws", []string{"/var/tmp/out/x"}, "/usr/bin:/tmp/bin"
	if d := cmp.Diff([]string{"/tmp/h", "/var/tmp/out", "/tmp/bin"}, w.kept(w.at)); d != "" {
		t.Errorf("kept %s", d)
	}
}

const table = `Num       RefCount Protocol Flags    Type St Inode Path
ffff8881: 00000002 00000000 00010000 0001 01 20001 /run/docker.sock
ffff8882: 00000002 00000000 00010000 0001 01 20002 @abstract
ffff8883: 00000003 00000000 00000000 0001 03 20003
ffff8884: 00000002 00000000 00010000 0001 01 20004 /home/you/a b/s
ffff8885: 00000002 00000000 00010000 0001 01 20005 relative
`

func TestSocketNames(t *testing.T) {
	if d := cmp.Diff([]string{"/run/docker.sock", "/home/you/a b/s"}, socketNames([]byte(table))); d != "" {
		t.Error(d)
	}
}

func FuzzSocketNames(f *testing.F) {
	f.Add([]byte(table))
	f.Fuzz(func(t *testing.T, table []byte) {
		for _, name := range socketNames(table) {
			if !strings.HasPrefix(name, "/") || strings.Contains(name, "\n") {
				t.Errorf("name %q", name)
			}
		}
	})
}

// Whatever a .git file says, it opens no repository that does not name it.
func FuzzWorktree(f *testing.F) {
	for _, seed := range [][2]string{{"gitdir: ../main/.git/worktrees/w\n", "../..\n"}, {"gitdir: /\n", "/"}, {"gitdir: \x00", ".."}, {"gitdir: ", ""}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, link, common string) {
		w := newWorld(t, full)
		w.repository("main/.git")
		w.make("main/.git/worktrees/w/commondir", common)
		w.make("main/.git/worktrees/w/gitdir", w.path("elsewhere/.git"))
		w.make("home/ws/.git", link)
		if got := worktree(w.path("home/ws/.git")); got != "" {
			t.Errorf("%q opens %v", link, got)
		}
	})
}

// A submodule's git directory is kept whatever its name is, and although a program
// has moved a part of it away.
func TestOddSubmodules(t *testing.T) {
	w := newWorld(t, full)
	w.repository("home/ws/.git")
	w.repository("home/ws/.git/modules/logs")
	w.repository("home/ws/.git/modules/lib")
	if err := os.Rename(w.path("home/ws/.git/modules/lib/HEAD"), w.path("home/ws/H")); err != nil {
		t.Fatal(err)
	}
	fixed := w.short(w.confine(Default).Plan.Fixed)
	for _, want := range []string{"home/ws/.git/modules/logs/hooks", "home/ws/.git/modules/logs/config", "home/ws/.git/modules/lib/hooks", "home/ws/.git/modules/lib/config"} {
		if !slices.Contains(fixed, want) {
			t.Errorf("%s is not fixed: %v", want, fixed)
		}
	}
}

// What could not be tried says nothing of the machine, and is not kept.
func TestNoTrial(t *testing.T) {
	w := newWorld(t, full)
	w.known = nil
	t.Setenv("TMPDIR", w.path("nonesuch"))
	if got := w.Walls(); got.Kind == jail.Full || !strings.Contains(got.Why, "could not be tried") || got.Hint != "kx doctor" {
		t.Errorf("it says %+v", got)
	}
	if raw := w.Scratch.Walls(); raw != nil {
		t.Errorf("it keeps %s", raw)
	}
}

// What one program has found out does not make the other find it out again: kx and kxd
// take turns.
func TestWallsOfTwoPrograms(t *testing.T) {
	w := newWorld(t, full)
	find := func(program string) bool {
		s := &Sandbox{Dirs: w.Dirs, Scratch: w.Scratch, Passwd: w.Passwd, Getenv: w.Getenv, Boot: func() (string, error) { return program, nil }}
		_, ok := s.Known()
		s.Walls()
		return ok
	}
	for i, program := range []string{"kx", "kxd", "kx", "kxd"} {
		if known := find(program); known != (i >= 2) {
			t.Errorf("%s, turn %d: known %v", program, i, known)
		}
	}
	for i := range 2 * maxNoted {
		find("other " + strconv.Itoa(i))
	}
	if find("kx") || !find("kx") || len(w.noted()) != maxNoted {
		t.Errorf("%d are kept", len(w.noted()))
	}
}
