package redact

import (
	"bytes"
	"strings"
	"unicode/utf16"
)

// Ready returns how much of the beginning of a text, of which more is to come, can be
// looked at by itself: no secret that begins there may go on behind it, in any form.
func (r *Redactor) Ready(b []byte) int {
	if r == nil {
		return len(b)
	}
	cut := unfinished(b)
	for _, end := range []int{len(b), cut, wrapped(b)} {
		r.read(b[:end], func(v *view, f *finder) {
			if at := f.open(v.text); at < len(v.text) {
				cut = min(cut, v.origin(at))
			}
		})
	}
	for _, s := range r.find(b) {
		if s.start < cut && cut < s.end {
			return s.start
		}
	}
	return cut
}

// open returns where in text a pattern may begin that goes on behind it: len(text) for
// nowhere.
func (f *finder) open(text []byte) int {
	at := len(text)
	for _, same := range f.begin {
		for _, p := range same {
			for n := min(len(p.text)-1, len(text)); n > len(text)-at; n-- {
				if text[len(text)-1] == p.text[n-1] && bytes.HasSuffix(text, []byte(p.text[:n])) {
					at = len(text) - n
				}
			}
		}
	}
	return at
}

// longestEscape is a character of JSON that takes two escapes.
const longestEscape = len(`\ud83d\ude00`)

// unfinished returns where an escape begins that has no end yet, len(b) for nowhere.
func unfinished(b []byte) int {
	for at := max(0, len(b)-longestEscape+1); at < len(b); at++ {
		switch rest := b[at:]; {
		case b[at] == '%' && len(rest) < len("%41"), b[at] == '\\' && half(rest):
			return at
		}
	}
	return len(b)
}

// half reports whether in, which begins with a backslash, is a part of an escape, or
// the first of two.
func half(in []byte) bool {
	switch {
	case len(in) == 1:
		return true
	case in[1] != 'u':
		return false
	case len(in) < len(`\u0041`):
		return true
	}
	c, ok := hexadecimal(in[2:], 4)
	return ok && utf16.IsSurrogate(c) && (len(in) == 6 || in[6] == '\\')
}

// wrapped returns where a line ends of which the next one has only begun, with what a
// listing puts before it: len(b) if that is nowhere.
func wrapped(b []byte) int {
	text := bytes.TrimRight(b, "0123456789")
	text = bytes.TrimRight(text, " \t")
	for _, end := range []string{"\n", `\n`, `\r`, "\r"} {
		text = bytes.TrimSuffix(text, []byte(end))
	}
	if last := b[len(text):]; len(last) > 0 && strings.ContainsAny(string(last), "\n\r\\") {
		return len(text)
	}
	return len(b)
}
