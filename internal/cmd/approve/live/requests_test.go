package live

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

// bash is a request to run a command.
func bash(id, command string) *wire.Approval {
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	var leaves []wire.Leaf
	for part := range strings.SplitSeq(command, " | ") {
		leaves = append(leaves, wire.Leaf{Argv: strings.Fields(part), Points: []wire.Point{{Effect: "exec", Decision: wire.Ask}}})
	}
	return &wire.Approval{
		Type: "approval", V: 1, ID: id, Kind: "call", Tool: "bash", Input: input, Session: "a3fk", Caller: "agent", Workspace: "/src", Cwd: "/src",
		Sandbox: "workspace_write", Reason: "ask by built-in", Leaves: leaves, CreatedAt: start.Add(-12 * time.Second), State: wire.ApprovalPending,
	}
}

// edits is a request to change a file.
func edits(id string) *wire.Approval {
	a := bash(id, "")
	a.Tool, a.Leaves = "edit_file", []wire.Leaf{{Argv: []string{"write", "clock.go"}, Points: []wire.Point{{Decision: wire.Ask}}}}
	input, err := json.Marshal(map[string]string{
		"path": "/src/clock.go", "old_string": "return t", "new_string": "return t.UTC()",
		"diff": "@@ -1,4 +1,4 @@\n func Truncate(t Time) Time {\n-    return t\n+    return t.UTC()\n }\n",
	})
	if err != nil {
		panic(err)
	}
	a.Input = input
	return a
}

// question is a request to answer.
func question(id string, n int) *wire.Approval {
	a := bash(id, "")
	a.Kind, a.Tool, a.Input, a.Leaves, a.Sandbox = "question", "ask_user_question", json.RawMessage("{}"), nil, ""
	a.Questions = []wire.Question{
		{ID: "q1", Question: "Which database?", Options: []wire.Option{{ID: "o1", Label: "PostgreSQL", Description: "as in production"}, {ID: "o2", Label: "SQLite"}}},
		{ID: "q2", Question: "Where?", MultiSelect: true, Options: []wire.Option{{ID: "o3", Label: "here"}, {ID: "o4", Label: "there"}}},
	}[:n]
	return a
}

// many are requests of several sessions.
func many(n int) []*wire.Approval {
	list := make([]*wire.Approval, n)
	for i := range list {
		list[i] = bash(fmt.Sprintf("r%03d", i), fmt.Sprintf("go test ./pkg/p%d", i))
		list[i].Session = fmt.Sprintf("s%d", i/50)
	}
	return list
}
