package place

import (
	"strings"

	"github.com/kxtools/kx/internal/gate/guard/expand"
)

const (
	unknown = expand.Unknown
	unset   = expand.Unset
)

// Wildcards are the characters of a path that stand for others.
const Wildcards = "*?[" + unknown + unset

// overlap reports whether a part of a path can be a name of the table, and
// whether that is more than an open wildcard.
func overlap(name, part string) (can, sure bool) {
	if !strings.ContainsAny(part, Wildcards) {
		return alike(name, part), true
	}
	letters := strings.Trim(part, ".*?[]!^-"+unknown+unset) != ""
	if strings.Contains(name, "*") {
		// Two patterns: what is sure of the one has to fit the other.
		bare := strings.Map(func(r rune) rune {
			if strings.ContainsRune(Wildcards+"]", r) {
				return -1
			}
			return r
		}, part)
		return name == "*" || letters && alike(name, bare), letters && name != "*"
	}
	if name[0] == '.' && (part[0] == '*' || part[0] == '?') {
		return false, false // these don't stand for a dot in front
	}
	return glob(part, name), letters
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

// glob compares a plain name with a part of a path in which *, ? and [...] have
// their meaning. What is in brackets may be anything.
func glob(part, name string) bool {
	for part != "" {
		switch c := part[0]; c {
		case '*', unknown[0], unset[0]:
			rest := strings.TrimLeft(part, "*"+unknown+unset)
			if rest == "" {
				return true
			}
			for i := range len(name) + 1 {
				if glob(rest, name[i:]) {
					return true
				}
			}
			return false
		case '[':
			if end := strings.IndexByte(part[1:], ']'); end >= 0 {
				if name == "" {
					return false
				}
				part, name = part[end+2:], name[1:]
				continue
			}
			fallthrough
		default:
			if name == "" || c != '?' && c != name[0] {
				return false
			}
			part, name = part[1:], name[1:]
		}
	}
	return name == ""
}

// overlaps reports whether a path with Wildcards can lead into a folder.
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
	return strings.ContainsAny(part, Wildcards) && strings.Trim(part, ".*?[]!^"+unknown+unset) == "" && strings.ContainsAny(part, "*?[")
}
