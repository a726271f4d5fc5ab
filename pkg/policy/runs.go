package policy

import (
	"strings"

	"github.com/kxtools/kx/pkg/policy/pattern"
	"github.com/kxtools/kx/pkg/policy/shell"
	"github.com/kxtools/kx/pkg/policy/shell/effect"
)

// runs says what code of the workspace a leaf runs: that of a build tool or test
// runner in it, a program that is named by its path, or the script of an interpreter.
// A person who is asked reads it; nothing is decided by it.
func runs(leaf *shell.Leaf, env *Env) string {
	if len(leaf.Words) == 0 || leaf.Far {
		return ""
	}
	if w := leaf.Words[0]; w.Literal && strings.Contains(w.Text, "/") && ours(leaf, env, w.Text) {
		return effect.ProjectCode
	}
	for _, w := range leaf.Scripts {
		if ours(leaf, env, w.Text) {
			return effect.ProjectCode
		}
	}
	if leaf.Project != "" && ours(leaf, env, "") {
		return leaf.Project
	}
	return ""
}

// ours reports whether a name leads into the workspace from a folder that the leaf
// may run in; "" is that folder itself.
func ours(leaf *shell.Leaf, env *Env, name string) bool {
	dirs := leaf.Dirs
	if dirs == nil {
		dirs = []string{""} // where it starts, as far as anybody knows
	}
	for _, dir := range dirs {
		path := env.Cwd // canonical: nothing to look up
		if full := shell.Join(dir, name); full != "" {
			where, err := env.Locate(env.Cwd, full)
			if err != nil {
				continue
			}
			path = where.Resolved
		}
		if _, ok := pattern.Below(env.Workspace, path); ok {
			return true
		}
	}
	return false
}
