package work

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/wire"
)

// maxItems keeps the list one that can be read at a glance; a plan with more
// steps is better off in a file. The schema says the same.
const maxItems = 100

const todoSchema = `{"type":"object","additionalProperties":false,"required":["items"],"properties":{
"items":{"type":"array","maxItems":100,"description":"the whole list, in order; it replaces the one before","items":{"type":"object","additionalProperties":false,"required":["content","status"],"properties":{
 "content":{"type":"string","minLength":1,"maxLength":500,"description":"one step, in a few words"},
 "status":{"type":"string","enum":["pending","in_progress","completed"]}}}}}}`

type todo struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

// marks are the statuses and how the text shows them.
var marks = map[string]string{"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}

func todoWrite(_ context.Context, _ *tool.Env, input json.RawMessage) (wire.Output, error) {
	var in struct {
		Items []todo `json:"items"`
	}
	if err := tool.Decode("todo_write", input, &in); err != nil {
		return nil, err
	}
	if len(in.Items) > maxItems {
		return nil, tool.Invalid("todo_write", "there are %d items, allowed are %d", len(in.Items), maxItems)
	}
	counts := map[string]int{"pending": 0, "in_progress": 0, "completed": 0}
	var lines []string
	for i, it := range in.Items {
		mark := marks[it.Status]
		if mark == "" {
			return nil, tool.Invalid("todo_write", "items[%d].status is %q, expected pending, in_progress or completed", i, it.Status)
		}
		if strings.TrimSpace(it.Content) == "" {
			return nil, tool.Invalid("todo_write", "items[%d].content is empty", i)
		}
		counts[it.Status]++
		lines = append(lines, mark+" "+strings.Join(strings.Fields(it.Content), " "))
	}
	if n := counts["in_progress"]; n > 1 {
		return nil, tool.Invalid("todo_write", "%d items are in progress: finish one before you start the next", n)
	}
	lines = append(lines, fmt.Sprintf("%d pending, %d in progress, %d completed", counts["pending"], counts["in_progress"], counts["completed"]))
	items := append([]todo{}, in.Items...) // [] rather than null
	return wire.Output{"text": strings.Join(lines, "\n"), "items": items, "counts": counts}, nil
}
