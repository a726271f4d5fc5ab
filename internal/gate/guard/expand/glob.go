package expand

import "strings"

// Wildcards are the characters of a text that stand for others.
const Wildcards = "*?[" + Unknown + Unset

// Sure reports whether a pattern has characters of its own.
func Sure(part string) bool { return strings.Trim(part, ".*?[]!^-"+Unknown+Unset) != "" }

// Glob compares a plain name with a part of a path in which *, ? and [...] have
// their meaning. What is in brackets may be anything.
func Glob(part, name string) bool {
	for part != "" {
		switch c := part[0]; c {
		case '*', Unknown[0], Unset[0]:
			rest := strings.TrimLeft(part, "*"+Unknown+Unset)
			if rest == "" {
				return true
			}
			for i := range len(name) + 1 {
				if Glob(rest, name[i:]) {
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

// Among reports whether a word is one of a list, which is separated by spaces. The
// tables are such lists because these cost a program nothing when it starts.
func Among(list, word string) bool {
	if word == "" {
		return false
	}
	for from := 0; ; {
		at := strings.Index(list[from:], word)
		if at < 0 {
			return false
		}
		at += from
		from = at + len(word)
		if (at == 0 || list[at-1] <= ' ') && (from == len(list) || list[from] <= ' ') {
			return true
		}
	}
}
