package rules

import (
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

func file(data string) *config.File { return &config.File{Path: "/p/policy.toml", Data: []byte(data)} }

const (
	allow = "[[rule]]\ntool = \"bash\"\ndecision = \"allow\"\n"
	deny  = "[[rule]]\ntool = \"bash\"\ndecision = \"deny\"\n"
)

// The project's rules stand above the user's, and each file has its scope.
func TestLoad(t *testing.T) {
	for _, tt := range []struct {
		user, project *config.File
		want          wire.Verdict
	}{
		{nil, nil, wire.Ask}, {file(allow), nil, wire.Allow}, {nil, file(deny), wire.Deny}, {file(allow), file(deny), wire.Deny}, {file(deny), file(allow), wire.Allow},
	} {
		r, err := Load(&config.Config{UserPolicy: tt.user, ProjectPolicy: tt.project})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Set.Decide("bash", mode.Default); got != tt.want {
			t.Errorf("user %v, project %v: %s", tt.user, tt.project, got)
		}
	}
}

// One bad rule in either file makes the policy invalid as a whole.
func TestInvalid(t *testing.T) {
	for _, bad := range []string{"[[rule]]\ndecision = \"alow\"\n", allow + "x = 1\n", "[[rule]"} {
		for _, c := range []*config.Config{{UserPolicy: file(bad)}, {ProjectPolicy: file(bad)}, {UserPolicy: file(allow), ProjectPolicy: file(bad)}} {
			r, err := Load(c)
			if r != nil || fail.Exit(err) != 2 || fail.As(err).Hint != "kx config validate" ||
				!strings.HasPrefix(err.Error(), "/p/policy.toml:") || !strings.HasSuffix(err.Error(), "everything is denied until it is mended") {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
	if _, err := Load(&config.Config{UserPolicy: file(strings.Replace(allow, "decision", "sandbox = \"host\"\ndecision", 1))}); err != nil {
		t.Error(err)
	}
	if _, err := Load(&config.Config{ProjectPolicy: file(strings.Replace(allow, "decision", "sandbox = \"host\"\ndecision", 1))}); err == nil {
		t.Error("a project opened the sandbox")
	}
}

// The digest names the files and their scopes, and nothing else.
func TestDigest(t *testing.T) {
	seen := map[string]int{}
	for i, c := range []*config.Config{
		{}, {UserPolicy: file(allow)}, {ProjectPolicy: file(allow)}, {UserPolicy: file(allow + deny)}, {UserPolicy: file(allow), ProjectPolicy: file(deny)}, {UserPolicy: file("")},
		{UserPolicy: file(strings.Replace(allow, "bash", "bish", 1))},
	} {
		r, err := Load(c)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := Load(c)
		if j, ok := seen[r.Digest]; ok || r.Digest != again.Digest || len(r.Digest) != 64 {
			t.Errorf("%d has digest %s, like %d", i, r.Digest, j)
		}
		seen[r.Digest] = i
	}
}
