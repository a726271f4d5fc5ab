package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/wire"
)

// input is that of all tools; a schema has the fields of its own.
type input struct {
	Path       string `json:"path"`
	Line       int    `json:"line"`
	Column     int    `json:"column"`
	Name       string `json:"name"`
	Occurrence int    `json:"occurrence"`
	Symbol     string `json:"symbol"`
	Query      string `json:"query"`
	NewName    string `json:"new_name"`
	DryRun     bool   `json:"dry_run"`
	Limit      int    `json:"limit"`
	WaitMS     *int64 `json:"wait_ms"`
}

const waitSchema = `"wait_ms":{"type":"integer","minimum":0,"maximum":600000,"description":"how long to wait for a server that is still loading; default 10000"}`

const addressSchema = `"path":{"type":"string","minLength":1,"description":"the file; with symbol, the file to look in"},
"line":{"type":"integer","minimum":1,"description":"the line, from 1"},
"column":{"type":"integer","minimum":1,"description":"the column, from 1, in characters"},
"name":{"type":"string","minLength":1,"maxLength":1000,"description":"instead of column: an identifier on that line"},
"occurrence":{"type":"integer","minimum":1,"description":"which one, if the name stands on the line more than once"},
"symbol":{"type":"string","minLength":1,"maxLength":1000,"description":"instead of line: NAME or CONTAINER.NAME, such as clock.Truncate"}`

// own are the fields of a tool that others don't have.
var own = map[string]string{
	"diagnostics": `"path":{"type":"string","minLength":1,"description":"the file; default: all files of the workspace"}`,
	"symbols": `"path":{"type":"string","minLength":1,"description":"the file whose symbols are listed"},
"query":{"type":"string","minLength":1,"maxLength":1000,"description":"instead of path: part of a name, looked for in all of the workspace"}`,
	"rename": addressSchema + `,
"new_name":{"type":"string","minLength":1,"maxLength":1000,"description":"the new name, without its container"},
"dry_run":{"type":"boolean","description":"only return the patch"}`,
}

func (v verb) schema() json.RawMessage {
	fields, needs := own[v.name], ""
	if fields == "" {
		fields = addressSchema
	}
	if v.name == "rename" {
		needs = `"required":["new_name"],`
	}
	if v.most > 0 {
		what := "how many to show"
		if v.name == "hover" {
			what = "how many characters to show"
		}
		fields += `,
"limit":{"type":"integer","minimum":1,"maximum":` + strconv.Itoa(v.most) + `,"description":"` + what + `; default ` + strconv.Itoa(v.usual) + `"}`
	}
	return json.RawMessage(`{"type":"object","additionalProperties":false,` + needs + `"properties":{` + fields + ",\n" + waitSchema + `}}`)
}

// hoverSlack is what the host may send beyond the limit, so that a known secret at the
// end of it is seen whole before it is cut.
const hoverSlack = 1000

// late is what is left of the time of a call for the answer itself.
const late = 2 * time.Second

// question checks an input and makes a question of it.
func (in *input) question(ctx context.Context, env *tool.Env, v verb) (wire.CodeQuery, error) {
	q := wire.CodeQuery{
		Path: in.Path, Line: in.Line, Column: in.Column, Name: in.Name, Occurrence: in.Occurrence, Symbol: in.Symbol,
		Query: in.Query, NewName: in.NewName, Limit: in.Limit, WaitMS: defaultWait.Milliseconds(),
	}
	invalid := func(format string, args ...any) (wire.CodeQuery, error) {
		return q, tool.Invalid(Name(v.name), format, args...)
	}
	if in.WaitMS != nil {
		q.WaitMS = *in.WaitMS
	}
	if q.WaitMS < 0 || q.WaitMS > mostWait.Milliseconds() {
		return invalid("wait_ms is %d, allowed are 0 to %d", q.WaitMS, mostWait.Milliseconds())
	}
	if end, ok := ctx.Deadline(); ok {
		q.WaitMS = min(q.WaitMS, max(time.Until(end)-late, 0).Milliseconds())
	}
	switch {
	case q.Limit < 0 || q.Limit > v.most:
		return invalid("limit is %d, allowed are 1 to %d", q.Limit, v.most)
	case q.Limit == 0:
		q.Limit = v.usual
	}
	if v.name == "hover" {
		q.Limit += hoverSlack
	}
	// The gate fills in the folder of the call where no path is given.
	whole := q.Path == "" || q.Path == env.Workspace || q.Path == env.Cwd
	if whole {
		q.Path = ""
	}
	switch {
	case v.at:
		if why := in.address(whole); why != "" {
			return invalid("%s", why)
		}
		if v.name == "rename" && strings.TrimSpace(q.NewName) == "" {
			return invalid("new_name is missing")
		}
	case v.name == "symbols" && whole == (q.Query == ""):
		if whole {
			return invalid("give a path, or a query")
		}
		return invalid("give either path or query")
	case v.name == "diagnostics" && whole:
		q.Path = env.Workspace
	}
	if whole {
		return q, nil
	}
	return q, checkFile(env, q.Path)
}

// address says what is wrong with where an input points, "" if nothing is.
func (in *input) address(whole bool) string {
	line, column, name := in.Line != 0, in.Column != 0, in.Name != ""
	switch {
	case in.Line < 0 || in.Column < 0 || in.Occurrence < 0:
		return "line, column and occurrence start at 1"
	case in.Symbol != "" && (line || column || name || in.Occurrence != 0):
		return "symbol goes with path alone: leave out line, column, name and occurrence"
	case in.Symbol != "":
		return ""
	case whole && !line && !column && !name:
		return "it is missing where: path, line and column, or path, line and name, or symbol"
	case whole:
		return "path is missing, the file of that line"
	case !line:
		return "line is missing (or symbol in place of line and column)"
	case column && name:
		return "give either column or name"
	case !column && !name:
		return "column or name is missing"
	case in.Occurrence != 0 && !name:
		return "occurrence goes with name"
	}
	return ""
}

// checkFile refuses what no language server is asked about.
func checkFile(env *tool.Env, abs string) error {
	show := place.Name(relative(env, abs))
	if !place.Within(env.Workspace, abs) {
		return fail.New("outside_workspace", fail.ExitUsage, "%s is outside the workspace, and language servers are asked about files in it", show).
			WithHint("kx lsp --help")
	}
	st, err := os.Lstat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail.NotFound("no_such_file", "%s does not exist", show).WithHint("%s", place.Hint("glob_search", "pattern", "**/"+path.Base(abs)))
	case err != nil:
		return place.Explain(err, relative(env, abs))
	case st.IsDir():
		return fail.New("is_folder", fail.ExitUsage, "%s is a folder, and this is asked of a file", show).WithHint("%s", place.Hint("list_files", "path", abs))
	case !st.Mode().IsRegular():
		return fail.New("not_a_file", fail.ExitUsage, "%s is not a regular file", show)
	}
	p, err := place.File(env, abs)
	if err != nil {
		return err
	}
	defer p.Close()
	file, st, err := p.OpenFile()
	if err != nil {
		return err
	}
	defer file.Close()
	head := make([]byte, place.SniffLen)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return place.Explain(err, p.Show)
	}
	return place.CheckText(head[:n], st.Size(), p.Show)
}

// relative is how an answer names an absolute path.
func relative(env *tool.Env, abs string) string {
	if rel, ok := strings.CutPrefix(abs, strings.TrimSuffix(env.Workspace, "/")+"/"); ok {
		return rel
	}
	return abs
}
