package place

import (
	"strings"

	"github.com/kxtools/kx/internal/gate/guard/expand"
)

const (
	unknown = expand.Unknown
	unset   = expand.Unset
)

// overlap reports whether a part of a path can be a name of the table, and
// whether that is more than an open wildcard.
func overlap(name, part string) (can, sure bool) {
	if !strings.ContainsAny(part, expand.Wildcards) {
		return alike(name, part), true
	}
	letters := expand.Sure(part)
	if strings.Contains(name, "*") {
		// Two patterns: what is sure of the one has to fit the other.
		bare := strings.Map(func(r rune) rune {
			if strings.ContainsRune(expand.Wildcards+"]", r) {
				return -1
			}
			return r
		}, part)
		return name == "*" || letters && alike(name, bare), letters && name != "*"
	}
	if name[0] == '.' && (part[0] == '*' || part[0] == '?') {
		return false, false // these don't stand for a dot in front
	}
	return expand.Glob(part, name), letters
}

// alike compares with a name in which * stands for any characters.
func alike(name, part string) bool {
	head, tail, ok := strings.Cut(name, "*")
	if !ok {
		return name == part
	}
	if !strings.HasPrefix(part, head) {
		return false
	}
	part = part[len(head):]
	if !strings.Contains(tail, "*") {
		return strings.HasSuffix(part, tail)
	}
	for i := range len(part) + 1 {
		if alike(tail, part[i:]) {
			return true
		}
	}
	return false
}

// overlaps reports whether a path with expand.Wildcards can lead into a folder.
func overlaps(dir []string, name string) bool {
	parts := strings.Split(name, "/")
	if len(parts) < len(dir) {
		return false
	}
	for i, want := range dir[1:] {
		if can, sure := overlap(want, parts[i+1]); !can || !sure {
			return false
		}
	}
	return parts[0] == ""
}

// Open reports whether a part of a path stands for all that is in a folder.
func Open(part string) bool {
	return strings.ContainsAny(part, expand.Wildcards) && strings.Trim(part, ".*?[]!^"+unknown+unset) == "" && strings.ContainsAny(part, "*?[")
}
