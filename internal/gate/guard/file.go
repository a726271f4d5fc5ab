package guard

import (
	"path"
	"strings"

	"github.com/kxtools/kx/internal/gate/guard/expand"
	"github.com/kxtools/kx/internal/gate/guard/place"
	"github.com/kxtools/kx/pkg/wire"
)

// maxFiles is how many files a pattern may stand for, each of which is looked at.
const maxFiles = 200

// harmless are files that any command may open: what it writes there is not
// kept, and what it reads is its own.
const harmless = "/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/stdin /dev/stdout /dev/stderr /dev/ptmx"

// descriptors are the folders of a process's own open files.
var descriptors = []string{"/dev/fd/", "/proc/self/fd/", "/dev/pts/"}

func isHarmless(name string) bool {
	if expand.Among(harmless, name) {
		return true
	}
	for _, dir := range descriptors {
		if n, ok := strings.CutPrefix(name, dir); ok && n != "" && strings.Trim(n, "0123456789") == "" {
			return true
		}
	}
	return false
}

// file looks at a text that names a file of a command.
func (l *line) file(text string, dirs []string, t place.Touch) *wire.Guard {
	if text == "" || strings.IndexByte(text, 0) >= 0 || !l.words.Spend(100) {
		return nil
	}
	text = l.words.Tilde(text)
	if t.Act&place.Remove != 0 && strings.Contains(text, expand.Unset) {
		if hit := l.file(strings.ReplaceAll(text, expand.Unset, ""), dirs, t); hit != nil {
			return hit
		}
	}
	switch {
	case text[0] == '/':
		dirs = []string{"/"}
	case strings.HasPrefix(text, expand.Unknown), strings.HasPrefix(text, expand.Unset):
		return l.guard.places.Match(path.Clean(text), t.Act)
	}
	for _, dir := range dirs {
		if strings.HasPrefix(dir, expand.Unknown) {
			if hit := l.guard.places.Match(path.Clean(text), t.Act); hit != nil {
				return hit
			}
			continue
		}
		full := text
		if text[0] != '/' {
			if dir = l.words.Tilde(dir); dir == "" || dir[0] != '/' {
				dir = l.words.Cwd + "/" + dir
			}
			full = dir + "/" + text
		}
		if hit := l.located(full, t); hit != nil {
			return hit
		}
	}
	return nil
}

// located looks at an absolute path.
func (l *line) located(full string, t place.Touch) *wire.Guard {
	written := path.Clean(full)
	if isHarmless(written) {
		return nil
	}
	if hit := l.guard.places.Hit(written, t); hit != nil {
		if l.far && hit.Name == "system" {
			return nil
		}
		return hit
	}
	if l.env.Resolver == nil || strings.ContainsAny(written, expand.Wildcards) && strings.ContainsAny(written, expand.Unknown+expand.Unset) {
		return nil
	}
	names := []string{full}
	if strings.ContainsAny(written, "*?[") {
		if !strings.Contains(full, "..") {
			if found, err := l.env.Resolver.Glob(brackets(written)); err == nil {
				for _, name := range found[:min(len(found), maxFiles)] {
					if l.dots || !dotted(written, name) {
						names = append(names, name)
					}
				}
			}
		}
	}
	for _, name := range names {
		resolved, err := l.resolve(name, t)
		if err != nil || resolved == written {
			continue
		}
		if hit := l.guard.places.Hit(resolved, t); hit != nil && !l.far {
			return hit
		}
	}
	return nil
}

// resolve returns where a path leads. What is deleted or moved is the link itself,
// not what it points to.
func (l *line) resolve(name string, t place.Touch) (string, error) {
	base := path.Base(name)
	if t.Act&place.Remove == 0 || strings.HasSuffix(name, "/") || base == "." || base == ".." {
		return l.env.Resolver.Resolve(name)
	}
	dir, err := l.env.Resolver.Resolve(name[:len(name)-len(base)])
	return path.Join(dir, base), err
}

// dotted reports whether a file is only found where * stands for a dot in front
// of a name, which bash does not do.
func dotted(pattern, name string) bool {
	names := strings.Split(name, "/")
	for i, part := range strings.Split(pattern, "/") {
		if part != "" && (part[0] == '*' || part[0] == '?') && i < len(names) && strings.HasPrefix(names[i], ".") {
			return true
		}
	}
	return false
}

// brackets puts ? in place of [...], which bash and Go read differently.
func brackets(text string) string {
	for {
		at := strings.IndexByte(text, '[')
		if at < 0 {
			return text
		}
		end := strings.IndexByte(text[at:], ']')
		if end < 0 {
			return strings.ReplaceAll(text, "[", "?")
		}
		text = text[:at] + "?" + text[at+end+1:]
	}
}
