package policy

import (
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/kxtools/kx/pkg/policy/shell"
	"github.com/kxtools/kx/pkg/wire"
)

// rule is a Rule that can be matched.
type rule struct {
	Rule
	name       string // Tool, "*" for any
	conditions int    // how many of command, path, url and input fields
	command    commandPattern
	path       pathPattern
	url        urlPattern
}

// RuleError says what is wrong with a rule, and with which of its keys.
type RuleError struct {
	Rule *Rule
	Key  string
	Msg  string
}

func (e *RuleError) Error() string {
	if e.Rule.File == "" {
		return e.Msg
	}
	return fmt.Sprintf("%s: %s", e.Rule.Source(), e.Msg)
}

func compile(from *Rule) (*rule, error) {
	r := &rule{Rule: *from, name: from.Tool}
	bad := func(key, format string, args ...any) (*rule, error) {
		return nil, &RuleError{Rule: from, Key: key, Msg: fmt.Sprintf(format, args...)}
	}
	if r.name == "" {
		r.name = "*"
	}
	if r.Origin == "" {
		r.Origin = Static
	}
	if i := strings.IndexByte(r.name, '*'); i >= 0 && i != len(r.name)-1 {
		return bad("tool", "tool = %q: a * stands only at the end", r.Tool)
	}
	switch r.Decision {
	case wire.Allow, wire.Ask, wire.Deny:
	default:
		return bad("decision", "decision = %q: expected allow, ask or deny", string(r.Decision))
	}
	if r.Effect != "" && effectIndex(r.Effect) == 0 {
		return bad("effect", "effect = %q: expected read, write, exec or net", r.Effect)
	}
	if r.Final && r.Decision != wire.Deny {
		return bad("final", "final = true: only a deny can be final")
	}
	switch {
	case r.Sandbox != "" && r.Sandbox != "host":
		return bad("sandbox", "sandbox = %q: expected host", r.Sandbox)
	case r.Sandbox != "" && r.Scope != User:
		return bad("sandbox", "sandbox = %q: only the user's own policy.toml may open the sandbox", r.Sandbox)
	}
	var err error
	if r.Command != "" {
		r.conditions++
		if r.command, err = parseCommand(r.Command); err != nil {
			return bad("command", "command = %q: %v", r.Command, err)
		}
		if r.Effect == Net && r.URL == "" && r.Path != "" || r.Path != "" && r.URL != "" {
			return bad("command", "no point has both a path and an url")
		}
	}
	if r.Path != "" {
		r.conditions++
		if r.Effect == Exec || r.Effect == Net {
			return bad("path", "path = %q: a path speaks for read and write, not for %s", r.Path, r.Effect)
		}
		if r.path, err = parsePath(r.Path); err != nil {
			return bad("path", "path = %q: %v", r.Path, err)
		}
	}
	if r.URL != "" {
		r.conditions++
		if r.Effect != "" && r.Effect != Net {
			return bad("url", "url = %q: a url speaks for net, not for %s", r.URL, r.Effect)
		}
		if r.url, err = parseURLPattern(r.URL); err != nil {
			return bad("url", "url = %q: %v", r.URL, err)
		}
	}
	for field, want := range r.Input {
		r.conditions++
		if i := strings.IndexByte(want, '*'); i >= 0 && i != len(want)-1 {
			return bad("input."+field, "input.%s = %q: a * stands only at the end", field, want)
		}
	}
	return r, nil
}

// before reports whether r is the one to name where both say as much: the
// stricter, then the first by file and line.
func (r *rule) before(o *rule) bool {
	if r.Decision != o.Decision {
		return r.Decision.Worse(o.Decision)
	}
	if r.File != o.File {
		return r.File < o.File
	}
	return r.Line < o.Line
}

// exactness orders tool patterns: exact, longer prefix, *.
func (r *rule) exactness() int {
	switch {
	case r.name == "*":
		return 0
	case strings.HasSuffix(r.name, "*"):
		return len(r.name)
	}
	return 1 << 20
}

// fits reports whether the rule's tool pattern fits a name.
func (r *rule) fits(tool string) bool {
	if p, ok := strings.CutSuffix(r.name, "*"); ok {
		return strings.HasPrefix(tool, p)
	}
	return r.name == tool
}

// match is how far a condition holds.
type match int

const (
	no      match = iota
	maybe         // it can't be proven that it does not
	oneForm       // a path matches as written or as resolved, not both
	fully
)

// commandPattern is a condition on the words of a leaf command.
type commandPattern struct {
	words []string
	rest  bool // a last *: any further words, also none
}

// parseCommand splits a pattern into words as a shell would, quotes included,
// so that a literal * or a space can be written as '*' or "a b".
func parseCommand(text string) (commandPattern, error) {
	words, err := shell.Words(text)
	if err != nil {
		return commandPattern{}, err
	}
	var p commandPattern
	for i, w := range words {
		switch {
		case w.Text == "*" && w.Glob && i == len(words)-1:
			p.rest = true
		case w.Glob:
			return p, fmt.Errorf("a * stands only as the last word; write '%s' to mean it literally", w.Text)
		case !w.Literal:
			return p, fmt.Errorf("%q would be expanded by the shell; only literal words can be compared", w.Text)
		default:
			p.words = append(p.words, w.Text)
		}
	}
	return p, nil
}

