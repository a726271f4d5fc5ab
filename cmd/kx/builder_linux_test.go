package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ordinary is who runs everything once more where the tests are the superuser's.
const ordinary = 65534

// builder is somebody with a home who lets kx build things in it.
type builder struct {
	*testing.T
	uid, gid        int
	bin, home, path string
}

// as makes a command one of this user's.
func (b *builder) as(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = []string{"HOME=" + b.home, "PATH=" + b.path, "LC_ALL=C.UTF-8", "XDG_RUNTIME_DIR=" + filepath.Join(b.home, "run")}
	if b.uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(b.uid), Gid: uint32(b.gid)}}
	}
	return cmd
}

// write makes a file of this user's in the home.
func (b *builder) write(name, text string, mode fs.FileMode) {
	b.Helper()
	path := filepath.Join(b.home, name)
	b.folder(filepath.Dir(name))
	if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chown(path, b.uid, b.gid)); err != nil {
		b.Fatal(err)
	}
}

// folder makes a folder of the home, with those above it.
func (b *builder) folder(name string) string {
	b.Helper()
	path := b.home
	for _, part := range strings.Split(filepath.Clean(name), "/") {
		path = filepath.Join(path, part)
		if err := os.MkdirAll(path, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.Chown(path, b.uid, b.gid); err != nil {
			b.Fatal(err)
		}
	}
	return path
}

// host runs a command of this user's outside of any walls.
func (b *builder) host(dir, command string) {
	b.Helper()
	cmd := b.as(exec.Command("bash", "-ec", command))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", command, err, out)
	}
}

type ran struct {
	Status string
	Output struct {
		Text, Stdout, Sandbox string
		DurationMS            int64 `json:"duration_ms"`
	}
	Error struct{ Message string }
}

// call runs a command by kx. With a file named, kx is told to end when it is there.
func (b *builder) call(dir, command, until string) (r ran) {
	b.Helper()
	input, err := json.Marshal(map[string]any{"command": command, "timeout_ms": 300_000})
	if err != nil {
		b.Fatal(err)
	}
	cmd := b.as(exec.Command(filepath.Join(b.bin, "kx"), "call", "bash", string(input), "--mode", "bypassPermissions"))
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); until != "" && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Lstat(filepath.Join(dir, until)); err == nil {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			break
		}
	}
	_ = cmd.Wait() // the result has its status
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		b.Fatalf("%v: %q %s", err, &out, &errs)
	}
	return r
}

// works runs a command that must succeed behind full walls.
func (b *builder) works(dir, command string) ran {
	b.Helper()
	r := b.call(dir, "set -ex\n"+command, "")
	if r.Status != "ok" || r.Output.Sandbox != "network_enabled" {
		b.Fatalf("%s\n%s %s %s\n%s", command, r.Status, r.Output.Sandbox, r.Error.Message, r.Output.Text)
	}
	return r
}

// finds reports whether this user finds a program that runs.
func (b *builder) finds(argv []string) bool {
	return slices.ContainsFunc(filepath.SplitList(b.path), func(dir string) bool {
		cmd := b.as(exec.Command(filepath.Join(dir, argv[0]), argv[1:]...))
		cmd.Dir = "/"
		return cmd.Run() == nil
	})
}

// tree describes all of a folder: what every file is, holds and says of itself.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var s strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprint(&s, path, " ", fi.Mode(), " ", fi.ModTime().UnixNano(), " ")
		if fi.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&s, "%x", sha256.Sum256(text))
		}
		s.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.String()
}

