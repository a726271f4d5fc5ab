package prompt

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/tools/file/place"
	"github.com/kxtools/kx/pkg/policy/mode"
)

//go:embed system.md
var words string

// modes is what a mode means to a model.
var modes = map[string]string{
	mode.Default:     "calls that change something may wait for a person's answer",
	mode.AcceptEdits: "files of the workspace may be edited without asking; other calls that change something may wait for a person",
	mode.Bypass:      "what is not denied runs without asking",
	mode.Plan:        "look and plan only: whatever would change something is denied. End with the plan",
	mode.DontAsk:     "nobody is asked: what would need an answer is denied",
}

// projectFiles are the names under which a project speaks to agents; of a folder that
// has several the first counts.
var projectFiles = []string{"AGENTS.md", "CLAUDE.md"}

const (
	// maxProjectFile is what other agents read of such a file; a longer one is cut.
	maxProjectFile = 32 << 10
	// maxProject is what all of them may have together: about 16,000 tokens of
	// every request.
	maxProject = 64 << 10
	// maxFolders is how deep below the workspace they are looked for.
	maxFolders = 64
)

// System returns what the model is told before all else. It is the same as long as
// nothing changes that it speaks of, so that providers can keep it.
func (b *Builder) System(tools []model.Tool) (*System, error) {
	j, err := b.Open()
	if err != nil {
		return nil, err
	}
	has := func(name string) bool {
		for _, t := range tools {
			if t.Name == name {
				return true
			}
		}
		return false
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n- Workspace: %s\n- Current folder: %s\n- Today: %s\n- Mode %s: %s.\n",
		strings.TrimSpace(words), j.Workspace, j.Cwd, b.Now().Format("Monday, 2 January 2006"), j.Mode, modes[j.Mode])
	if has("todo_write") {
		text.WriteString("- Work of more than three steps: keep the list of todo_write up to date.\n")
	}
	if has("emit_output") {
		text.WriteString("- If the task asks for a result to hand over (a report, an answer for a program), hand it over with emit_output.\n")
	}
	s := &System{Text: text.String()}
	s.Sources = append(s.Sources, source("kx", KindSystem, s.Text))
	r := &reader{j, b.Home, b.Hide}
	left := maxProject
	for _, dir := range folders(j) {
		for _, name := range projectFiles {
			src, text, there := r.project(filepath.Join(dir, name), left)
			if !there {
				continue
			}
			s.Text += text
			left -= len(text)
			s.Sources = append(s.Sources, src)
			break
		}
	}
	s.Sources = append(s.Sources, b.count(tools))
	return s, nil
}

// folders are those from the workspace down to the current folder.
func folders(j *judge.Judge) []string {
	list := []string{j.Workspace}
	if !paths.Inside(j.Workspace, j.Cwd) {
		return list
	}
	rel, err := filepath.Rel(j.Workspace, j.Cwd)
	if err != nil || rel == "." {
		return list
	}
	dir := j.Workspace
	for _, name := range strings.Split(rel, string(filepath.Separator)) {
		if len(list) == maxFolders {
			break
		}
		dir = filepath.Join(dir, name)
		list = append(list, dir)
	}
	return list
}

// project reads what a project says to agents; false if it has no such file.
func (r *reader) project(path string, left int) (Source, string, bool) {
	if _, err := os.Lstat(path); missing(err) {
		return Source{}, "", false
	}
	f, err := r.open(path, false)
	if f != nil {
		defer f.Close()
	}
	name := path
	if rel, err := filepath.Rel(r.judge.Workspace, path); err == nil {
		name = rel
	}
	src := Source{Source: name, Kind: KindProject}
	var body []byte
	if err == nil {
		src.Bytes = int(f.size)
		body, err = f.text(maxProjectFile + 1)
	}
	if err != nil {
		src.Lost = reason(err, name)
		return src, fmt.Sprintf("\n# %s was not read: %s\n", place.Name(name), src.Lost), true
	}
	most := min(maxProjectFile, max(left, 0))
	if int(f.size) > most {
		body = lines(body, most)
		src.Lost = fmt.Sprintf("only the first %s of %s are read", place.Size(int64(len(body))), place.Size(f.size))
	}
	text := fmt.Sprintf("\n# %s, what this project asks of agents\n\n%s\n", place.Name(name), strings.TrimSpace(string(body)))
	if src.Lost != "" {
		text += fmt.Sprintf("[%s; read_file shows the rest]\n", src.Lost)
	}
	seen := source(name, KindProject, text)
	src.Tokens, src.SHA256 = seen.Tokens, seen.SHA256
	return src, text, true
}
