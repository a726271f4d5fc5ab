// Package position turns places of a text as people count them into those of language
// servers, and back.
package position

// Encoding is how a server counts the columns of a position.
type Encoding string

// The encodings of the protocol.
const (
	UTF8  Encoding = "utf-8"
	UTF16 Encoding = "utf-16"
	UTF32 Encoding = "utf-32"
)
