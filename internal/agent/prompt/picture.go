package prompt

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// picture is a kind of image that models look at. A file is one by what is in it,
// whatever its name says.
type picture struct {
	mediaType  string
	head, form string // it begins with head; form stands at byte 8
	// whole reports whether its end is there. A provider refuses every request that
	// has a broken image in it, so the run could not go on.
	whole func(data []byte) bool
}

const (
	formAt = 8
	// pictureHead is how much of a file tells what it is.
	pictureHead = formAt + len("WEBP")
)

var pictures = []picture{
	{"image/png", "\x89PNG\r\n\x1a\n", "", has("IEND")},
	{"image/jpeg", "\xff\xd8\xff", "", has("\xff\xd9")},
	{"image/gif", "GIF87a", "", has(";")},
	{"image/gif", "GIF89a", "", has(";")},
	{"image/webp", "RIFF", "WEBP", riffIsWhole},
}

// pictureOf returns what a file that begins so is, nil if it is no picture.
func pictureOf(head []byte) *picture {
	for i, p := range pictures {
		if strings.HasPrefix(string(head), p.head) && (p.form == "" || len(head) > formAt && strings.HasPrefix(string(head[formAt:]), p.form)) {
			return &pictures[i]
		}
	}
	return nil
}

func has(end string) func([]byte) bool {
	return func(data []byte) bool { return bytes.Contains(data, []byte(end)) }
}

// riffIsWhole compares the size that the file has with the one that it says.
func riffIsWhole(data []byte) bool {
	return len(data) >= pictureHead && int64(binary.LittleEndian.Uint32(data[4:formAt]))+formAt <= int64(len(data))
}
