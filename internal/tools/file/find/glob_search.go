package find

import (
	"context"
	"encoding/json"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/wire"
)

// maxPattern is longer than any pattern somebody means, in characters.
const maxPattern = 1000

const globSchema = `{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{
"pattern":{"type":"string","minLength":1,"maxLength":1000,"description":"such as **/*_test.go or cmd/*/main.go, relative to path"},
"path":{"type":"string","minLength":1,"description":"the folder to search; default: the current folder"}}}`

func (s *search) glob(ctx context.Context, env *tool.Env, input json.RawMessage) (wire.Output, error) {
	var in struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path"`
	}
	if err := tool.Decode("glob_search", input, &in); err != nil {
		return nil, err
	}
	if err := checkGlob("glob_search", in.Pattern); err != nil {
		return nil, err
	}
	if in.Path == "" {
		in.Path = env.Cwd
	}
	p, err := place.Open(env, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := checkFolder(p); err != nil {
		return nil, err
	}
	dir, err := p.Root.OpenRoot(p.Rel)
	if err != nil {
		return nil, place.Explain(err, p.Show)
	}
	defer dir.Close()
	found := list{entries: []entry{}}
	w, err := s.walk(ctx, env, p, dir, func(rel string) bool {
		return doublestar.MatchUnvalidated(in.Pattern, rel)
	}, func(c candidate) {
		if len(found.entries) == maxEntries {
			found.truncated = true
			return
		}
		found.entries = append(found.entries, newEntry(path.Join(p.Show, c.rel), c.st))
	})
	if err != nil {
		return nil, err
	}
	found.skipped, found.truncated = w.skipped, found.truncated || w.truncated
	return found.output(place.Name(p.Show) + " that matches " + place.Name(in.Pattern)), nil
}

// checkGlob refuses patterns that are broken or lead out of the folder.
func checkGlob(tool, pattern string) error {
	switch {
	case pattern == "" || !doublestar.ValidatePattern(pattern):
		return fail.New("bad_pattern", fail.ExitUsage, "%s: %q is not a glob pattern", tool, pattern).WithHint("kx tool show %s", tool)
	case strings.HasPrefix(pattern, "/") || strings.Contains("/"+pattern+"/", "/../"):
		return fail.New("bad_pattern", fail.ExitUsage, "%s: the pattern %q leads out of the folder: name the folder as path", tool, pattern)
	case len(pattern) > maxPattern:
		return fail.New("bad_pattern", fail.ExitUsage, "%s: the pattern has %d bytes, allowed are %d", tool, len(pattern), maxPattern)
	}
	return nil
}
