package redact

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
)

// pattern is what is looked for, at least window bytes, its marker, and how much of
// its beginning is taken for it: somebody may have cut the rest off.
type pattern struct {
	text, name string
	least      int
}

// A part is half of a text, and no fewer characters than vendors begin their keys
// with; of one line, no more than error messages show of a word.
const (
	minPart = 16
	maxPart = 40
)

func part(text string, lines bool) int {
	n := max(minPart, (len(text)+1)/2)
	if !lines {
		n = min(n, maxPart)
	}
	return min(n, len(text))
}

// window is the length of the beginnings by which patterns are found, and block
// that of the pieces of it that say how far the next one may be: the method of
// Wu and Manber. A secret has no fewer bytes than characters.
const (
	window = MinChars
	block  = 2
)

// finder finds patterns in one pass that touches about every seventh byte.
type finder struct {
	shift [1 << (8 * block)]uint8
	begin map[uint64][]pattern // by their first window bytes
}

func newFinder(patterns []pattern) *finder {
	f := &finder{begin: map[uint64][]pattern{}}
	for i := range f.shift {
		f.shift[i] = window - block + 1
	}
	for _, p := range patterns {
		for i := 0; i+block <= window; i++ {
			at := int(p.text[i]) | int(p.text[i+1])<<8
			f.shift[at] = min(f.shift[at], uint8(window-block-i))
		}
		key := binary.LittleEndian.Uint64([]byte(p.text[:window]))
		f.begin[key] = append(f.begin[key], p)
	}
	return f
}

// span is a place of a text, and the marker for it.
type span struct {
	start, end int
	name       string
}

// each yields every match, by its start. Of those that begin together it yields
// the longest.
func (f *finder) each(text []byte, yield func(start, end int, name string)) {
	for i := 0; i+window <= len(text); {
		last := i + window - block
		if s := f.shift[int(text[last])|int(text[last+1])<<8]; s > 0 {
			i += int(s)
			continue
		}
		longest, name := 0, ""
		for _, p := range f.begin[binary.LittleEndian.Uint64(text[i:])] {
			if n := common(text[i:], p.text); n > longest && n >= p.least {
				longest, name = n, p.name
			}
		}
		if longest > 0 {
			yield(i, i+longest, name)
		}
		i++
	}
}

// common is the length of what b and s begin with.
func common(b []byte, s string) int {
	n := min(len(b), len(s))
	if string(b[:n]) == s[:n] {
		return n
	}
	for i := range n {
		if b[i] != s[i] {
			return i
		}
	}
	return n
}

// find returns where secrets stand in b, in order and apart from each other.
func (r *Redactor) find(b []byte) []span {
	var all []span
	r.read(b, func(v *view, f *finder) {
		f.each(v.text, func(start, end int, name string) {
			s := span{v.origin(start), v.end(end), name}
			if n := len(all); n > 0 && all[n-1].start <= s.start && s.start < all[n-1].end {
				all[n-1].end = max(all[n-1].end, s.end)
				return
			}
			all = append(all, s)
		})
	})
	if len(all) < 2 {
		return all
	}
	slices.SortStableFunc(all, func(a, b span) int { return a.start - b.start })
	apart := all[:1]
	for _, s := range all[1:] {
		if last := &apart[len(apart)-1]; s.start < last.end {
			last.end = max(last.end, s.end)
		} else {
			apart = append(apart, s)
		}
	}
	return apart
}

// base64Cores returns what base64 makes of a value wherever it stands: for each of
// the three ways in which it can lie, the characters that are the value's alone, in
// both alphabets.
func base64Cores(value string) []string {
	var cores []string
	for before := range 3 {
		padded := []byte(strings.Repeat("\x00", before) + value)
		whole := len(padded) * 8 / 6 // characters that end in the value
		first := (before*8 + 5) / 6  // and those that begin in what stands before
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			core := e.EncodeToString(padded)[first:whole]
			if !slices.Contains(cores, core) {
				cores = append(cores, core)
			}
		}
	}
	return cores
}
