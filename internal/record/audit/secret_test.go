package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/record/secret"
	"github.com/kxtools/kx/internal/record/state"
)

// No line has a secret, whoever appends it, and it is a line like any other.
func TestLinesHaveNoSecrets(t *testing.T) {
	st, err := state.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	if err := secret.New(st).Set("model.a.b", "sk-0123456789abcdef"); err != nil {
		t.Fatal(err)
	}
	l := New(st, time.Now)
	if _, err := l.Append(Approval{Type: TypeApproval, V: 1, ID: "x", Note: `said "sk-0123456789abcdef"`}, true); err != nil {
		t.Fatal(err)
	}
	for e, err := range l.List(Filter{}) {
		if err != nil || !strings.Contains(string(e.Raw), `"note":"said \"[secret model.a.b]\""`) || !strings.HasPrefix(string(e.Raw), `{"type":"approval","seq":1,`) {
			t.Errorf("%s, %v", e.Raw, err)
		}
	}
	if r, err := l.Verify(); err != nil || r.Lines != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	// What can't be known can't be left out: nothing is appended.
	os.Chmod(filepath.Join(st.Dir(), "secrets", "identity"), 0o644)
	if _, err := l.Append(Approval{Type: TypeApproval, V: 1, ID: "y"}, true); err == nil {
		t.Error("a line was appended")
	}
}
