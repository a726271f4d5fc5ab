package judge

import (
	"encoding/json"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/policy/patch"
)

// patchNames returns the paths that a patch names, as they are written.
func patchNames(input json.RawMessage) ([]string, error) {
	var in struct {
		Patch string `json:"patch"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fail.Usage("apply_patch: the input is not an object with a patch")
	}
	names, err := patch.Names(in.Patch)
	if err != nil {
		return nil, fail.New("invalid_patch", fail.ExitUsage, "apply_patch: %s", err).WithHint("kx tool show apply_patch")
	}
	return names, nil
}

// checkPatch refuses a patch that can't be read, or names what is no path: nobody
// is asked about it.
func (j *Judge) checkPatch(input json.RawMessage) error {
	names, err := patchNames(input)
	for _, name := range names {
		if _, err := j.env.Locate(j.Cwd, name); err != nil {
			return fail.Usage("apply_patch: %.80q: %v", name, err)
		}
	}
	return err
}

// Judged returns the paths that stand inside a text of the input, as they are
// written, with where each leads. Of a judge that Once returned, these are the
// paths that it judges.
func (j *Judge) Judged(name string, input json.RawMessage) map[string]string {
	if name != "apply_patch" {
		return nil
	}
	names, err := patchNames(input)
	if err != nil {
		return nil
	}
	to := make(map[string]string, len(names))
	for _, n := range names {
		if where, err := j.env.Locate(j.Cwd, n); err == nil {
			to[n] = where.Resolved
		}
	}
	return to
}
