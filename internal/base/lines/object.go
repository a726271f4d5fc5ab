package lines

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/fail"
)

// ReadObject reads all of r, which holds one JSON object of at most max bytes.
// Nothing at all is no object: whoever should have written it has failed.
func ReadObject(r io.Reader, max int) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, int64(max)+1))
	switch {
	case err != nil:
		return nil, Broken(err)
	case len(raw) > max:
		return nil, fail.Limit("input_bytes", "the input has more than %d bytes", max).WithHint("kx config show")
	}
	return raw, CheckObject(raw)
}

// CheckObject says why raw is not one JSON object.
func CheckObject(raw []byte) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return fail.Usage("the input is empty, not a JSON object")
	}
	if !utf8.Valid(raw) {
		return fail.Usage("the input is not valid UTF-8")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return fail.Usage("the input is not a JSON object")
	}
	return nil
}

// Broken is the failure of a standard input that can't be read.
func Broken(err error) error {
	return fail.Failed("stdin", "the standard input can't be read: %v", err).Because(err)
}
