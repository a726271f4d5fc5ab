package version

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
)

func TestVersion(t *testing.T) {
	for _, tty := range []bool{false, true} {
		s, _, got, _ := term.Test()
		s.OutTTY = tty
		a := app.New(s, nil, "1.2.3")
		a.Globals.Output = out.Auto
		if err := New(a, nil).Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if tty {
			want := "kx 1.2.3 (" + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + ")\n"
			if got.String() != want {
				t.Errorf("got %q, want %q", got, want)
			}
			continue
		}
		var d map[string]any
		if err := json.Unmarshal(got.Bytes(), &d); err != nil || strings.Count(got.String(), "\n") != 1 {
			t.Fatalf("%q: %v", got, err)
		}
		for k, want := range map[string]any{"type": "version", "v": 1.0, "version": "1.2.3", "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH} {
			if d[k] != want {
				t.Errorf("%s is %v, want %v", k, d[k], want)
			}
		}
	}
}
