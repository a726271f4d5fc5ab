package protocol

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/sourcegraph/go-lsp"
)

// FromPath is the address of a file. All but the plainest characters are escaped, byte
// by byte: what is not escaped is read in one way only.
func FromPath(path string) lsp.DocumentURI {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.WriteString("file://")
	for i := range len(path) {
		switch c := path[i]; {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("/-._~", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return lsp.DocumentURI(b.String())
}

// ToPath is the path of the file with an address. ok is false of what is no file of
// this machine, like a document that a server made up.
func ToPath(uri lsp.DocumentURI) (path string, ok bool) {
	rest, ok := strings.CutPrefix(string(uri), "file://")
	if !ok {
		if rest, ok = strings.CutPrefix(string(uri), "file:"); !ok {
			return "", false
		}
	}
	rest = strings.TrimPrefix(rest, "localhost")
	if i := strings.IndexAny(rest, "?#"); i >= 0 { // those of a name are escaped
		rest = rest[:i]
	}
	path, err := url.PathUnescape(rest)
	if err != nil || !filepath.IsAbs(path) || strings.Contains(path, "\x00") {
		return "", false
	}
	return filepath.Clean(path), true
}
