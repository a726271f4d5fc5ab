package config

import (
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
)

func TestNotify(t *testing.T) {
	c, err := Load(setup(t, "[approve]\nnotify = \"notify-send \\\"$(jq -r .tool)\\\"\"\n"), "/w", nil)
	if err != nil || c.Approve.Notify != `notify-send "$(jq -r .tool)"` {
		t.Errorf("it is %q, %v", c.Approve.Notify, err)
	}
	for content, want := range map[string]string{
		"[approve]\nnotify = [\"notify-send\"]\n": "config.toml:2: approve.notify: expected text",
		"[approve]\nnotify = true\n":              "config.toml:2: approve.notify: expected text",
		"[approve]\nnotify = \"a\\u0000b\"\n":     "config.toml:2: approve.notify: expected text",
		"notify = \"x\"\n":                        `config.toml:1: unknown key "notify"; did you mean approve.notify?`,
	} {
		if _, err := Load(setup(t, content), "/w", nil); fail.Exit(err) != fail.ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}

// A project runs nothing on the user's behalf.
func TestProjectSetsNoNotify(t *testing.T) {
	for _, content := range []string{"[approve]\nnotify = \"x\"\n", "approve.notify = \"x\"\n", "approve = { notify = \"x\" }\n", "[approve]\n"} {
		c, err := Load(setup(t, ""), "/w", map[string][]byte{ProjectConfig: []byte(content)})
		if fail.Exit(err) != fail.ExitUsage || !strings.Contains(err.Error(), "a project may not set approve") {
			t.Errorf("%q: %+v, %v", content, c, err)
		}
	}
}

// The bell rings unless the user says otherwise, whoever asks.
func TestBell(t *testing.T) {
	for content, want := range map[string]bool{
		"":                             true,
		"[approve]\noperator = true\n": true,
		"[approve]\nbell = true\n":     true,
		"[approve]\nbell = false\n":    false,
		"mode = \"plan\"\napprove.bell = false\n": false,
	} {
		d := setup(t, content)
		c, err := Load(d, "/w", nil)
		if err != nil || c.Approve.Bell != want {
			t.Errorf("%q: %v, %v", content, c.Approve, err)
		}
		if a, err := LoadApprove(d.Config, d.UID); err != nil || a.Bell != want {
			t.Errorf("%q alone: %v, %v", content, a, err)
		}
	}
	if _, err := Load(setup(t, "[approve]\nbell = \"loud\"\n"), "/w", nil); err == nil || !strings.Contains(err.Error(), "config.toml:2: approve.bell: expected true or false") {
		t.Error(err)
	}
}
