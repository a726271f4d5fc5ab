package proc

import (
	"fmt"
	"unicode/utf8"
)

// capture keeps the first and the last bytes that are written to it.
type capture struct {
	head  []byte
	tail  []byte // a ring, once it is full
	next  int    // where the next byte of the ring goes
	half  int
	total int64
}

func newCapture(size int) *capture { return &capture{half: max(size/2, 1)} }

func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	c.total += int64(n)
	if room := c.half - len(c.head); room > 0 {
		k := min(room, len(p))
		c.head = append(c.head, p[:k]...)
		p = p[k:]
	}
	if len(p) > c.half { // only the end of it can stay
		p = p[len(p)-c.half:]
	}
	for len(p) > 0 {
		if len(c.tail) < c.half {
			k := min(c.half-len(c.tail), len(p))
			c.tail = append(c.tail, p[:k]...)
			p = p[k:]
			continue
		}
		k := copy(c.tail[c.next:], p)
		c.next = (c.next + k) % c.half
		p = p[k:]
	}
	return n, nil
}

// bytes returns what was kept, and whether anything was left out. It never
// leaves out a part of a UTF-8 sequence only.
func (c *capture) bytes() ([]byte, bool) {
	tail := append(append([]byte{}, c.tail[c.next:]...), c.tail[:c.next]...)
	if c.total == int64(len(c.head)+len(tail)) {
		return append(c.head, tail...), false
	}
	head := c.head[:wholeRunes(c.head)]
	for i := 0; i < utf8.UTFMax-1 && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	left := c.total - int64(len(head)+len(tail))
	mark := fmt.Sprintf("\n[... %d bytes left out ...]\n", left)
	return append(append(append([]byte{}, head...), mark...), tail...), true
}

// wholeRunes returns the length of b without a sequence that its end cuts.
func wholeRunes(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		at := len(b) - i
		if utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				return at
			}
			break
		}
	}
	return len(b)
}
