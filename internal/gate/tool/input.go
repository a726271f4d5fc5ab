package tool

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/fail"
)

// Invalid is what a tool says of an input that it can't use.
func Invalid(name, format string, args ...any) *fail.Error {
	return fail.New("invalid_input", fail.ExitUsage, name+": "+format, args...).WithHint("kx tool show %s", name)
}

// Decode reads the input of a call. The gate has checked it already; a tool
// relies on that for nothing.
func Decode(name string, input json.RawMessage, v any) error {
	if !utf8.Valid(input) {
		return Invalid(name, "the input is not valid UTF-8")
	}
	if err := json.Unmarshal(input, v); err != nil {
		return Invalid(name, "the input can't be read: %s", err)
	}
	return nil
}
