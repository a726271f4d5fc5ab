// Package revise turns the input of a request into a text that a person edits, and
// back. A bash command is its text, any other input is JSON.
//
// The screen of kx approve hands the text to an editor, its plain mode asks for a line.
package revise

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/jcs"
	"github.com/kxtools/kx/internal/base/lines"
	"github.com/kxtools/kx/pkg/wire"
)

// command is the text of a bash command, "" for any other input.
func command(a *wire.Approval) string {
	var in struct {
		Command string `json:"command"`
	}
	if a.Tool != "bash" || json.Unmarshal(a.Input, &in) != nil {
		return ""
	}
	return in.Command
}

// Text is what an editor is given, and the end of a file name that says what it is.
func Text(a *wire.Approval) (text []byte, ext string, err error) {
	if c := command(a); c != "" {
		return []byte(c + "\n"), ".sh", nil
	}
	var b bytes.Buffer
	if err := json.Indent(&b, a.Input, "", "  "); err != nil {
		return nil, "", fail.Failed("input", "the input of request %s is no JSON: %v", a.ID, err).WithHint("kx approve show %s", a.ID)
	}
	return append(b.Bytes(), '\n'), ".json", nil
}

// Input makes an input of what an editor left, and reports whether it is another one.
func Input(a *wire.Approval, text []byte) (input json.RawMessage, changed bool, err error) {
	if command(a) == "" {
		text = bytes.TrimSpace(text)
		if err := lines.CheckObject(text); err != nil {
			return nil, false, err
		}
		return text, !same(text, a.Input), nil
	}
	s := strings.TrimSuffix(string(text), "\n") // an editor ends its last line
	switch {
	case s == command(a):
		return a.Input, false, nil
	case strings.TrimSpace(s) == "":
		return nil, false, fail.Usage("the command is empty")
	}
	var in map[string]json.RawMessage
	if err := json.Unmarshal(a.Input, &in); err != nil {
		return nil, false, err
	}
	if in["command"], err = wire.Marshal(s); err == nil {
		input, err = wire.Marshal(in)
	}
	return input, true, err
}

// same compares two inputs as JSON.
func same(a, b json.RawMessage) bool {
	x, err := jcs.Canonical(a)
	if err != nil {
		return false
	}
	y, err := jcs.Canonical(b)
	return err == nil && bytes.Equal(x, y)
}
