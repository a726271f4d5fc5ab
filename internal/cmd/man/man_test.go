package man

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
)

var pages = fstest.MapFS{
	"kx.1": {Data: []byte("root")}, "kx-policy.1": {}, "kx-policy-check.1": {Data: []byte("check")},
	"kx-json.7": {}, "kx-policy.5": {}, "kx.toml.5": {}, "embed.go": {},
}

func TestFind(t *testing.T) {
	for words, want := range map[string]string{
		"": "kx.1", "kx": "kx.1", "kx.1": "kx.1", "policy": "kx-policy.1", "policy check": "kx-policy-check.1", "kx-policy-check": "kx-policy-check.1",
		"kx policy check": "kx-policy-check.1", "json": "kx-json.7", "kx-policy.5": "kx-policy.5", "policy.5": "kx-policy.5", "kx.toml": "kx.toml.5", "toml": "kx.toml.5",
	} {
		got, err := find(pages, strings.ReplaceAll(words, " ", "-"))
		if got != want || err != nil {
			t.Errorf("find(%q) = %q, %v, want %q", words, got, err, want)
		}
	}
	for name, hint := range map[string]string{"polcy": "kx man policy", "xyzzy": "kx man", "../man/kx.1": "kx man"} {
		if _, err := find(pages, name); fail.Exit(err) != fail.ExitNotFound || fail.As(err).Hint != hint {
			t.Errorf("find(%q): %v, hint %q", name, err, fail.As(err).Hint)
		}
	}
}

func TestShow(t *testing.T) {
	s, _, got, _ := term.Test()
	o := &Options{App: app.New(s, nil, ""), Pages: pages, Words: []string{"policy", "check"}}
	if err := show(t.Context(), o); err != nil || got.String() != "check" {
		t.Errorf("on a pipe: %q, %v", got, err)
	}

	// On a terminal man(1) gets the page.
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	got.Reset()
	s.OutTTY = true
	if err := show(t.Context(), o); err != nil || got.String() != "check" {
		t.Errorf("on a terminal without man(1): %q, %v", got, err)
	}
	viewer := "#!/bin/sh\nread -r page\necho \"$* [$page]\"\nexit \"${MAN_EXIT:-0}\"\n"
	if err := os.WriteFile(filepath.Join(bin, "man"), []byte(viewer), 0o755); err != nil {
		t.Fatal(err)
	}
	got.Reset()
	if err := show(t.Context(), o); err != nil || got.String() != "-l - [check]\n" {
		t.Errorf("on a terminal: %q, %v", got, err)
	}
	t.Setenv("MAN_EXIT", "3")
	if err := show(t.Context(), o); fail.Exit(err) != fail.ExitFailed {
		t.Errorf("man(1) fails: %v", err)
	}
}
