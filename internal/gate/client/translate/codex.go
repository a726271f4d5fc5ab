package translate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/wire"
)

// maxRules is how many rules the alternatives of one may come to.
const maxRules = 64

// Codex reads the prefix_rule calls of a rules file of Codex. Other statements are
// noted: the file is a program, and only its plain calls can be read without running
// it.
func Codex(data []byte) ([]Item, error) {
	var l list
	p := &starlark{text: string(data)}
	for p.next() {
		if p.word() != "prefix_rule" {
			l.note(p.rest(), "only plain prefix_rule calls are read")
			continue
		}
		from := p.start
		args, err := p.call()
		text := strings.Join(strings.Fields(p.text[from:p.at]), " ")
		if err != nil {
			l.note(text, "it is not understood: %v", err)
			p.rest()
			continue
		}
		l.prefix(text, args)
	}
	return l, nil
}

var codexDecisions = map[string]wire.Verdict{"": wire.Allow, "allow": wire.Allow, "prompt": wire.Ask, "forbidden": wire.Deny}

func (l *list) prefix(from string, args map[string]any) {
	decision, _ := args["decision"].(string)
	d, known := codexDecisions[decision]
	pattern, _ := args["pattern"].([]any)
	if !known || len(pattern) == 0 {
		l.note(from, "it is not understood")
		return
	}
	reason, _ := args["justification"].(string)
	lines := [][]string{nil}
	for _, part := range pattern {
		words := []string{}
		switch part := part.(type) {
		case string:
			words = append(words, part)
		case []any:
			for _, alternative := range part {
				if s, ok := alternative.(string); ok {
					words = append(words, s)
				}
			}
		}
		var longer [][]string
		for _, line := range lines {
			for _, w := range words {
				longer = append(longer, append(append([]string{}, line...), "'"+strings.ReplaceAll(w, "'", `'\''`)+"'"))
			}
		}
		if lines = longer; len(lines) == 0 || len(lines) > maxRules {
			l.note(from, "it has no alternatives, or too many")
			return
		}
	}
	var rules []policy.Rule
	for _, line := range lines {
		words, ok := command(strings.Join(line, " "), true)
		if !ok {
			l.note(from, "its words can't stand in a rule")
			return
		}
		rules = append(rules, policy.Rule{Tool: "bash", Command: words, Decision: d, Reason: reason})
	}
	l.add(from, rules...)
}

// starlark reads calls with plain arguments.
type starlark struct {
	text  string
	at    int
	start int // of the statement
}

// next goes to the next statement.
func (p *starlark) next() bool {
	p.space()
	p.start = p.at
	return p.at < len(p.text)
}

// space passes over spaces, line ends and comments.
func (p *starlark) space() {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '#':
			for p.at < len(p.text) && p.text[p.at] != '\n' {
				p.at++
			}
		case strings.IndexByte(" \t\r\n;", c) >= 0:
			p.at++
		default:
			return
		}
	}
}

func (p *starlark) word() string {
	from := p.at
	for p.at < len(p.text) && strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", rune(p.text[p.at])) {
		p.at++
	}
	return p.text[from:p.at]
}

// rest goes to the end of the line and returns the statement.
func (p *starlark) rest() string {
	if i := strings.IndexByte(p.text[p.at:], '\n'); i >= 0 {
		p.at += i
	} else {
		p.at = len(p.text)
	}
	return strings.TrimSpace(p.text[p.start:p.at])
}

func (p *starlark) take(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// call reads the arguments of a call, all of them by name.
func (p *starlark) call() (map[string]any, error) {
	if !p.take('(') {
		return nil, fmt.Errorf("it is no call")
	}
	args := map[string]any{}
	for !p.take(')') {
		p.space()
		name := p.word()
		if name == "" || !p.take('=') {
			return nil, fmt.Errorf("an argument has no name")
		}
		v, err := p.value(0)
		if err != nil {
			return nil, err
		}
		args[name] = v
		if !p.take(',') {
			if p.take(')') {
				break
			}
			return nil, fmt.Errorf("a comma is missing")
		}
	}
	return args, nil
}

// maxDepth is how deep lists are read: a pattern has alternatives, examples have
// words.
const maxDepth = 4

func (p *starlark) value(depth int) (any, error) {
	p.space()
	switch {
	case p.at == len(p.text) || depth > maxDepth:
		return nil, fmt.Errorf("a value is missing")
	case p.text[p.at] == '"' || p.text[p.at] == '\'':
		return p.str()
	case p.take('['):
		items := []any{}
		for !p.take(']') {
			v, err := p.value(depth + 1)
			if err != nil {
				return nil, err
			}
			items = append(items, v)
			if !p.take(',') {
				if p.take(']') {
					break
				}
				return nil, fmt.Errorf("a comma is missing")
			}
		}
		return items, nil
	}
	return nil, fmt.Errorf("a value is no text and no list")
}

func (p *starlark) str() (string, error) {
	quote := p.text[p.at]
	if strings.HasPrefix(p.text[p.at:], strings.Repeat(string(quote), 3)) {
		return "", fmt.Errorf("a text of several lines")
	}
	from := p.at
	for p.at++; p.at < len(p.text) && p.text[p.at] != quote && p.text[p.at] != '\n'; p.at++ {
		if p.text[p.at] == '\\' {
			p.at++
		}
	}
	if p.at >= len(p.text) || p.text[p.at] != quote {
		p.at = min(p.at, len(p.text))
		return "", fmt.Errorf("a text has no end")
	}
	p.at++
	body := p.text[from+1 : p.at-1]
	if !strings.Contains(body, "\\") {
		return body, nil
	}
	if quote == '\'' {
		body = strings.ReplaceAll(strings.ReplaceAll(body, `\'`, `'`), `"`, `\"`)
	}
	s, err := strconv.Unquote(`"` + body + `"`)
	if err != nil {
		return "", fmt.Errorf("a text has an escape that is not known")
	}
	return s, nil
}
