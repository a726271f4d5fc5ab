package disk

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// rule names folders that are not looked into: they are large, made by tools, and
// servers don't show their files as the user's. It holds only if what it asks for is
// there.
type rule struct {
	beside string                   // a file in the same folder
	inside string                   // a file in the folder itself
	parent string                   // the name of the folder around it
	mark   func(path string) string // what changes when packages are installed in it
}

var rules = map[string][]rule{
	".git":          {{}},
	".hg":           {{}},
	".svn":          {{}},
	".jj":           {{}},
	"__pycache__":   {{}},
	".tox":          {{}},
	".mypy_cache":   {{}},
	".pytest_cache": {{}},
	".gradle":       {{}},
	"target":        {{beside: "Cargo.toml"}},
	"servers":       {{parent: "bin"}},
	"node_modules":  {{mark: nodeModules}},
	".venv":         {venv},
	"venv":          {venv},
	"env":           {venv},
	"vendor": {
		{inside: "modules.txt", mark: func(path string) string { return prints(path, "modules.txt") }},
		{inside: "composer/installed.json", mark: func(path string) string { return prints(path, "composer/installed.json") }},
	},
}

var venv = rule{inside: "pyvenv.cfg", mark: sitePackages}

// skip reports whether a folder is not looked into, and its marker.
func skip(path, name string, has func(name string) bool) (skipped bool, mark string) {
	for _, r := range rules[name] {
		if r.beside != "" && !has(r.beside) ||
			r.parent != "" && filepath.Base(filepath.Dir(path)) != r.parent ||
			r.inside != "" && prints(path, r.inside) == absent {
			continue
		}
		if r.mark != nil {
			mark = r.mark(path)
		}
		return true, mark
	}
	return false, ""
}

// nodeModules are the files that npm, Yarn and pnpm leave when they are done, and the
// folders in which packages come and go.
func nodeModules(path string) string {
	names := []string{"", ".package-lock.json", ".yarn-state.yml", ".yarn-integrity", ".modules.yaml"}
	entries, _ := os.ReadDir(path) // what can't be read has no scopes
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "@") {
			names = append(names, e.Name())
		}
	}
	return prints(path, names...)
}

// sitePackages are the folders in which each installed package has one.
func sitePackages(path string) string {
	names := []string{"pyvenv.cfg"}
	entries, _ := os.ReadDir(filepath.Join(path, "lib"))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "python") {
			names = append(names, filepath.Join("lib", e.Name(), "site-packages"))
		}
	}
	return prints(path, names...)
}

// absent is the print of what is not there.
const absent = "-"

// prints is one line of what tells some files of a folder apart.
func prints(dir string, names ...string) string {
	var b []byte
	for i, name := range names {
		if i > 0 {
			b = append(b, ' ')
		}
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(dir, name), &st); err != nil {
			b = append(b, absent...)
			continue
		}
		b = append(append(b, name...), ':')
		for _, n := range []int64{st.Size, unix.TimespecToNsec(st.Mtim), unix.TimespecToNsec(st.Ctim), int64(st.Ino)} {
			b = append(strconv.AppendInt(b, n, 36), '.')
		}
	}
	return string(b)
}
