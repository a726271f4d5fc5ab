// Package work has the tools with which an agent handles its own work:
// emit_output hands over the answer, todo_write states the plan. They touch
// nothing outside the call; the record of the session keeps what they return.
//
// The gate calls them.
package work

import (
	_ "embed"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
)

// timeout is generous: nothing here waits for anything.
const timeout = 5 * time.Second

//go:embed emit_output.md
var emitText string

//go:embed todo_write.md
var todoText string

// Tools returns emit_output and todo_write.
func Tools() []tool.Tool {
	return []tool.Tool{
		{Spec: tool.Spec{
			Name: "emit_output", Family: "work", Description: emitText, Schema: json.RawMessage(emitSchema),
			Timeout: timeout, Serial: true,
		}, Run: emitOutput},
		{Spec: tool.Spec{
			Name: "todo_write", Family: "work", Description: todoText, Schema: json.RawMessage(todoSchema),
			Timeout: timeout,
		}, Run: todoWrite},
	}
}

func invalid(name, format string, args ...any) *fail.Error {
	return fail.New("invalid_input", fail.ExitUsage, name+": "+format, args...).WithHint("kx tool show %s", name)
}

func decode(name string, input json.RawMessage, v any) error {
	if !utf8.Valid(input) {
		return invalid(name, "the input is not valid UTF-8")
	}
	if err := json.Unmarshal(input, v); err != nil {
		return invalid(name, "the input can't be read: %s", err)
	}
	return nil
}
