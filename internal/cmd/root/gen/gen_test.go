package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kxtools/kx/completions"
	"github.com/kxtools/kx/man"
)

// TestCommittedFilesAreFresh compares what is committed with what the tree gives.
func TestCommittedFilesAreFresh(t *testing.T) {
	for target, committed := range map[string]fs.FS{"man": man.FS, "completions": completions.FS} {
		want := targets[target].make()
		got, err := fs.Glob(committed, targets[target].pattern)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if names := slices.Sorted(maps.Keys(want)); !slices.Equal(names, got) {
			t.Errorf("%s has %q, the tree gives %q: run make man completions", target, got, names)
		}
		for name, text := range want {
			old, err := fs.ReadFile(committed, name)
			if err != nil || !bytes.Equal(old, text) {
				t.Errorf("%s/%s is stale: run make man completions", target, name)
			}
		}
	}
}

// TestPagesAreGoodRoff shows every page and expects no warning.
func TestPagesAreGoodRoff(t *testing.T) {
	for name, text := range pages() {
		cmd := exec.Command("man", "--warnings", "-l", "-")
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANPAGER=cat")
		var errs bytes.Buffer
		cmd.Stdin, cmd.Stderr = bytes.NewReader(text), &errs
		shown, err := cmd.Output()
		if err != nil || errs.Len() > 0 {
			t.Errorf("%s: %v, %s", name, err, &errs)
		}
		for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"} {
			if !strings.Contains(string(shown), section+"\n") {
				t.Errorf("%s has no section %s", name, section)
			}
		}
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		".TH x": `\&.TH x`, "'br": `\(aqbr`, `a\b`: `a\eb`, "--x": `\-\-x`, "`a`": "\\`a\\`", "~/x^y": `\(ti/x\(hay`,
	} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWriteTakesAwayWhatIsGone(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"kx-gone.1", "kx-json.7"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := write("man", dir); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, name := range []string{"kx-gone.1", "kx-json.7", "kx.1", "kx-version.1"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			left = append(left, name)
		}
	}
	if want := []string{"kx-json.7", "kx.1", "kx-version.1"}; !slices.Equal(left, want) {
		t.Errorf("the folder has %q, want %q", left, want)
	}
}
