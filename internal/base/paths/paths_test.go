package paths

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
)

// real returns a temporary folder without symlinks in its own path.
func real(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func mkdir(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func env(vars map[string]string) Env {
	return Env{Getenv: func(k string) string { return vars[k] }, UID: 4242, Cwd: "/cwd"}
}

func TestDirs(t *testing.T) {
	vars := func(kv ...string) map[string]string {
		m := map[string]string{"HOME": "/h"}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	for _, tc := range []struct {
		name                   string
		env                    Env
		state, config, runtime string
	}{
		{"defaults", env(vars()), "/h/.local/state/kx", "/h/.config/kx", "/tmp/kx-4242"},
		{"xdg", env(vars("XDG_STATE_HOME", "/s", "XDG_CONFIG_HOME", "/c", "XDG_RUNTIME_DIR", "/r")), "/s/kx", "/c/kx", "/r/kx"},
		{"relative xdg is ignored", env(vars("XDG_STATE_HOME", "s", "XDG_CONFIG_HOME", "./c", "XDG_RUNTIME_DIR", "r")),
			"/h/.local/state/kx", "/h/.config/kx", "/tmp/kx-4242"},
		{"empty is unset", env(vars("XDG_STATE_HOME", "", "KX_STATE_DIR", "", "KX_RUNTIME_DIR", "")),
			"/h/.local/state/kx", "/h/.config/kx", "/tmp/kx-4242"},
		{"kx beats xdg", env(vars("XDG_STATE_HOME", "/s", "KX_STATE_DIR", "/ks", "KX_CONFIG_DIR", "/kc", "KX_RUNTIME_DIR", "/kr")),
			"/ks", "/kc", "/kr"},
		{"relative kx starts at the current folder", env(vars("KX_STATE_DIR", "st")), "/cwd/st", "/h/.config/kx", "/tmp/kx-4242"},
		{"flag beats kx", Env{Getenv: env(vars("KX_STATE_DIR", "/ks", "KX_CONFIG_DIR", "/kc")).Getenv, UID: 4242, Cwd: "/cwd",
			StateDir: "/fs", ConfigDir: "fc"}, "/fs", "/cwd/fc", "/tmp/kx-4242"},
		{"ignored environment", Env{Getenv: env(vars("KX_STATE_DIR", "/ks", "KX_CONFIG_DIR", "/kc", "KX_RUNTIME_DIR", "/kr",
			"XDG_STATE_HOME", "/s")).Getenv, UID: 4242, Cwd: "/cwd", IgnoreEnv: true}, "/s/kx", "/h/.config/kx", "/tmp/kx-4242"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, err := tc.env.Dirs()
			if err != nil {
				t.Fatal(err)
			}
			tmp, _ := filepath.EvalSymlinks("/tmp")
			want := strings.Replace(tc.runtime, "/tmp", tmp, 1)
			if d.State != tc.state || d.Config != tc.config || d.Runtime != want {
				t.Errorf("got %s %s %s, want %s %s %s", d.State, d.Config, d.Runtime, tc.state, tc.config, want)
			}
		})
	}
	for _, home := range []string{"", "relative"} {
		if _, err := env(map[string]string{"HOME": home}).Dirs(); fail.Exit(err) != fail.ExitUsage {
			t.Errorf("HOME=%q: %v", home, err)
		}
	}
}

func TestDefaultsStayProtected(t *testing.T) {
	d, err := env(map[string]string{"HOME": "/h", "KX_STATE_DIR": "/ks", "XDG_RUNTIME_DIR": "/r"}).Dirs()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/h/.local/state/kx", "/h/.config/kx", "/r/kx", "/ks", d.Defaults[3]} {
		if CheckWorkspace(dir, d) == nil {
			t.Errorf("%s is allowed as a workspace", dir)
		}
	}
}

func TestCanonical(t *testing.T) {
	root := real(t)
	mkdir(t, root, "a/b")
	mkdir(t, root, "other/deep")
	for from, to := range map[string]string{
		"link": "a/b", "abs": root + "/other/deep", "loop": "loop", "ping": "pong", "pong": "ping",
		"dangling": "nowhere/x", "a/up": "../other",
	} {
		if err := os.Symlink(to, filepath.Join(root, from)); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(filepath.Join(root, "file"), nil, 0o644)
	for _, tc := range []struct{ in, want string }{
		{".", root},
		{"a//b/./", root + "/a/b"},
		{root + "/a/b", root + "/a/b"},
		{"link/new/file.go", root + "/a/b/new/file.go"},
		{"link/../x", root + "/a/x"}, // the parent of what the link points to
		{"abs/..", root + "/other"},
		{"a/up/deep", root + "/other/deep"},
		{"dangling", root + "/nowhere/x"},
		{"no/such/../thing", root + "/no/thing"},
		{"no/../link/x", root + "/a/b/x"},
		{"file/below", root + "/file/below"},
		{"~/x", root + "/~/x"},
		{"/..", "/"},
		{"/../../etc", mustEval(t, "/etc")},
	} {
		got, err := Canonical(root, tc.in)
		if err != nil || got != tc.want {
			t.Errorf("%q: got %q, %v, want %q", tc.in, got, err, tc.want)
		}
	}
	for _, bad := range []string{"", "a\x00b", "loop", "ping/x", strings.Repeat("a/", 2100), strings.Repeat("n", 256)} {
		if got, err := Canonical(root, bad); err == nil {
			t.Errorf("%.20q: got %q, want an error", bad, got)
		}
	}
	if _, err := Canonical("relative", "x"); err == nil {
		t.Error("a relative base is accepted")
	}
}

func mustEval(t *testing.T, p string) string {
	t.Helper()
	r, err := filepath.EvalSymlinks(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestInside(t *testing.T) {
	for _, tc := range []struct {
		root, path string
		want       bool
	}{
		{"/a", "/a", true}, {"/a", "/a/b", true}, {"/a", "/ab", false}, {"/a", "/", false}, {"/", "/x", true}, {"/", "/", true},
		{"a", "a/b", false}, {"/a", "a", false}, {"", "", false},
	} {
		if got := Inside(tc.root, tc.path); got != tc.want {
			t.Errorf("Inside(%q, %q) = %v", tc.root, tc.path, got)
		}
	}
}

func TestRoot(t *testing.T) {
	home := real(t)
	mkdir(t, home, ".git") // a dotfiles repository must not make the home a workspace
	repo := mkdir(t, home, "src/repo")
	mkdir(t, repo, ".git")
	sub := mkdir(t, repo, "web/app")
	kx := mkdir(t, repo, "kxdir")
	mkdir(t, kx, ".kx")
	plain := mkdir(t, home, "plain/deep")
	outside := real(t)
	mkdir(t, outside, ".git")
	deep := mkdir(t, outside, "x/y")
	d := Dirs{Home: home, UID: os.Getuid()}
	vars := map[string]string{}
	e := Env{Getenv: func(k string) string { return vars[k] }, UID: os.Getuid()}

	for _, tc := range []struct{ cwd, flag, variable, want string }{
		{sub, "", "", repo},
		{repo, "", "", repo},
		{kx, "", "", kx},
		{plain, "", "", plain},
		{home, "", "", home},
		{deep, "", "", outside},
		{sub, "..", "", filepath.Dir(sub)},
		{sub, plain, "/nowhere", plain},
		{plain, "", sub, sub},
	} {
		e.Cwd, e.Workspace, vars["KX_WORKSPACE"] = tc.cwd, tc.flag, tc.variable
		got, err := e.Root(d)
		if err != nil || got != tc.want {
			t.Errorf("in %s with -C %q: got %q, %v, want %q", tc.cwd, tc.flag, got, err, tc.want)
		}
	}
	e.Cwd, vars["KX_WORKSPACE"] = plain, ""
	os.WriteFile(filepath.Join(plain, "f"), nil, 0o644)
	for _, bad := range []string{"missing", "f"} {
		e.Workspace = bad
		if _, err := e.Root(d); fail.Exit(err) != fail.ExitUsage {
			t.Errorf("-C %s: %v", bad, err)
		}
	}
	if got := Workspace(sub, home, os.Getuid()+1); got != sub {
		t.Errorf("a repository of another user is taken: %s", got)
	}
}

func TestCheckWorkspace(t *testing.T) {
	d := Dirs{Home: "/home/u", State: "/home/u/.local/state/kx", Config: "/etc/kxc", Runtime: "/run/user/1/kx", Defaults: []string{"/tmp/kx-1"}}
	for _, bad := range []string{"/", "/home", "/home/u", "/home/u/.local", "/home/u/.local/state/kx/x", "/etc", "/etc/kxc", "/run/user/1", "/tmp", "/tmp/kx-1"} {
		if err := CheckWorkspace(bad, d); fail.Exit(err) != fail.ExitUsage {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, good := range []string{"/home/u/src", "/home/u2", "/tmp/work", "/srv"} {
		if err := CheckWorkspace(good, d); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

func TestSocket(t *testing.T) {
	root := real(t)
	d := Dirs{Runtime: filepath.Join(root, "run"), UID: os.Getuid()}
	got, err := d.Socket("approve.sock")
	if err != nil || got != filepath.Join(root, "run/approve.sock") {
		t.Fatalf("got %q, %v", got, err)
	}
	if fi, _ := os.Stat(d.Runtime); fi.Mode().Perm() != 0o700 {
		t.Errorf("mode %o", fi.Mode().Perm())
	}
	d.Runtime = filepath.Join(root, strings.Repeat("long", 25))
	got, err = d.Socket("approve.sock")
	if err != nil || len(got) > maxSocket || filepath.Dir(got) != fallbackRuntime(d.UID) {
		t.Errorf("got %q, %v", got, err)
	}
	if again, _ := d.Socket("approve.sock"); again != got {
		t.Errorf("the hashed name changes: %q", again)
	}
	if other, _ := d.Socket("mcp.sock"); other == got {
		t.Error("two sockets share a hashed name")
	}
}

func TestEnsurePrivate(t *testing.T) {
	root := real(t)
	mkdir(t, root, "open")
	mkdir(t, root, "target")
	os.Chmod(filepath.Join(root, "target"), 0o700)
	os.Symlink("target", filepath.Join(root, "link"))
	os.WriteFile(filepath.Join(root, "file"), nil, 0o600)
	for _, tc := range []struct {
		name string
		uid  int
		exit int
	}{
		{"new", os.Getuid(), 0}, {"new", os.Getuid(), 0},
		{"new", os.Getuid() + 1, fail.ExitDenied}, {"open", os.Getuid(), fail.ExitDenied},
		{"link", os.Getuid(), fail.ExitDenied}, {"file", os.Getuid(), fail.ExitDenied}, {"file/below", os.Getuid(), fail.ExitUnavailable},
	} {
		err := EnsurePrivate(filepath.Join(root, tc.name), tc.uid)
		if fail.Exit(err) != tc.exit {
			t.Errorf("%s: %v, want exit %d", tc.name, err, tc.exit)
		}
		if err != nil && fail.As(err).Hint == "" {
			t.Errorf("%s: no hint", tc.name)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	root, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	os.MkdirAll(filepath.Join(root, "d/e"), 0o755)
	os.Symlink("d/e", filepath.Join(root, "l"))
	os.Symlink("..", filepath.Join(root, "d/u"))
	os.Symlink("s", filepath.Join(root, "s"))
	os.Symlink("missing/../l", filepath.Join(root, "m"))
	os.Symlink(root+"/l/../u", filepath.Join(root, "a"))
	for _, seed := range []string{"", ".", "..", "l/x", "l/../y", "d/u/l", "s", "m", "a/l/q", "/", "//d", "l\x00", "~/x", "\xff", "d/u/d/u/d/u"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got, err := Canonical(root, path)
		if err != nil {
			return
		}
		if !filepath.IsAbs(got) || filepath.Clean(got) != got {
			t.Fatalf("%q: %q is not absolute and clean", path, got)
		}
		again, err := Canonical("/", got)
		if err != nil || again != got {
			t.Fatalf("%q: %q becomes %q, %v", path, got, again, err)
		}
		if !Inside("/", got) || Inside(root, got) != (got == root || strings.HasPrefix(got, root+"/")) {
			t.Fatalf("%q: Inside is wrong for %q", path, got)
		}
		if whole, err := filepath.EvalSymlinks(got); err == nil && whole != got {
			t.Fatalf("%q: %q still has a symlink (%q)", path, got, whole)
		}
	})
}
