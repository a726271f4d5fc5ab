package language

import (
	"path/filepath"
	"regexp"
	"slices"

	"github.com/kxtools/kx/internal/base/fsx"
)

const (
	// maxConfig bounds a file of configuration; written by hand they have some KiB.
	maxConfig = 1 << 20
	// maxExtended is how many files stand on one another: more are a circle.
	maxExtended = 20
)

// extends is how a configuration of pyright names the file that it stands on, in JSON
// and in TOML. One match too many makes a restart too many.
var extends = regexp.MustCompile(`\bextends["']?\s*[:=]\s*["']([^"'\n]+)["']`)

// extended are the files, of any name, that the configuration of a workspace stands
// on. They need not be there.
func extended(root string) (list []string) {
	next := []string{filepath.Join(root, "pyrightconfig.json"), filepath.Join(root, "pyproject.toml")}
	for len(next) > 0 && len(list) < maxExtended {
		at := next[0]
		next = next[1:]
		raw, _, err := fsx.ReadRegular(at, maxConfig)
		if err != nil {
			continue // nothing stands on it
		}
		for _, m := range extends.FindAllSubmatch(raw, -1) {
			path := string(m[1])
			if !filepath.IsAbs(path) {
				path = filepath.Join(filepath.Dir(at), path)
			}
			if !slices.Contains(list, path) {
				list, next = append(list, path), append(next, path)
			}
		}
	}
	return list
}
