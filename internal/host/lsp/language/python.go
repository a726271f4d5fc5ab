package language

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

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

// Program is what the program of a server is called in its cache folder.
const Program = "python3"

// venvs are where Python's packages are installed in a workspace.
var venvs = []string{".venv", "venv", "env"}

// installed names the interpreter that servers for Python ask where packages are. As
// extra paths packages would count as the project's own code, and come before the
// stubs that servers bring along; they are those only where there is no Python.
func installed(at Start) map[string]any {
	analysis := map[string]any{"diagnosticMode": "openFilesOnly"}
	if python(at) == "" {
		analysis["extraPaths"], _ = packages(at.Root)
	}
	return map[string]any{
		"python":       map[string]any{"analysis": analysis, "pythonPath": filepath.Join(at.Cache, Program)},
		"basedpyright": map[string]any{"analysis": analysis},
	}
}

// python is the interpreter on PATH, "" if there is none.
func python(at Start) string {
	for _, name := range []string{"python3", "python"} {
		if path, err := look(at.Env, at.Root, name); err == nil {
			return path
		}
	}
	return ""
}

// minor is the version of Python in the name of a folder of packages.
var minor = regexp.MustCompile(`/python3\.(\d+)/`)

// system is how a virtual environment says that it stands on the system's packages.
var system = regexp.MustCompile(`(?im)^\s*include-system-site-packages\s*=\s*true\s*$`)

// interpreter is a script that stands for the interpreter of the virtual environment
// of a workspace, which is the project's to choose and is not run: the one on PATH
// answers, with the folders and the version of the other. Nothing of those folders is
// run, which a start of Python would do: no .pth file and no sitecustomize.
func interpreter(at Start) string {
	program := python(at)
	if program == "" {
		return "#!/bin/sh\nexit 1\n"
	}
	list, open := packages(at.Root)
	if len(list) == 0 {
		return "#!/bin/sh\nexec " + shell(program) + ` "$@"` + "\n"
	}
	code := "import json, os, sys\nsys.path += json.loads(sys.argv[1])\n"
	if m := minor.FindStringSubmatch(list[0]); m != nil {
		code += `if sys.version_info[:2] != (3, ` + m[1] + `): sys.version_info = (3, ` + m[1] + `, 0, "final", 0)` + "\n"
	}
	flags := "-I -S"
	if open {
		flags = "-I"
	}
	raw, _ := json.Marshal(list) // strings
	return fmt.Sprintf("#!/bin/sh\nfor code; do :; done\nexec %s %s -c %s %s \"$code\"\n", shell(program), flags, shell(code+"exec(sys.argv[2])"), shell(string(raw)))
}

// shell quotes a word.
func shell(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// packages are the folders in which the virtual environments of a workspace have
// packages, with those that .pth files add, as for projects that are worked on. open
// reports whether the system's packages count, too.
func packages(root string) (list []string, open bool) {
	for _, name := range venvs {
		venv := filepath.Join(root, name)
		found, _ := filepath.Glob(filepath.Join(quote.Replace(venv), "lib", "python3*", "site-packages"))
		for _, dir := range found {
			list = append(list, dir)
			more, _ := filepath.Glob(filepath.Join(quote.Replace(dir), "*.pth"))
			for _, path := range more {
				raw, _, err := fsx.ReadRegular(path, maxConfig)
				if err != nil {
					continue // it adds nothing
				}
				for line := range bytes.Lines(raw) {
					add := string(bytes.TrimSpace(line))
					if add == "" || add[0] == '#' || strings.HasPrefix(add, "import ") || strings.HasPrefix(add, "import\t") {
						continue
					}
					if !filepath.IsAbs(add) {
						add = filepath.Join(dir, add)
					}
					list = append(list, add)
				}
			}
		}
		if raw, _, err := fsx.ReadRegular(filepath.Join(venv, "pyvenv.cfg"), maxConfig); err == nil && len(found) > 0 && system.Match(raw) {
			open = true
		}
	}
	return list, open
}
