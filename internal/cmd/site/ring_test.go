package site

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/wire"
)

// The user's command hears of a request in the user's home; where none is set,
// or the file is broken, the call that parked goes on all the same.
func TestRing(t *testing.T) {
	a := &wire.Approval{Type: "approval", V: wire.Version, ID: "abcd", Tool: "bash", Input: json.RawMessage(`{}`), State: wire.ApprovalPending}
	_, s := at(t)
	d, err := s.Dirs()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(d.Config, 0o700); err != nil {
		t.Fatal(err)
	}
	heard := filepath.Join(d.Home, "heard")
	for content, rings := range map[string]bool{
		"": false, "[approve]\n": false, "[approve]\nnotify = \"\"\n": false, "[approve\n": false, "[approve]\nnotify = 3\n": false,
		"[approve]\nnotify = \"exit 3\"\n":                   false,
		"[approve]\nnotify = \"cat >part; mv part heard\"\n": true,
	} {
		if err := os.WriteFile(filepath.Join(d.Config, config.UserConfig), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Ring(t.Context(), a)
		if !rings {
			continue
		}
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			var got wire.Approval
			if raw, err := os.ReadFile(heard); err == nil && json.Unmarshal(raw, &got) == nil && got.ID == a.ID {
				break
			}
			if time.Now().After(end) {
				t.Fatal("nobody heard")
			}
		}
	}
}
