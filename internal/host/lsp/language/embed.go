package language

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// goEmbeds are the patterns of the files that a Go file has embedded, as written behind
// //go:embed.
func goEmbeds(text string) (patterns []string) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "//go:embed")
		if !ok || strings.TrimLeft(rest, " \t") == rest { // another directive
			continue
		}
		for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
			word := rest
			if quoted, err := strconv.QuotedPrefix(rest); err == nil && rest[0] != '\'' {
				word, rest = quoted, rest[len(quoted):]
				if word, err = strconv.Unquote(word); err != nil {
					continue
				}
			} else if i := strings.IndexAny(rest, " \t"); i >= 0 {
				word, rest = rest[:i], rest[i:]
			} else {
				rest = ""
			}
			patterns = append(patterns, strings.TrimPrefix(word, "all:"))
		}
	}
	return patterns
}

// Takes reports whether a pattern means a file, whose path is relative to the folder of
// the pattern: it, or a folder that it is in.
func Takes(pattern, file string) bool {
	for p := filepath.ToSlash(file); ; p = path.Dir(p) {
		if ok, _ := path.Match(pattern, p); ok {
			return true
		}
		if p == path.Dir(p) {
			return false
		}
	}
}
