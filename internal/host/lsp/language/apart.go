package language

import (
	"fmt"
	"go/token"
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"

	"github.com/kxtools/kx/internal/base/fsx"
)

// goApart says how many modules of a workspace use that of a file. gopls looks into one
// module at a time, and into those that it uses, unless a go.work joins them.
func goApart(files []string, path, name string) string {
	var mods []string
	for _, f := range files {
		if filepath.Base(f) == "go.mod" {
			mods = append(mods, f)
		}
	}
	if len(mods) < 2 || name != "" && !token.IsExported(name) {
		return ""
	}
	own := inOrAbove(filepath.Dir(path), "go.mod")
	if own == "" || inOrAbove(filepath.Dir(own), "go.work") != "" {
		return ""
	}
	text, _, err := fsx.ReadRegular(own, maxGoFile)
	if err != nil {
		return ""
	}
	module := modfile.ModulePath(text)
	users := 0
	for _, m := range mods {
		if m != own && requires(m, module) {
			users++
		}
	}
	switch users {
	case 0:
		return ""
	case 1:
		return "another module uses this one and was not looked into: a go.work joins them (go work init, go work use -r .)"
	}
	return fmt.Sprintf("%d other modules use this one and were not looked into: a go.work joins them (go work init, go work use -r .)", users)
}

// requires reports whether a go.mod names a module that it needs.
func requires(file, module string) bool {
	text, _, err := fsx.ReadRegular(file, maxGoFile)
	if err != nil {
		return false
	}
	mod, err := modfile.ParseLax(file, text, nil)
	return err == nil && slices.ContainsFunc(mod.Require, func(r *modfile.Require) bool { return r.Mod.Path == module })
}
