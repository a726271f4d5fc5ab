package secret

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/internal/record/state"
)

func open(t *testing.T) (*Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	st, err := state.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return New(st), filepath.Join(dir, folder)
}

// another opens the same directory as another process does.
func another(t *testing.T, s *Store) *Store {
	t.Helper()
	st, err := state.Open(s.st.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return New(st)
}

var slotNames = map[string]bool{
	"model.anthropic.work": true, "model.a.b": true, "model.Open_AI-2.x9": true, "mcp.custom.github.TOKEN": true, "mcp.custom.a.b_1": true,
	"mcp.custom.9-x._X": true, "mcp.oauth.linear": true, "model.a." + strings.Repeat("x", 64): true,
	"": false, "model": false, "model.": false, "model.a": false, "model.a.": false, "model..b": false, "model.a.b.c": false, "mcp.oauth": false,
	"mcp.oauth.a.b": false, "mcp.custom.a": false, "mcp.custom.a.1X": false, "mcp.custom.a.X-Y": false, "mcp.other.a.b": false, "Model.a.b": false,
	"model.a/b.c": false, "model.../..": false, "model.a b.c": false, "model.-a.b": false, "model.é.b": false, "model.a.b\n": false,
	"model.a.b\x00": false, " model.a.b": false, "model.a." + strings.Repeat("x", 65): false, "identity": false,
}

func TestSlots(t *testing.T) {
	for slot, good := range slotNames {
		err := Check(slot)
		if (err == nil) != good || !good && (fail.Exit(err) != fail.ExitUsage || !strings.Contains(err.Error(), Forms)) {
			t.Errorf("%q: %v", slot, err)
		}
	}
}

func FuzzSlot(f *testing.F) {
	for slot := range slotNames {
		f.Add(slot)
	}
	f.Fuzz(func(t *testing.T, slot string) {
		if Check(slot) != nil {
			return
		}
		name := slot + valueExt
		if filepath.Base(name) != name || len(name) > 255 || strings.HasPrefix(name, ".") || strings.Trim(slot, letters+digits+"._-") != "" {
			t.Fatalf("%q would be a file", slot)
		}
	})
}

func TestLife(t *testing.T) {
	s, dir := open(t)
	const slot = "model.anthropic.work"
	if _, err := s.Get(slot); fail.Exit(err) != fail.ExitUnavailable || fail.As(err).Hint != "kx secret set "+slot {
		t.Errorf("never set: %v", err)
	}
	if err := s.Revoke(slot); fail.Exit(err) != fail.ExitNotFound {
		t.Errorf("revoked what was never set: %v", err)
	}
	if all, err := s.List(); len(all) != 0 || err != nil {
		t.Errorf("%v %v", all, err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("reading has made the folder")
	}
	for _, value := range []string{"first value\n of two lines", strings.Repeat("é", MaxValue/2), "x"} {
		if err := s.Set(slot, value); err != nil {
			t.Fatal(err)
		}
		if got, err := another(t, s).Get(slot); got != value || err != nil {
			t.Fatalf("%d bytes come back as %d, %v", len(value), len(got), err)
		}
	}
	s.Set("mcp.oauth.a", "a secret of nobody")
	os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600)
	os.WriteFile(filepath.Join(dir, ".model.a.b.age123"), nil, 0o600)
	all, err := s.List()
	if err != nil || len(all) != 2 || all[0].Slot != "mcp.oauth.a" || all[1] != (Info{slot, Set, all[1].UpdatedAt}) || time.Since(all[1].UpdatedAt) > time.Hour {
		t.Errorf("%+v %v", all, err)
	}
	if err := s.Revoke(slot); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(slot); fail.As(err).Code != "secret_revoked" || fail.Exit(err) != fail.ExitUnavailable {
		t.Errorf("revoked: %v", err)
	}
	if in, err := s.Info(slot); err != nil || in.State != Revoked || in.UpdatedAt.IsZero() {
		t.Errorf("%+v %v", in, err)
	}
	if err := s.Set(slot, "again"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(slot); got != "again" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	for name, mode := range map[string]os.FileMode{"": 0o700, identityFile: 0o600, slot + valueExt: 0o600} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", name, fi.Mode(), err)
		}
	}
}

func TestValues(t *testing.T) {
	for value, exit := range map[string]int{
		"": 2, "a\x00b": 2, "a\xffb": 2, strings.Repeat("x", MaxValue+1): 6, strings.Repeat("x", MaxValue): 0, " ": 0,
	} {
		s, dir := open(t)
		err := s.Set("model.a.b", value)
		if fail.Exit(err) != exit || err != nil && len(value) > 1 && strings.Contains(err.Error(), value) {
			t.Errorf("%.9q: %v", value, err)
		}
		if _, err := os.Lstat(dir); exit != 0 && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%.9q leaves something behind", value)
		}
	}
}