// toolchains returns the folders of the programs that build things: not those of
// managers such as pyenv or rustup, whose proxies look for the real one in the home.
func toolchains(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, line := range [][]string{{"go", "env", "GOROOT"}, {"rustup", "which", "cargo"}} {
		if out, err := exec.Command(line[0], line[1:]...).Output(); err == nil {
			dir := strings.TrimSpace(string(out))
			if line[0] == "go" {
				dirs = append(dirs, filepath.Join(dir, "bin"))
			} else {
				dirs = append(dirs, filepath.Dir(dir))
			}
		}
	}
	for _, name := range []string{"node", "npm"} {
		if path, err := exec.LookPath(name); err == nil {
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	return append(dirs, "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")
}

// newBuilder makes a home with nothing in it but a rule that allows every command.
func newBuilder(t *testing.T, uid int, bin string, path []string) *builder {
	t.Helper()
	home, err := os.MkdirTemp("", "kx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = filepath.WalkDir(home, func(path string, d fs.DirEntry, _ error) error { // overlayfs makes folders that nobody may read
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
		os.RemoveAll(home)
	})
	b := &builder{T: t, uid: uid, gid: os.Getgid(), bin: bin, home: home, path: strings.Join(path, ":")}
	if uid != os.Getuid() {
		b.gid = uid
	}
	if err := os.Chown(home, b.uid, b.gid); err != nil {
		t.Fatal(err)
	}
	b.write(".config/kx/policy.toml", "[[rule]]\ntool = \"bash\"\ndecision = \"allow\"\n", 0o600)
	return b
}

// warm gives the home what a person's has: caches in use, and a .gitconfig.
func (b *builder) warm(gocache string) {
	b.Helper()
	for _, dir := range []string{".cache/pip", ".npm/_cacache", "go/pkg/mod/cache", ".cargo/registry", ".local/share/pnpm"} {
		b.write(filepath.Join(dir, "kept"), "kept\n", 0o644)
	}
	if out, err := exec.Command("cp", "-a", gocache, filepath.Join(b.home, ".cache/go-build")).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command("chown", "-R", fmt.Sprint(b.uid, ":", b.gid), b.home).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	b.write(".gitconfig", "[user]\nname = Tester\nemail = tester@example.org\n[core]\nhooksPath = ~/hooks\n[init]\ndefaultBranch = main\n", 0o644)
	b.write("hooks/pre-commit", "#!/bin/sh\necho the hook ran\n", 0o755)
}

// programs are copies of this test binary that everybody may run.
func programs(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for up := dir; up != filepath.Clean(os.TempDir()) && up != "/"; up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"kx", "kxd"} {
		in, err := os.Open(self)
		if err != nil {
			t.Fatal(err)
		}
		out, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY, 0o755)
		if err == nil {
			_, err = io.Copy(out, in)
			err = errors.Join(err, out.Close())
		}
		if in.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What people build with works behind the walls as it is: with a home that has
// nothing, and with one whose caches are in use and stay as they are. Where the
// superuser runs this an ordinary user does too, but for a toolchain that lies in
// a folder of the superuser's, as that of rustup may: that one is told.
func TestBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds what has no cache yet")
	}
	path := toolchains(t)
	bin := programs(t)
	uids := []int{os.Getuid()}
	if uids[0] == 0 {
		uids = append(uids, ordinary)
	}
	for _, uid := range uids {
		t.Run(strconv.Itoa(uid), func(t *testing.T) {
			t.Parallel()
			empty := newBuilder(t, uid, bin, path)
			before, _ := os.ReadDir(empty.home)
			empty.builds()
			for _, name := range []string{".cache", ".npm", "go", ".cargo", ".gitconfig"} {
				if _, err := os.Lstat(filepath.Join(empty.home, name)); err == nil {
					t.Errorf("%s was made in a home with %v", name, before)
				}
			}
			found, err := filepath.Glob(filepath.Join(empty.home, ".local/state/kx/scratch/temp/*/.cache/cache/go-build"))
			if err != nil || len(found) != 1 {
				t.Fatalf("the caches of go: %v, %v", found, err)
			}
			warm := newBuilder(t, uid, bin, path)
			warm.warm(found[0])
			own := []string{".cache", ".npm", "go", ".cargo", ".gitconfig", "hooks", ".local/share"}
			was := make([]string, len(own))
			for i, dir := range own {
				was[i] = tree(t, filepath.Join(warm.home, dir))
			}
			warm.builds()
			for i, dir := range own {
				if is := tree(t, filepath.Join(warm.home, dir)); is != was[i] {
					t.Errorf("%s is not what it was", dir)
				}
			}
		})
	}
}

// builds builds with everything that this user may run.
func (b *builder) builds() {
	for _, c := range []struct {
		name   string
		probe  []string
		builds func(*builder, string)
	}{
		{"git", []string{"git", "--version"}, buildGit},
		{"go", []string{"go", "version"}, buildGo},
		{"npm", []string{"npm", "--version"}, buildNpm},
		{"python", []string{"python3", "-c", "import venv, ensurepip"}, buildPython},
		{"cargo", []string{"cargo", "--version"}, buildCargo},
		{"machine", []string{"cc", "--version"}, tryMachine},
	} {
		if !b.finds(c.probe) {
			if super := *b; b.uid != os.Getuid() {
				if super.uid = os.Getuid(); super.finds(c.probe) {
					b.Logf("%s lies where only the superuser gets to: user %d does not build with it", c.name, b.uid)
					continue
				}
			}
			b.Errorf("%s can't be run: make deps installs it", c.probe[0])
			continue
		}
		start := time.Now()
		c.builds(b, b.folder("work/"+c.name))
		b.Logf("user %d, %s: %v", b.uid, c.name, time.Since(start).Round(time.Millisecond))
	}
}
