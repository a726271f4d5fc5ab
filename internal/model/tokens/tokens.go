// Package tokens estimates how many tokens a text has. No vocabulary is looked at: a
// provider tells the exact number afterwards, and what it told corrects later
// estimates. An estimate is rather too high than too low, for it is compared with a
// limit.
package tokens

import (
	"unicode/utf8"
)

const (
	// perToken is how many characters of prose or code a token has on average,
	// measured against o200k_base: 9 to 20 % too many tokens for both.
	perToken = 4
	// denseRun is from how long a word of letters and digits without a vowel
	// pattern on is taken for a hash or base64, of which a token has 2 bytes.
	denseRun = 24
	dense    = 2
	// PerImage is what a picture counts: providers take about that for a
	// screen's worth.
	PerImage = 1000
)

// Of estimates the tokens of a text.
func Of(s string) int {
	wide, runes, hashed, run, digits := 0, 0, 0, 0, false
	end := func() {
		if run >= denseRun && digits {
			hashed += run
		}
		run, digits = 0, false
	}
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			runes++
			switch {
			case c >= '0' && c <= '9':
				digits = true
				run++
			case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '+', c == '=':
				run++
			default:
				end()
			}
			continue
		}
		end()
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if cjk(r) {
			wide++
		} else {
			runes++
		}
	}
	end()
	// Other scripts have more bytes than characters and fewer characters a token.
	bytes := len(s) - 3*wide - hashed
	return wide + (hashed+dense-1)/dense + (max(runes-hashed, bytes)+perToken-1)/perToken
}

// cjk reports whether a character is about one token by itself.
func cjk(r rune) bool {
	switch {
	case r >= 0x3040 && r <= 0x30FF, // kana
		r >= 0x3400 && r <= 0x9FFF,   // han
		r >= 0xAC00 && r <= 0xD7AF,   // hangul
		r >= 0xF900 && r <= 0xFAFF,   // han, compatible
		r >= 0xFF00 && r <= 0xFF60,   // full width
		r >= 0x20000 && r <= 0x3FFFF: // han, the rest
		return true
	}
	return false
}
