package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMentions is how many words of a prompt are taken for paths at most: each costs a
// look at the disk.
const maxMentions = 256

// mentions finds what a prompt names as @path or @"path with spaces", in order. A word
// counts where an @ begins it and there is such a path; of one that ends in
// punctuation, the longest part that exists. \@path, where there is such a path, is
// the word @path and names nothing. The text is the prompt as the model gets it.
func mentions(prompt string, exists func(path string) bool) (text string, paths []string) {
	var out strings.Builder
	looks := 0
	look := func(path string) bool {
		looks++
		return path != "" && exists(path)
	}
	before := ' '
	for i := 0; i < len(prompt); {
		rest := prompt[i:]
		begins := !unicode.IsLetter(before) && !unicode.IsDigit(before) && !strings.ContainsRune(`@\/_.-+`, before)
		escaped := strings.HasPrefix(rest, `\@`)
		if looks < maxMentions && begins && (escaped || rest[0] == '@') {
			word := strings.TrimPrefix(rest, `\`)[1:]
			if path, n := named(word, look); path != "" {
				out.WriteString("@" + word[:n])
				if !escaped {
					paths = append(paths, path)
				}
				i += len(rest) - len(word) + n
				before = 'x'
				continue
			}
		}
		r, n := utf8.DecodeRuneInString(rest)
		out.WriteString(rest[:n])
		before = r
		i += n
	}
	return out.String(), paths
}

// named returns the path that a text begins with, and how many bytes of the text name
// it.
func named(text string, exists func(string) bool) (string, int) {
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		path, _, closed := strings.Cut(quoted, `"`)
		if closed && !strings.Contains(path, "\n") && exists(path) {
			return path, len(path) + 2
		}
		return "", 0
	}
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		end = len(text)
	}
	for word := text[:end]; word != ""; {
		if exists(word) {
			return word, len(word)
		}
		r, n := utf8.DecodeLastRuneInString(word)
		if !strings.ContainsRune(`.,;:!?)]}>"'`+"`", r) {
			return "", 0
		}
		word = word[:len(word)-n]
	}
	return "", 0
}
