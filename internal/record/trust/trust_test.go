package trust

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx/fsxtest"
	"github.com/kxtools/kx/internal/record/state"
)

func setup(t *testing.T) (s *Store, workspace string) {
	t.Helper()
	root := t.TempDir()
	workspace = filepath.Join(root, "project")
	put(t, workspace, ".kx/policy.toml", "# one\n")
	return openIn(t, filepath.Join(root, "kx")), workspace
}

func openIn(t *testing.T, dir string) *Store {
	t.Helper()
	st, err := state.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return New(st, func() time.Time { return time.Date(2026, 3, 1, 10, 0, 0, 5, time.UTC) })
}

func put(t *testing.T, workspace, name, content string) {
	t.Helper()
	path := filepath.Join(workspace, name)
	os.MkdirAll(filepath.Dir(path), 0o755)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, s *Store, workspace, level string) Record {
	t.Helper()
	files, err := Read(workspace)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := s.Add(workspace, level, files)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func get(t *testing.T, s *Store, workspace string) Status {
	t.Helper()
	st, err := s.Get(workspace)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// changes is what Get says of the workspace's files, short.
func changes(st Status) string {
	var all []string
	for _, c := range st.Changed {
		old, new := "new", "gone"
		if c.Old != "" {
			old = "old"
		}
		if c.New != "" {
			new = "now"
		}
		all = append(all, c.File+" "+old+" "+new+c.Problem)
	}
	return strings.Join(all, ", ")
}

func TestTrust(t *testing.T) {
	s, ws := setup(t)
	if st := get(t, s, ws); st.Trusted || st.Copies != nil || st.Problem != "" || changes(st) != ".kx/policy.toml new now" {
		t.Errorf("before: %+v", st)
	}
	rec := add(t, s, ws, LevelCode)
	if rec.Workspace != ws || len(rec.MAC) != 64 || !rec.Files[".mcp.json"].Absent || rec.Files[".kx/policy.toml"].SHA256 != digest([]byte("# one\n")) {
		t.Errorf("record %+v", rec)
	}
	data, _ := os.ReadFile(s.base(ws) + ".json")
	if !strings.HasPrefix(string(data), `{"type":"trust","v":1,"workspace":"`+ws+`","level":"code","added_at":"2026-03-01T10:00:00Z","files":{".kx/config.toml":{"absent":true},`) {
		t.Errorf("record %s", data)
	}
	st := get(t, s, ws)
	if !st.Trusted || st.Level != LevelCode || len(st.Copies) != 1 || string(st.Copies[".kx/policy.toml"]) != "# one\n" || len(st.Changed) != 0 {
		t.Errorf("trusted: %+v", st)
	}

	// Whatever happens in the workspace, what was trusted stays in force.
	put(t, ws, ".kx/policy.toml", "# two\n")
	put(t, ws, ".mcp.json", "{}\n")
	st = get(t, s, ws)
	if !st.Trusted || string(st.Copies[".kx/policy.toml"]) != "# one\n" || changes(st) != ".kx/policy.toml old now, .mcp.json new now" {
		t.Errorf("changed: %+v", st)
	}
	if d := st.Changed[0].Diff(); d != "--- trusted .kx/policy.toml\n+++ .kx/policy.toml\n@@ -1,1 +1,1 @@\n-# one\n+# two\n" {
		t.Errorf("diff %s", d)
	}
	if d := st.Changed[1].Diff(); !strings.HasPrefix(d, "--- /dev/null\n+++ .mcp.json\n") {
		t.Errorf("diff %s", d)
	}
	os.RemoveAll(filepath.Join(ws, ".kx"))
	if st = get(t, s, ws); !st.Trusted || string(st.Copies[".kx/policy.toml"]) != "# one\n" || changes(st) != ".kx/policy.toml old gone, .mcp.json new now" {
		t.Errorf("gone: %+v", st)
	}

	add(t, s, ws, LevelFiles)
	if st = get(t, s, ws); st.Level != LevelFiles || len(st.Copies) != 1 || string(st.Copies[".mcp.json"]) != "{}\n" || len(st.Changed) != 0 {
		t.Errorf("trusted anew: %+v", st)
	}
	if left, _ := os.ReadDir(s.base(ws)); len(left) != 1 {
		t.Errorf("old copies are left: %v", left)
	}

	if err := s.Remove(ws); err != nil {
		t.Fatal(err)
	}
	if st = get(t, s, ws); st.Trusted || st.Copies != nil {
		t.Errorf("removed: %+v", st)
	}
	if err := s.Remove(ws); fail.Exit(err) != fail.ExitNotFound {
		t.Errorf("removed twice: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(s.st.Dir(), folder)); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestList(t *testing.T) {
	s, ws := setup(t)
	other := filepath.Join(filepath.Dir(ws), "another")
	put(t, other, ".mcp.json", "{}")
	if all, err := s.List(); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	add(t, s, ws, LevelFiles)
	add(t, s, other, LevelCode)
	broken := filepath.Join(s.st.Dir(), folder, "0123456789ab.json")
	os.WriteFile(broken, []byte("{}"), 0o600)
	all, err := s.List()
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	if all[0].Trusted || !strings.Contains(all[0].Problem, broken) || all[1].Workspace != other || all[1].Level != LevelCode || all[2].Workspace != ws {
		t.Errorf("%+v", all)
	}
}

func TestWhatSomebodySawIsTrusted(t *testing.T) {
	s, ws := setup(t)
	seen, _ := Read(ws)
	for name, change := range map[string]func(){
		"changed": func() { put(t, ws, ".kx/policy.toml", "# evil\n") },
		"added":   func() { put(t, ws, ".kx/policy.toml", "# one\n"); put(t, ws, ".mcp.json", "{}") },
		"removed": func() { os.Remove(filepath.Join(ws, ".mcp.json")); os.Remove(filepath.Join(ws, ".kx/policy.toml")) },
	} {
		change()
		if _, err := s.Add(ws, LevelFiles, seen); fail.Exit(err) != fail.ExitConflict {
			t.Errorf("%s: %v", name, err)
		}
		put(t, ws, ".kx/policy.toml", "# one\n")
		os.Remove(filepath.Join(ws, ".mcp.json"))
	}
	if get(t, s, ws).Trusted {
		t.Error("trusted")
	}
}

func TestTamperedRecords(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, s *Store, ws string){
		"level": func(t *testing.T, s *Store, ws string) { edit(t, s, ws, `"level":"files"`, `"level":"code"`) },
		"added field": func(t *testing.T, s *Store, ws string) {
			edit(t, s, ws, `"v":1,`, `"v":1,"more":true,`)
		},
		"hash": func(t *testing.T, s *Store, ws string) {
			os.WriteFile(filepath.Join(s.base(ws), digest([]byte("evil"))), []byte("evil"), 0o600)
			edit(t, s, ws, digest([]byte("# one\n")), digest([]byte("evil")))
		},
		"no mac":   func(t *testing.T, s *Store, ws string) { edit(t, s, ws, `"mac":"`, `"nomac":"`) },
		"not json": func(t *testing.T, s *Store, ws string) { edit(t, s, ws, `{"type"`, `"type"`) },
		"empty":    func(t *testing.T, s *Store, ws string) { os.Truncate(s.base(ws)+".json", 0) },
		"copy": func(t *testing.T, s *Store, ws string) {
			os.WriteFile(filepath.Join(s.base(ws), digest([]byte("# one\n"))), []byte("# ONE\n"), 0o600)
		},
		"no copy":   func(t *testing.T, s *Store, ws string) { os.RemoveAll(s.base(ws)) },
		"other key": func(t *testing.T, s *Store, ws string) { os.Remove(filepath.Join(s.st.Dir(), "approver.key")) },
		"other root": func(t *testing.T, s *Store, ws string) {
			elsewhere := filepath.Join(filepath.Dir(ws), "elsewhere")
			put(t, elsewhere, ".kx/policy.toml", "# one\n")
			add(t, s, elsewhere, LevelFiles)
			os.Rename(s.base(elsewhere)+".json", s.base(ws)+".json")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, ws := setup(t)
			add(t, s, ws, LevelFiles)
			harm(t, s, ws)
			st := get(t, s, ws)
			if st.Trusted || st.Copies != nil || !strings.Contains(st.Problem, "is not valid") {
				t.Errorf("%+v", st)
			}
			all, err := s.List()
			if err != nil || len(all) == 0 {
				t.Fatal(err)
			}
			for _, st := range all {
				if st.Trusted && st.Workspace == ws {
					t.Errorf("listed as trusted: %+v", st)
				}
			}
			add(t, s, ws, LevelFiles)
			if st := get(t, s, ws); !st.Trusted {
				t.Errorf("trusting it again does not mend it: %+v", st)
			}
		})
	}
}

func edit(t *testing.T, s *Store, ws, old, new string) {
	t.Helper()
	path := s.base(ws) + ".json"
	data, _ := os.ReadFile(path)
	changed := strings.Replace(string(data), old, new, 1)
	if changed == string(data) {
		t.Fatalf("%q is not in %s", old, data)
	}
	os.WriteFile(path, []byte(changed), 0o600)
}

func TestSignatureIgnoresOrderOnly(t *testing.T) {
	key := make([]byte, 32)
	a, _ := sign(key, []byte(`{"a":1,"b":"<&>","mac":"x"}`))
	b, _ := sign(key, []byte(` { "b" : "<&>", "a" : 1 }`))
	c, _ := sign(key, []byte(`{"a":1.0,"b":"<&>"}`))
	if a != b || a == c || a == "" {
		t.Errorf("%s %s %s", a, b, c)
	}
}

func TestFilesThatCannotBeTrusted(t *testing.T) {
	for name, tc := range map[string]struct {
		want string
		harm func(ws string)
	}{
		"symlinked file": {"it is a symlink", func(ws string) {
			os.Rename(filepath.Join(ws, ".kx/policy.toml"), filepath.Join(ws, "p"))
			os.Symlink("../p", filepath.Join(ws, ".kx/policy.toml"))
		}},
		"symlinked folder": {".kx is a symlink", func(ws string) {
			os.Rename(filepath.Join(ws, ".kx"), filepath.Join(ws, "k"))
			os.Symlink("k", filepath.Join(ws, ".kx"))
		}},
		"folder is a file": {".kx is not a folder", func(ws string) {
			os.RemoveAll(filepath.Join(ws, ".kx"))
			os.WriteFile(filepath.Join(ws, ".kx"), nil, 0o644)
		}},
		"pipe": {"it is not a regular file", func(ws string) {
			syscall.Mkfifo(filepath.Join(ws, ".mcp.json"), 0o644)
		}},
		"too large": {"larger than 1024 KiB", func(ws string) {
			os.WriteFile(filepath.Join(ws, ".mcp.json"), make([]byte, maxFile+1), 0o644)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, ws := setup(t)
			add(t, s, ws, LevelFiles)
			tc.harm(ws)
			if _, err := Read(ws); fail.Exit(err) != fail.ExitUsage || !strings.Contains(err.Error(), tc.want) || fail.As(err).Hint == "" {
				t.Errorf("read: %v", err)
			}
			if _, err := s.Add(ws, LevelFiles, nil); fail.Exit(err) != fail.ExitUsage {
				t.Errorf("add: %v", err)
			}
			st := get(t, s, ws)
			if !st.Trusted || string(st.Copies[".kx/policy.toml"]) != "# one\n" || !strings.Contains(changes(st), tc.want) {
				t.Errorf("get: %+v", st)
			}
		})
	}
}

// A child trusts two versions in turn and is killed at any moment: one of the
// two is in force, whole, always.
func TestKillWhileTrusting(t *testing.T) {
	if task, ok := fsxtest.Child(); ok {
		s, ws := openIn(t, filepath.Join(task, "kx")), filepath.Join(task, "project")
		for i := 0; ; i++ {
			put(t, ws, ".kx/policy.toml", fmt.Sprintf("# %d\n", i%2))
			put(t, ws, ".mcp.json", fmt.Sprintf("%d", i%2))
			add(t, s, ws, LevelFiles)
			fsxtest.Say("added")
		}
	}
	root := t.TempDir()
	s, ws := openIn(t, filepath.Join(root, "kx")), filepath.Join(root, "project")
	for round := range 20 {
		fsxtest.KillAfter(t, root, 1+round%4)
		st := get(t, s, ws)
		policy, mcp := string(st.Copies[".kx/policy.toml"]), string(st.Copies[".mcp.json"])
		if !st.Trusted || policy != "# "+mcp+"\n" {
			t.Fatalf("round %d: %q and %q: %+v", round, policy, mcp, st)
		}
	}
}

func FuzzRecord(f *testing.F) {
	st, err := state.Open(filepath.Join(f.TempDir(), "kx"))
	if err != nil {
		f.Fatal(err)
	}
	s := New(st, time.Now)
	ws := f.TempDir()
	if _, err := s.Add(ws, LevelFiles, nil); err != nil {
		f.Fatal(err)
	}
	good, _ := os.ReadFile(s.base(ws) + ".json")
	var want Record
	json.Unmarshal(good, &want)
	f.Add(good)
	f.Add([]byte(`{"type":"trust","v":1,"workspace":"/","mac":""}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		os.WriteFile(s.base(ws)+".json", data, 0o600)
		st, err := s.Get(ws)
		if err != nil {
			t.Fatal(err)
		}
		if st.Trusted && (st.Level != want.Level || !st.AddedAt.Equal(want.AddedAt) || len(st.Copies) > 0) {
			t.Fatalf("%q is trusted: %+v", data, st)
		}
	})
}
