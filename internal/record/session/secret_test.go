package session

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/record/secret"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// A string with a secret lies in a blob, so that no line has it and a run goes on
// with what it had.
func TestSecretsLieInBlobs(t *testing.T) {
	st, err := state.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	const value = `sk-0123456789"abcdef`
	if err := secret.New(st).Set("model.a.b", value); err != nil {
		t.Fatal(err)
	}
	s := New(st, time.Now)
	agent, _ := wire.Marshal(map[string]string{"script": "say " + value})
	m, err := s.Create(Meta{Session: wire.Session{Workspace: "/w"}, Agent: agent})
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.OpenWriter(m.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	data, _ := wire.Marshal(map[string]any{"plain": "x", "input": map[string]any{"command": "echo " + value, "deep": []any{value, 7}}, "keys": map[string]any{value: true}})
	if _, err := w.Append("tool_call", json.RawMessage(data)); err != nil {
		t.Fatal(err)
	}
	m, err = s.Meta(m.ID)
	if err == nil {
		err = s.Save(m)
	}
	if err != nil {
		t.Fatal(err)
	}
	if m, err = s.Meta(m.ID); err != nil || string(m.Agent) != string(agent) {
		t.Errorf("the agent is %s, %v", m.Agent, err)
	}
	for e, err := range s.Events(m.ID) {
		var got, want any
		if json.Unmarshal(e.Data, &got); err != nil {
			t.Fatal(err)
		}
		json.Unmarshal(data, &want)
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("%s comes back as %s", data, e.Data)
		}
	}
	for _, name := range []string{metaFile, eventsFile} {
		raw, err := os.ReadFile(filepath.Join(s.dir(m.ID), name))
		if err != nil || strings.Contains(string(raw), "sk-0123") {
			t.Errorf("%s has it: %s %v", name, raw, err)
		}
	}
	if raw, _ := os.ReadFile(filepath.Join(s.dir(m.ID), eventsFile)); !strings.Contains(string(raw), `"plain":"x"`) {
		t.Errorf("what has none is not in the line: %s", raw)
	}
}
