// Package rules puts together the rules in force: those of the user's policy
// file and of the trusted project's, compiled, with a digest that names exactly
// this policy.
package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/rulefile"
)

// Rules are the rules in force.
type Rules struct {
	Set    *policy.Set
	Digest string // sha256 over the policy files
}

// Load compiles the policy files of a configuration. One bad rule makes the
// policy invalid as a whole, and an invalid policy allows nothing.
func Load(c *config.Config) (*Rules, error) {
	var all []policy.Rule
	sum := sha256.New()
	for _, src := range []struct {
		scope policy.Scope
		file  *config.File
	}{{policy.User, c.UserPolicy}, {policy.Project, c.ProjectPolicy}} {
		if src.file == nil {
			continue
		}
		f, err := rulefile.Parse(src.file.Data, src.file.Path, src.scope)
		if err != nil {
			return nil, invalid(err)
		}
		all = append(all, f.Rules...)
		fmt.Fprintf(sum, "%s %d\n", src.scope, len(src.file.Data))
		sum.Write(src.file.Data)
	}
	set, err := policy.Compile(all)
	if err != nil {
		return nil, invalid(err)
	}
	return &Rules{Set: set, Digest: hex.EncodeToString(sum.Sum(nil))}, nil
}

func invalid(err error) error {
	return fail.Config("%v; everything is denied until it is mended", err).WithHint("kx config validate").Because(err)
}
