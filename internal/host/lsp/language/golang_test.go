package language

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestModuleCache(t *testing.T) {
	home, plain := t.TempDir(), t.TempDir()
	config := ".config/go"
	if runtime.GOOS == "darwin" {
		config = "Library/Application Support/go"
	}
	if err := os.MkdirAll(filepath.Join(home, config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, config, "env"), []byte("GOPROXY=x\nGOPATH=/set\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, env := range map[string][]string{
		filepath.Join(plain, "go/pkg/mod"): {"HOME=" + plain},
		"/set/pkg/mod":                     {"HOME=" + home},
		"/a/pkg/mod":                       {"HOME=" + home, "GOPATH=/a:/b"},
		"/m":                               {"HOME=" + home, "GOPATH=/a:/b", "GOMODCACHE=/m"},
	} {
		if got := moduleCache(env); got != want {
			t.Errorf("%q: %s, want %s", env, got, want)
		}
	}
	if d := cmp.Diff([]string{"GOPROXY=off", "GOMODCACHE=/c/modules"}, goEnv(Start{Env: []string{"HOME=" + plain}, Cache: "/c"})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"GOPROXY=off"}, goEnv(Start{Env: []string{"HOME=" + plain, "GOMODCACHE=" + plain}, Cache: "/c"})); d != "" {
		t.Error(d)
	}
}
