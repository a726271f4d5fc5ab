package patch

import (
	"fmt"
	"strings"
)

// unquote reads a name in quotes, as git writes those with unusual bytes.
func unquote(s string) (name, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		return "", s, fmt.Errorf("not a quoted name")
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], nil
		case c != '\\':
			b.WriteByte(c)
		case i+1 == len(s):
			return "", "", fmt.Errorf("the quoted name has no end")
		default:
			i++
			if at := strings.IndexByte(`abtnvfr"\`, s[i]); at >= 0 {
				b.WriteByte("\a\b\t\n\v\f\r\"\\"[at])
				continue
			}
			if i+3 > len(s) {
				return "", "", fmt.Errorf("the quoted name has no end")
			}
			n := 0
			for _, d := range []byte(s[i : i+3]) {
				if d < '0' || d > '7' {
					return "", "", fmt.Errorf("the quoted name has an escape that is not known")
				}
				n = n*8 + int(d-'0')
			}
			if n > 255 {
				return "", "", fmt.Errorf("the quoted name has an escape that is no byte")
			}
			b.WriteByte(byte(n))
			i += 2
		}
	}
	return "", "", fmt.Errorf("the quoted name has no end")
}

// oneName reads a name that is all of a line, in quotes or not.
func oneName(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	name, rest, err := unquote(s)
	if err == nil && rest != "" {
		err = fmt.Errorf("text behind the quoted name")
	}
	return name, err
}

// gitNames splits the two names of a diff --git line. Without quotes they are told
// apart only where both mean the same file.
func gitNames(s string) (old, new string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		old, rest, err := unquote(s)
		if err != nil || !strings.HasPrefix(rest, " ") {
			return "", "", false
		}
		new, err := oneName(rest[1:])
		return old, new, err == nil
	}
	if i := strings.Index(s, ` "`); i > 0 {
		new, err := oneName(s[i+1:])
		return s[:i], new, err == nil
	}
	if len(s) > 2*maxPath {
		return "", "", false
	}
	found := 0
	for i := range len(s) {
		if s[i] != ' ' {
			continue
		}
		if a, b := pair(s[:i], s[i+1:]); a == b && a != "" {
			old, new = s[:i], s[i+1:]
			found++
		}
	}
	return old, new, found == 1
}
