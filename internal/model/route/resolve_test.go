package route

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/internal/record/config/provider"
)

const settings = `
[providers.a]
kind = "anthropic"
key_env = "A_KEY"
accounts.work.key_slot = "model.a.work"
accounts.home.key_slot = "model.a.home"
models.big = { context = 1000, price = { input = 1, output = 10 } }
models.both = {}
[providers.b]
kind = "chat"
base_url = "http://127.0.0.1:1"
models.small = {}
models.both = {}
models."a/x" = {}
[roles.default]
model = "a/big"
fallback = ["cheap", "last"]
[roles.cheap]
model = "b/small"
fallback = ["last"]
[roles.last]
model = "a/big"
account = "work"
[roles.execution]
model = "b/unlisted:7b"
fallback = ["fixed"]
[roles.fixed]
model = "a/big"
account = "home"
`

func catalog(t *testing.T, text string) *provider.Catalog {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.UserConfig), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(paths.Dirs{UID: os.Getuid(), Config: dir}, "/w", nil)
	if err != nil {
		t.Fatal(err)
	}
	return &c.Models
}

// list writes candidates down, a "-" before those that are skipped.
func list(all []Candidate) string {
	var s []string
	for _, c := range all {
		text := fmt.Sprintf("%s:%s", c.ID(), c.Account.Name)
		if len(c.Via) > 0 {
			text += "(" + strings.Join(c.Via, ">") + ")"
		}
		if c.Skipped != "" {
			text = "-" + text
		}
		s = append(s, text)
	}
	return strings.Join(s, " ")
}

func TestResolve(t *testing.T) {
	c := catalog(t, settings)
	for _, tc := range []struct {
		ask     Ask
		missing string
		want    string
	}{
		{Ask{}, "", "a/big:default(default) a/big:work(default) a/big:home(default) b/small:default(default>cheap)"},
		{Ask{}, "default work", "-a/big:default(default) -a/big:work(default) a/big:home(default) b/small:default(default>cheap)"},
		{Ask{Role: "cheap"}, "", "b/small:default(cheap) a/big:work(cheap>last)"},
		{Ask{Role: "last"}, "work", "-a/big:work(last)"},
		{Ask{Role: "observer"}, "", "b/unlisted:7b:default(observer>execution) a/big:home(observer>execution>fixed)"},
		{Ask{Model: "a/big"}, "", "a/big:default a/big:work a/big:home"},
		{Ask{Model: "big"}, "", "a/big:default a/big:work a/big:home"},
		{Ask{Model: "big", Role: "last"}, "", "a/big:default a/big:work a/big:home"},
		{Ask{Model: "b/both"}, "", "b/both:default"},
		{Ask{Model: "b/never-heard-of"}, "", "b/never-heard-of:default"},
		{Ask{Model: "unlisted:7b"}, "", "b/unlisted:7b:default"},
		{Ask{Model: "a/x"}, "", "a/x:default a/x:work a/x:home"},
		{Ask{Model: "b/a/x"}, "", "b/a/x:default"},
	} {
		got, err := Resolve(c, tc.ask, func(a *provider.Account) KeyState {
			switch {
			case !a.Keyed():
				return KeyNone
			case strings.Contains(tc.missing, a.Name):
				return KeyMissing
			}
			return KeySet
		})
		if err != nil || list(got) != tc.want {
			t.Errorf("%+v: %s, %v\nwant %s", tc.ask, list(got), err, tc.want)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	for _, tc := range []struct {
		settings string
		ask      Ask
		exit     int
		want     string
		hint     string
	}{
		{settings, Ask{Model: "both"}, fail.ExitUsage, `"both" is ambiguous: a/both, b/both`, "kx model resolve --model a/both"},
		{settings, Ask{Model: "smal"}, fail.ExitNotFound, "did you mean small?", "kx model resolve --model small"},
		{settings, Ask{Model: "c/whatever"}, fail.ExitNotFound, `there is no model "c/whatever" in config.toml, and no provider "c"`, "kx model list"},
		{settings, Ask{Model: "c/whatever/x:free"}, fail.ExitNotFound, `and no provider "c"`, "kx model list"},
		{settings, Ask{Model: "a"}, fail.ExitNotFound, "a is a provider: name a model of it, a/MODEL", "kx model list"},
		{settings, Ask{Model: "a/"}, fail.ExitUsage, "is no model", "kx model list"},
		{settings, Ask{Model: "a/x y"}, fail.ExitUsage, "is no model", "kx model list"},
		{settings, Ask{Role: "chaep"}, fail.ExitNotFound, "did you mean cheap?", "kx model resolve --role cheap"},
		{settings, Ask{Role: "nobody", Model: "a/big"}, fail.ExitNotFound, "no role", "kx model list"},
		{"", Ask{}, fail.ExitUnavailable, "no model is given, and config.toml has no [roles.default]", "kx model list"},
		{"", Ask{Role: "default"}, fail.ExitNotFound, "no role", "kx model list"},
		{"", Ask{Role: "observer"}, fail.ExitNotFound, "no role", "kx model list"},
		{"", Ask{Model: "x"}, fail.ExitNotFound, "no model", "kx model list"},
	} {
		_, err := Resolve(catalog(t, tc.settings), tc.ask, nil)
		if e := fail.As(err); err == nil || e.Exit != tc.exit || !strings.Contains(e.Msg, tc.want) || e.Hint != tc.hint {
			t.Errorf("%+v: %+v, want %d %s, %s", tc.ask, e, tc.exit, tc.want, tc.hint)
		}
	}
}

func TestReady(t *testing.T) {
	c := catalog(t, settings)
	none := func(state KeyState) []Candidate {
		all, err := Resolve(c, Ask{Model: "a/big"}, func(*provider.Account) KeyState { return state })
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for state, want := range map[KeyState]string{
		KeyMissing: "no model can be asked: a/big (account default): A_KEY is not set; a/big (account work): there is no key in slot model.a.work; a/big (account home): there is no key in slot model.a.home",
		KeyRevoked: "no model can be asked: a/big (account default): A_KEY is not set; a/big (account work): the key in slot model.a.work is revoked; a/big (account home): the key in slot model.a.home is revoked",
	} {
		_, err := Ready(none(state))
		if e := fail.As(err); err == nil || e.Exit != fail.ExitUnavailable || e.Msg != want || e.Hint != "kx secret set model.a.work" {
			t.Errorf("%s: %+v", state, e)
		}
	}
	if ready, err := Ready(none(KeySet)); err != nil || len(ready) != 3 {
		t.Errorf("%d, %v", len(ready), err)
	}
}