// program is the word under which the pattern is indexed.
func (p *commandPattern) program() string { return path.Base(p.words[0]) }

// allows reports whether an allow with this pattern speaks for the words: each
// word as written, the same number of them or a rest.
func (p *commandPattern) allows(words []shell.Word) bool {
	if len(words) < len(p.words) || len(words) > len(p.words) && !p.rest {
		return false
	}
	for i, want := range p.words {
		if !words[i].Literal || words[i].Text != want {
			return false
		}
	}
	for _, w := range words[len(p.words):] {
		if w.Text == "" && !w.Literal {
			return false
		}
	}
	return true
}

// meets reports whether a deny or ask with this pattern speaks for the words:
// the program by any path, and words that are expanded may be anything.
func (p *commandPattern) meets(words []shell.Word) match {
	if len(words) == 0 {
		if len(p.words) == 0 && p.rest {
			return fully
		}
		return no
	}
	m := fully
	for i, want := range p.words {
		if i >= len(words) {
			return no
		}
		w := words[i]
		switch {
		case !w.Literal:
			return maybe // it may become any number of words
		case i == 0 && path.Base(w.Text) == path.Base(want), w.Text == want:
		default:
			return no
		}
	}
	if len(words) > len(p.words) && !p.rest {
		m = no
		for _, w := range words[len(p.words):] {
			if w.Literal {
				return no
			}
			m = maybe // it may become no word at all
		}
	}
	return m
}

// pathPattern is a condition on a path.
type pathPattern struct {
	glob     string // without its root
	root     byte   // '/' absolute, '~' home, 'w' workspace, '*' anywhere
	prefix   string // literal head of glob
	suffix   string // literal tail of glob
	absolute bool   // it says itself where it is: / or ~/
}

func parsePath(text string) (pathPattern, error) {
	p := pathPattern{glob: text, root: 'w'}
	switch {
	case strings.HasPrefix(text, "$"):
		return p, fmt.Errorf("a variable is not expanded here; write the folder itself")
	case strings.HasPrefix(text, "/"):
		p.root, p.glob, p.absolute = '/', text[1:], true
	case text == "~" || strings.HasPrefix(text, "~/"):
		p.root, p.glob, p.absolute = '~', strings.TrimPrefix(text[1:], "/"), true
	case strings.HasPrefix(text, "~"):
		return p, fmt.Errorf("only your own ~/ is expanded; write the folder itself")
	case text == "**" || strings.HasPrefix(text, "**/"):
		p.root = '*'
	}
	p.glob = strings.TrimPrefix(p.glob, "./")
	if strings.HasSuffix(p.glob, "/") {
		p.glob += "**" // a folder is everything in it
	}
	if p.glob == "" {
		p.glob = "."
	}
	for _, part := range strings.Split(p.glob, "/") {
		if part == ".." || part == "." && p.glob != "." {
			return p, fmt.Errorf("it must not contain %q; write the path that is meant", part)
		}
	}
	if !doublestar.ValidatePattern(p.glob) {
		return p, fmt.Errorf("it is not a valid glob")
	}
	const meta = `*?[{\`
	if i := strings.IndexAny(p.glob, meta); i >= 0 {
		p.prefix = p.glob[:i]
		p.suffix = p.glob[strings.LastIndexAny(p.glob, `*?]}\`)+1:]
		// A slash beside ** may match nothing: docs/** is docs itself, too.
		p.prefix = strings.TrimSuffix(p.prefix, "/")
		p.suffix = strings.TrimPrefix(p.suffix, "/")
	} else {
		p.prefix, p.suffix = p.glob, p.glob
	}
	return p, nil
}

// hits reports whether one absolute, clean path matches.
func (p *pathPattern) hits(name string, env *Env, anywhere bool) bool {
	rel, ok := strings.TrimPrefix(name, "/"), true
	switch p.root {
	case '~':
		rel, ok = below(env.Home, name)
	case 'w':
		rel, ok = below(env.Workspace, name)
	case '*':
		if !anywhere {
			rel, ok = below(env.Workspace, name)
		}
	}
	if !ok || !strings.HasPrefix(rel, p.prefix) || !strings.HasSuffix(rel, p.suffix) {
		return false
	}
	return doublestar.MatchUnvalidated(p.glob, rel)
}

// below returns name relative to root, if it is root or inside it.
func below(root, name string) (string, bool) {
	switch {
	case root == "":
		return "", false
	case name == root:
		return ".", true
	case root == "/":
		return name[1:], true
	case strings.HasPrefix(name, root) && name[len(root)] == '/':
		return name[len(root)+1:], true
	}
	return "", false
}

// matches compares both forms of a path. An allow needs both.
func (p *pathPattern) matches(where *place, env *Env, verdict wire.Verdict) match {
	anywhere := verdict != wire.Allow
	a := p.hits(where.written, env, anywhere)
	b := a
	if where.resolved != where.written {
		b = p.hits(where.resolved, env, anywhere)
	}
	switch {
	case a && b:
		return fully
	case (a || b) && verdict != wire.Allow:
		return oneForm
	}
	return no
}
