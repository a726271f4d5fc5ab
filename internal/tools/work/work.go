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
