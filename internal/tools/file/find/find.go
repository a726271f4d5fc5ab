// Package find has the tools that look around: list_files, glob_search,
// grep_search.
//
// They ask the gate (Env.MayRead) for each folder and file that they meet by
// themselves, before they enter, open or name it; what they may not read is
// left out and counted. They follow no symbolic link and never look into .git.
// A search gives the same with and without git's and rg's help, but for the
// files that git ignores.
//
// internal/tools/file hands them to the gate.
package find

import (
	_ "embed"
	"encoding/json"
	"time"

	"github.com/kxtools/kx/internal/gate/tool"
)

const (
	// quick is for one folder, walking for a whole tree.
	quick   = 30 * time.Second
	walking = 60 * time.Second
)

// The texts for the model.
var (
	//go:embed list_files.md
	listText string
	//go:embed glob_search.md
	globText string
	//go:embed grep_search.md
	grepText string
)

// Tools returns the tools. lookPath finds a program by its name (as
// exec.LookPath does): git tells which files are ignored, rg searches.
func Tools(lookPath func(string) (string, error)) []tool.Tool {
	s := &search{lookPath: lookPath}
	return []tool.Tool{
		{Spec: tool.Spec{
			Name: "list_files", Family: "file", Description: listText, Schema: json.RawMessage(listSchema), Timeout: quick,
		}, Run: listFiles},
		{Spec: tool.Spec{
			Name: "glob_search", Family: "file", Description: globText, Schema: json.RawMessage(globSchema), Timeout: walking,
		}, Run: s.glob},
		{Spec: tool.Spec{
			Name: "grep_search", Family: "file", Description: grepText, Schema: json.RawMessage(grepSchema), Timeout: walking,
		}, Run: s.grep},
	}
}