// What others could read is not used, and says what to type; the redactor, without
// which no call runs, does not either.
func TestOpenToOthers(t *testing.T) {
	for name, mode := range map[string]os.FileMode{identityFile: 0o640, "": 0o750} {
		s, dir := open(t)
		if err := s.Set("model.a.b", "a long value"); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		os.Chmod(path, mode)
		want := "chmod 600 " + path
		if name == "" {
			want = "chmod 700 " + dir
		}
		s = another(t, s)
		_, get := s.Get("model.a.b")
		_, known := Redactor(s.st)
		for what, err := range map[string]error{"get": get, "redactor": known, "set": s.Set("model.c.d", "x")} {
			if fail.Exit(err) != fail.ExitUsage || fail.As(err).Hint != want {
				t.Errorf("%s of %s with mode %o: %v, %s", what, name, mode, err, fail.As(err).Hint)
			}
		}
		os.Chmod(path, mode&^0o077)
		if got, err := s.Get("model.a.b"); got != "a long value" || err != nil {
			t.Errorf("mended: %q %v", got, err)
		}
	}
}

func TestDamage(t *testing.T) {
	for name, spoil := range map[string]func(dir string){
		"a slot that is cut":   func(dir string) { os.Truncate(filepath.Join(dir, "model.a.b.age"), 230) },
		"a slot that is none":  func(dir string) { os.WriteFile(filepath.Join(dir, "model.a.b.age"), []byte("a long value"), 0o600) },
		"a slot that is large": func(dir string) { os.Truncate(filepath.Join(dir, "model.a.b.age"), maxFile+1) },
		"a slot of another":    func(dir string) { os.Rename(filepath.Join(dir, "other"), filepath.Join(dir, "model.a.b.age")) },
		"no identity":          func(dir string) { os.Remove(filepath.Join(dir, identityFile)) },
		"a bad identity": func(dir string) {
			os.WriteFile(filepath.Join(dir, identityFile), []byte("AGE-SECRET-KEY-1QQQQ\n"), 0o600)
		},
	} {
		s, dir := open(t)
		foreign, foreignDir := open(t)
		if err := errors.Join(s.Set("model.a.b", "a long value"), foreign.Set("model.a.b", "x")); err != nil {
			t.Fatal(err)
		}
		other, _ := os.ReadFile(filepath.Join(foreignDir, "model.a.b.age"))
		os.WriteFile(filepath.Join(dir, "other"), other, 0o600)
		spoil(dir)
		s = another(t, s)
		_, get := s.Get("model.a.b")
		_, known := Redactor(s.st)
		for what, err := range map[string]error{"get": get, "redactor": known} {
			if err == nil || strings.Contains(err.Error(), "long value") || strings.Contains(err.Error(), "QQQQ") || fail.As(err).Hint == "" {
				t.Errorf("%s with %s: %v", what, name, err)
			}
		}
		if strings.Contains(name, "identity") {
			if err := s.Set("model.c.d", "x"); fail.Exit(err) != fail.ExitUsage {
				t.Errorf("%s: another one was made: %v", name, err)
			}
			// Without what needed it, a new one is fine.
			os.Remove(filepath.Join(dir, identityFile))
			if err := errors.Join(s.Revoke("model.a.b"), s.Set("model.c.d", "x")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else if err := s.Set("model.a.b", "mended"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Many processes set at once, also the first secret of all: each slot has one of
// the values, and all are of one identity.
func TestSideBySide(t *testing.T) {
	s, _ := open(t)
	var all sync.WaitGroup
	for i := range 16 {
		own := another(t, s)
		all.Go(func() {
			if err := errors.Join(own.Set("model.a.b", fmt.Sprint("value ", i)), own.Set(fmt.Sprint("model.a.c", i), "x")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, err := s.Get("model.a.b"); !strings.HasPrefix(got, "value ") || err != nil {
		t.Errorf("%q %v", got, err)
	}
	for i := range 16 {
		if _, err := s.Get(fmt.Sprint("model.a.c", i)); err != nil {
			t.Error(err)
		}
	}
}

func TestPassphrase(t *testing.T) {
	s, dir := open(t)
	if err := s.Set("model.a.b", "a long value"); err != nil {
		t.Fatal(err)
	}
	if err := s.Protect("short"); fail.Exit(err) != fail.ExitUsage {
		t.Errorf("a short one: %v", err)
	}
	if err := s.Protect("correct horse"); err != nil {
		t.Fatal(err)
	}
	if raw, _ := os.ReadFile(filepath.Join(dir, identityFile)); !strings.HasPrefix(string(raw), sealedMark) || strings.Contains(string(raw), "AGE-SECRET") {
		t.Errorf("%.40q", raw)
	}

	nobody := another(t, s)
	if _, err := nobody.Get("model.a.b"); !errors.Is(err, ErrLocked) || fail.Exit(err) != fail.ExitUnavailable {
		t.Errorf("nobody to ask: %v", err)
	}
	if locked, err := nobody.Locked(); !locked || err != nil {
		t.Errorf("locked %v, %v", locked, err)
	}
	if r, err := Redactor(nobody.st); r != nil || err != nil {
		t.Errorf("what is known behind a passphrase: %v, %v", r, err)
	}
	if all, err := nobody.List(); len(all) != 1 || err != nil {
		t.Errorf("%v %v", all, err)
	}
	if err := nobody.Revoke("model.a.b"); err != nil {
		t.Error(err)
	}

	asked, answer := 0, "wrong horse"
	s = another(t, s)
	s.Ask = func(string) (string, error) { asked++; return answer, nil }
	if err := s.Set("model.a.b", "another value"); fail.As(err).Code != "wrong_passphrase" {
		t.Errorf("the wrong one: %v", err)
	}
	answer = "correct horse"
	if err := s.Set("model.a.b", "another value"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get("model.a.b"); got != "another value" || err != nil || asked != 2 {
		t.Errorf("%q %v, asked %d times", got, err, asked)
	}
	if r, err := Redactor(s.st); r.String("another value") != "[secret model.a.b]" || err != nil {
		t.Errorf("once it is open: %v", err)
	}
	if err := s.Protect(""); err != nil {
		t.Fatal(err)
	}
	if got, err := another(t, s).Get("model.a.b"); got != "another value" || err != nil {
		t.Errorf("in the open again: %q %v", got, err)
	}
}

// The redactor knows the values as they are now, whoever changes them.
func TestRedactor(t *testing.T) {
	s, _ := open(t)
	if r, err := Redactor(s.st); r != nil || err != nil {
		t.Errorf("without secrets: %v, %v", r, err)
	}
	says := func(text, want string) {
		t.Helper()
		if r, err := Redactor(s.st); err != nil || r.String(text) != want {
			t.Errorf("%q is %q, %v, want %q", text, r.String(text), err, want)
		}
	}
	writer := another(t, s)
	for i := range 20 { // faster than the clock of files
		value := fmt.Sprintf("%08d the value", i)
		if err := writer.Set("model.a.b", value); err != nil {
			t.Fatal(err)
		}
		says("x "+value, "x [secret model.a.b]")
		says(fmt.Sprintf("x %08d the value", i+1), fmt.Sprintf("x %08d the value", i+1))
	}
	one, _ := Redactor(s.st)
	if two, _ := Redactor(s.st); one != two {
		t.Error("nothing has changed, and all were decrypted again")
	}
	writer.Set("mcp.custom.x.Y", "x 00000019 the value y")
	says("x 00000019 the value y", "[secret mcp.custom.x.Y]")
	writer.Revoke("model.a.b")
	writer.Revoke("mcp.custom.x.Y")
	says("x 00000019 the value y", "x 00000019 the value y")
}

func BenchmarkRedactor(b *testing.B) {
	st, err := state.Open(filepath.Join(b.TempDir(), "state"))
	if err != nil {
		b.Fatal(err)
	}
	for i := range 5 {
		if err := New(st).Set(fmt.Sprint("model.a.b", i), fmt.Sprint("a value of some length ", i)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		own, _ := state.Peek(st.Dir())
		if _, err := Redactor(own); err != nil {
			b.Fatal(err)
		}
	}
}

// What lies elsewhere is known beside the slots, with none, and behind a passphrase.
func TestKnow(t *testing.T) {
	s, dir := open(t)
	shown := func(text string) string {
		t.Helper()
		r, err := Redactor(s.st)
		if err != nil {
			t.Fatal(err)
		}
		return r.String(text)
	}
	if got := shown("key-of-a-variable"); got != "key-of-a-variable" {
		t.Errorf("nobody knows it: %s", got)
	}
	Know(s.st, []redact.Secret{{Name: "A_KEY", Value: "key-of-a-variable"}})
	if got := shown("key-of-a-variable"); got != "[secret A_KEY]" {
		t.Errorf("without slots: %s", got)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("knowing has made the folder")
	}
	if err := s.Set("model.a.b", "key-of-a-slot"); err != nil {
		t.Fatal(err)
	}
	Know(s.st, []redact.Secret{{Name: "A_KEY", Value: "key-of-a-variable"}, {Name: "B_KEY", Value: "key-of-another"}})
	if got := shown("key-of-a-variable key-of-another key-of-a-slot"); got != "[secret A_KEY] [secret B_KEY] [secret model.a.b]" {
		t.Errorf("beside a slot: %s", got)
	}
	if err := s.Protect("a long passphrase"); err != nil {
		t.Fatal(err)
	}
	s = another(t, s)
	Know(s.st, []redact.Secret{{Name: "A_KEY", Value: "key-of-a-variable"}})
	if got := shown("key-of-a-variable key-of-a-slot"); got != "[secret A_KEY] key-of-a-slot" {
		t.Errorf("behind a passphrase: %s", got)
	}
}
