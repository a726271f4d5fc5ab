package place

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/fail"
)

// SniffLen is how much of a file tells whether it is text: what git looks at.
const SniffLen = 8000

// MaxWhole is the largest file that is read to its end, or into memory.
const MaxWhole = 64 << 20

// BOM is the byte order mark of UTF-8.
var BOM = []byte("\xef\xbb\xbf")

// magics are the first bytes of what is not text, for the message.
var magics = []struct{ prefix, what string }{
	{"\x7fELF", "an ELF program or library"},
	{"\xcf\xfa\xed\xfe", "a Mach-O program or library"},
	{"MZ", "a Windows program"},
	{"\x00asm", "WebAssembly"},
	{"\x89PNG", "a PNG image"},
	{"\xff\xd8\xff", "a JPEG image"},
	{"GIF8", "a GIF image"},
	{"RIFF", "a RIFF file (WebP, WAV, AVI)"},
	{"%PDF", "a PDF document"},
	{"PK\x03\x04", "a ZIP archive (or what is built on it: JAR, DOCX, ...)"},
	{"\x1f\x8b", "gzip data"},
	{"\x28\xb5\x2f\xfd", "Zstandard data"},
	{"\xfd7zXZ", "XZ data"},
	{"BZh", "bzip2 data"},
	{"SQLite format 3\x00", "an SQLite database"},
	{"DIRC", "a git index"},
	{"\xca\xfe\xba\xbe", "Java bytecode"},
	{"wOF", "a web font"},
}

// CheckText says why a file that begins with head can't be treated as text, or
// nil. UTF-16 has NUL bytes, but deserves its own answer.
func CheckText(head []byte, length int64, show string) error {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return fail.Failed("utf16_file", "%s is UTF-16 text, which is neither shown nor edited here: convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)", Name(show))
	}
	if !IsBinary(head) {
		return nil
	}
	what := "unknown binary data"
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.prefix)) {
			what = m.what
			break
		}
	}
	return fail.Failed("binary_file", "%s is not text: %s, %s", Name(show), what, Size(length))
}

// IsBinary reports whether head has a NUL byte or is mostly not UTF-8. Text of
// an old one-byte encoding has few such bytes and passes.
func IsBinary(head []byte) bool {
	head = head[:min(len(head), SniffLen)]
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	bad := 0
	for b := head; len(b) > 0; {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 && utf8.FullRune(b) {
			bad++
		}
		b = b[n:]
	}
	return bad*10 > len(head)*3
}

// CutRunes returns the first n characters of b, and how many bytes are left.
func CutRunes(b []byte, n int) (head []byte, left int) {
	if len(b) <= n {
		return b, 0
	}
	at := 0
	for ; n > 0 && at < len(b); n-- {
		_, w := utf8.DecodeRune(b[at:])
		at += w
	}
	return b[:at], len(b) - at
}

// Readable returns s with U+FFFD for every byte that is not UTF-8, and for NUL.
func Readable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == 0 {
			return utf8.RuneError
		}
		return r
	}, s)
}
