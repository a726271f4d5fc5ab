package guard

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/gate/guard/deed"
	"github.com/kxtools/kx/internal/gate/guard/expand"
	"github.com/kxtools/kx/internal/gate/guard/place"
	"github.com/kxtools/kx/pkg/policy/point"
	"github.com/kxtools/kx/pkg/policy/shell"
	"github.com/kxtools/kx/pkg/wire"
)

// line is a command line that is looked at, or code in one.
type line struct {
	guard  *Guard
	env    *point.Env
	words  *expand.Words
	script shell.Script
	found  *Finding
	dirs   []string // the folders that it may start in, seen from the call's
	at     int      // the index of the leaf that holds the code; -1 for the line itself
	depth  int
	moves  []string // the folders that it moves to somewhere
	dots   bool     // * stands for a dot in front of a name, too
	far    bool     // it runs on another system
	fed    []string // what is printed or written in it, and may be read as code
}

// command looks at a call of bash.
func (g *Guard) command(input json.RawMessage, env *point.Env) Finding {
	var in map[string]any // a struct would take COMMAND for command
	var f Finding
	if json.Unmarshal(input, &in) != nil {
		return f // nothing that could be run
	}
	command, _ := in["command"].(string)
	cwd, _ := in["cwd"].(string)
	at := *env
	if cwd != "" {
		at.Cwd = absolute(env, "", cwd)
		resolved := at.Cwd
		if where, err := env.Locate(env.Cwd, cwd); err == nil {
			resolved = where.Resolved
		}
		if f.Hit = g.places.Both(at.Cwd, resolved, place.Read); f.Hit != nil {
			return f
		}
		at.Cwd = resolved
	}
	l := &line{
		guard: g, env: &at, found: &f, dirs: []string{""}, at: -1,
		words: &expand.Words{Home: g.home, Cwd: at.Cwd, Workspace: env.Workspace},
	}
	l.script = l.analyze(command)
	f.Hit = l.run(command)
	return f
}

// maxLength is how long a command is taken apart; a longer one is searched for
// names.
const maxLength = 256 << 10

func (l *line) analyze(text string) shell.Script {
	if len(text) > maxLength || !l.words.Spend(100+len(text)) {
		return shell.Script{Unknown: "it is too long"}
	}
	return shell.AnalyzeLong(text)
}

// run looks at every leaf.
func (l *line) run(src string) *wire.Guard {
	if l.script.Unknown != "" {
		return l.scan(src, place.All, true, true)
	}
	l.words.Values = append(l.words.Values, l.script.Values...)
	l.dots = l.dots || strings.Contains(src, "dotglob")
	l.feed()
	l.follow()
	for _, v := range l.script.Values {
		// Where a variable leads is not followed everywhere.
		for _, text := range l.words.Expand(v.Word) {
			if hit := l.pieces(text, []string{""}, place.Touch{Act: place.Read}); hit != nil {
				return hit
			}
			if runsValue(v.Name) {
				if hit := l.code(text, []string{""}, max(l.at, 0)); hit != nil {
					return hit
				}
			}
		}
	}
	for i := range l.script.Leaves {
		if leaf := &l.script.Leaves[i]; leaf.Far || leaf.Nested {
			continue // seen from the command that it stands in
		}
		at := l.at
		if at < 0 {
			at = i
		}
		if hit := l.leaf(&l.script.Leaves[i], at); hit != nil {
			return hit
		}
	}
	if !l.words.Spend(0) {
		return intricate()
	}
	return nil
}

// leaf looks at one simple command, in each of the forms that its words may take.
func (l *line) leaf(leaf *shell.Leaf, at int) *wire.Guard {
	if !l.words.Spend(1) {
		return intricate()
	}
	dirs := l.below(leaf.Dirs)
	if dirs == nil {
		dirs = append(l.moves, "", expand.Unknown)
	}
	forms, split := l.argv(leaf)
	for i, argv := range forms {
		if hit := l.form(leaf, argv, split && i == len(forms)-1, dirs, at); hit != nil {
			return hit
		}
	}
	return nil
}

func intricate() *wire.Guard {
	return &wire.Guard{Name: "unknown", Reason: "the command is too intricate to be understood"}
}

// form looks at one form of a command: the files, then what it does, then the
// code in its words.
func (l *line) form(leaf *shell.Leaf, argv []string, split bool, dirs []string, at int) *wire.Guard {
	program := ""
	if len(argv) > 0 {
		program = path.Base(argv[0])
	}
	if program != "" && (!leaf.Words[0].Literal || split) {
		// What the shell could not describe, it can with the words as they become.
		for _, name := range become(argv[0]) {
			if hit := l.again(append([]string{name}, argv[1:]...), dirs, at); hit != nil {
				return hit
			}
		}
	}
	for _, u := range touches(leaf, program, argv) {
		for _, text := range l.words.Expand(u.word) {
			if hit := l.pieces(text, dirs, u.Touch); hit != nil {
				return hit
			}
		}
	}
	if program == "" {
		return nil
	}
	if own := ownProgram(argv); own != nil {
		program, argv = own[0], own
	}
	if deed.Eats(program) {
		for _, text := range l.fed {
			l.words.Spend(len(text))
		}
	}
	if d := deed.Denied(program, argv, l.fed); d != nil {
		return &wire.Guard{Name: d.Name, Reason: program + " " + d.Does}
	}
	if d := deed.Asked(program, argv); d != nil {
		l.ask(at, program+" "+d.Does)
	} else if strings.Contains(leaf.Via, "process substitution") {
		l.ask(at, "a command hands its output over as a file")
	}
	if from := deed.Follows(argv[1:], "call"); program == "kx" && from >= 0 {
		c := Call{Leaf: at}
		if !slices.ContainsFunc(leaf.Words, func(w shell.Word) bool { return !w.Literal }) {
			c = called(argv[1:], from, at)
		}
		l.found.Calls = append(l.found.Calls, c)
	}
	return l.inner(leaf, program, argv, dirs, at)
}

// below returns the folders of a leaf, seen from where the call starts.
func (l *line) below(dirs []string) []string {
	if dirs == nil || len(l.dirs) == 1 && l.dirs[0] == "" {
		return dirs
	}
	var out []string
	for _, d := range dirs {
		for _, from := range l.dirs {
			out = append(out, shell.Join(from, d))
		}
	}
	return out
}

// pieces looks at a word, and at the parts of one that names several things:
// host:path, key=path, @path.
func (l *line) pieces(text string, dirs []string, t place.Touch) *wire.Guard {
	if hit := l.file(text, dirs, t); hit != nil {
		return hit
	}
	if !strings.ContainsAny(text, ":=,@") || strings.ContainsAny(text, " \t\n") {
		return nil
	}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(":=,@", r) }) {
		if len(part) == len(text) || !strings.ContainsAny(part, "./~") {
			continue
		}
		if hit := l.file(part, dirs, t); hit != nil {
			return hit
		}
	}
	return nil
}

func (l *line) ask(at int, reason string) {
	l.found.Asks = append(l.found.Asks, Ask{Leaf: at, Reason: reason})
}
