// Package file has the tools that read and change files: read_file, write_file and
// edit_file one, apply_patch several. Those that look around are in find.
//
// The gate calls them with paths that are absolute, canonical and allowed; they
// open exactly those (see place). A file is replaced whole (temp, fsync,
// rename) or not at all, a patch changes all of its files or none, and bytes that
// were not to be changed stay what they are.
package file

import (
	_ "embed"
	"encoding/json"
	"time"

	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/find"
)

// timeout is for one file of any size that is taken.
const timeout = 30 * time.Second

// The texts for the model.
var (
	//go:embed read_file.md
	readText string
	//go:embed write_file.md
	writeText string
	//go:embed edit_file.md
	editText string
	//go:embed apply_patch.md
	patchText string
)

// Tools returns the file tools. lookPath finds a program by its name (as
// exec.LookPath does): git tells which files are ignored, rg searches them.
// Both are done without, too.
func Tools(lookPath func(string) (string, error)) []tool.Tool {
	w := &writer{}
	return append(find.Tools(lookPath),
		tool.Tool{Spec: tool.Spec{
			Name: "read_file", Family: "file", Description: readText, Schema: json.RawMessage(readSchema), Timeout: timeout,
		}, Run: readFile},
		tool.Tool{Spec: tool.Spec{
			Name: "write_file", Family: "file", Description: writeText, Schema: json.RawMessage(writeSchema), Timeout: timeout,
		}, Run: w.write},
		tool.Tool{Spec: tool.Spec{
			Name: "edit_file", Family: "file", Description: editText, Schema: json.RawMessage(editSchema), Timeout: timeout,
		}, Run: w.edit},
		tool.Tool{Spec: tool.Spec{
			Name: "apply_patch", Family: "file", Description: patchText, Schema: json.RawMessage(patchSchema), Timeout: timeout,
		}, Run: w.patch},
	)
}
