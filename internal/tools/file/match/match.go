// Package match finds the text that edit_file replaces, and says what may have gone
// wrong where it is not there. It reads nothing.
package match

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// MaxPlaces of an ambiguous match are named.
const MaxPlaces = 20

// LineEnds gives both strings the line ends of the file: a model sees LF and
// writes LF. In a file of both kinds they are taken as they are, if they match.
func LineEnds(content []byte, old, new string) (from, to []byte) {
	crlf := func(s string) []byte {
		return []byte(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n"))
	}
	from, to = []byte(old), []byte(new)
	n := bytes.Count(content, []byte("\r\n"))
	if n == 0 {
		return from, to
	}
	pure := n == bytes.Count(content, []byte("\n"))
	if pure || !bytes.Contains(content, from) && bytes.Contains(content, crlf(old)) {
		return crlf(old), crlf(new)
	}
	return from, to
}

// Occurrences returns the lines of the first matches, and how many there are. Matches
// that overlap count: which of them was meant is not clear either.
func Occurrences(content, what []byte) (lines []string, total int) {
	line, counted := 1, 0
	for at := 0; ; at++ {
		i := bytes.Index(content[at:], what)
		if i < 0 {
			return lines, total
		}
		at += i
		if total++; total <= MaxPlaces {
			line += bytes.Count(content[counted:at], []byte("\n"))
			counted = at
			lines = append(lines, fmt.Sprint(line))
		} else if total == MaxPlaces+1 {
			lines = append(lines, "...")
		}
	}
}

// numbered is a line as read_file shows it.
var numbered = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^ *\d+\t`)
})

// Nearby says what may have gone wrong with a text that does not match.
func Nearby(content []byte, old string) string {
	switch {
	case numbered().MatchString(old) && bytes.Contains(content, []byte(numbered().ReplaceAllString(old, ""))):
		return ": leave out the line numbers that read_file shows"
	case strings.ContainsRune(old, '\uFFFD'):
		return ": U+FFFD stands for bytes that are not UTF-8; choose a part without them"
	}
	want, have := squeezed(strings.Trim(old, "\r\n")), squeezed(string(content))
	if len(want) == 0 || want[0] == "" {
		return ""
	}
	first := 0
	for i, line := range have {
		if line != want[0] {
			continue
		}
		if i+len(want) <= len(have) && slices.Equal(have[i:i+len(want)], want) {
			return fmt.Sprintf(": with other white space it is at line %d", i+1)
		}
		if first == 0 {
			first = i + 1
		}
	}
	if first > 0 {
		return fmt.Sprintf(": line %d is like its first line, but what follows differs", first)
	}
	return ""
}

// squeezed returns the lines of s without white space.
func squeezed(s string) (lines []string) {
	for line := range strings.Lines(s) {
		lines = append(lines, strings.Join(strings.Fields(line), ""))
	}
	return lines
}
