package expand

import "strings"

// braces expands {a,b}. A range stands for anything.
func braces(text string, depth int) []string {
	for at := 0; at < len(text); at++ {
		if text[at] == '$' && at+1 < len(text) && (text[at+1] == '{' || text[at+1] == '(') {
			at += closing(text[at+1:]) // a variable or a command, not ours
			continue
		}
		if text[at] != '{' {
			continue
		}
		end := at + closing(text[at:])
		if end == at {
			return []string{text}
		}
		parts := choices(text[at+1 : end])
		if strings.Contains(text[at:end], "..") && len(parts) == 1 {
			parts = []string{Unknown}
		} else if len(parts) == 1 || depth > MaxNested {
			continue
		}
		var out []string
		for _, p := range parts {
			for _, t := range braces(text[:at]+p+text[end+1:], depth+1) {
				if out = append(out, t); len(out) > maxTexts {
					return out
				}
			}
		}
		return out
	}
	return []string{text}
}

// closing returns where the bracket that text begins with is closed, 0 if it
// isn't.
func closing(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{', '(':
			depth++
		case '}', ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}

// choices splits at the commas that stand in no bracket.
func choices(text string) []string {
	var out []string
	depth, from := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '{', '(':
			depth++
		case '}', ')':
			depth--
		case ',':
			if depth == 0 {
				out, from = append(out, text[from:i]), i+1
			}
		}
	}
	return append(out, text[from:])
}
