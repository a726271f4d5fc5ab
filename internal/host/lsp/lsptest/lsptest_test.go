package lsptest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/host/lsp/position"
)

// standsAt holds that a name is where a place has it.
func standsAt(t *testing.T, what string, p Place) {
	t.Helper()
	b, err := os.ReadFile(p.File)
	if err != nil {
		t.Error(err)
		return
	}
	line := position.New(b).Line(p.Line)
	if got, _ := position.Identifier(line, p.Column); got != p.Name {
		t.Errorf("%s: at %s is %q, not %q: %q", what, p, got, p.Name, line)
	}
	if runes := []rune(line); !strings.HasPrefix(string(runes[min(p.Column-1, len(runes)):]), p.Name) {
		t.Errorf("%s: %q does not begin at %s", what, p.Name, p)
	}
}

func TestSamples(t *testing.T) {
	for _, name := range Samples(t) {
		places := Sample(t, name, t.TempDir())
		for what, p := range places {
			standsAt(t, name+", "+what, p)
		}
		want := []string{"total", "total.call", "total.again", "item", "label.item", "cart", "cart.use", "local", "local.use", "show"}
		if name != "javascript" {
			want = append(want, "named", "label")
		}
		for _, what := range want {
			if _, ok := places[what]; !ok {
				t.Errorf("%s has no place %q", name, what)
			}
		}
		if len(places) != len(want) {
			t.Errorf("%s has %d places", name, len(places))
		}
	}
}

func TestModule(t *testing.T) {
	dir := t.TempDir()
	files, lines, sum := 0, 0, sha256.New()
	places := Module(t, dir, 83, 3000)
	for what, p := range places {
		standsAt(t, what, p)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		lines += bytes.Count(b, []byte("\n"))
		sum.Write(b)
		if formatted, err := format.Source(b); err != nil || !bytes.Equal(b, formatted) {
			t.Errorf("%s is not formatted: %v", path, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files != 83 || lines != 3000 {
		t.Errorf("%d files, %d lines", files, lines)
	}
	if got := fmt.Sprintf("%x", sum.Sum(nil)[:4]); got != "acc017d7" {
		t.Errorf("it is another one: %s", got)
	}
	cmd := exec.Command("go", "vet", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
}
