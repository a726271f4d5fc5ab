package client

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/patch"
	"github.com/kxtools/kx/pkg/policy/shell"
	"github.com/kxtools/kx/pkg/wire"
)

// Call is a call in our words, with what a gate has to know beside.
type Call struct {
	wire.Call
	With     []wire.Call // calls that are made along with it
	Search   string      // a line of bash that reads what the call reads, "" for none
	Unproven string      // why only a person can allow it, "" for nothing
}

// Call translates a record. A tool that kx has no name for is CLIENT__NAME.
func (c *Client) Call(r *Record) (*Call, error) {
	if names := c.mcp(r); names != nil {
		return mcpCall(names, r)
	}
	l, known := c.tools()[r.Tool]
	call := &Call{}
	call.Tool = l.tool
	if !known || l.tool == "" {
		var err error
		if call.Tool, err = c.own(r.Tool); err != nil {
			return nil, fail.Denied("unknown_tool", "%v", err)
		}
	}
	in, err := l.rename(r.Input)
	if err != nil {
		return nil, fail.Denied("ambiguous_input", "%s of %s: %v", r.Tool, c.Name, err)
	}
	if call.Tool == "bash" {
		if err := c.command(call, in); err != nil {
			return nil, err
		}
	}
	switch l.does {
	case "patch":
		patchText(in)
	case "glob":
		in["path"] = globFolder(in)
	case "search":
		dir := text(in["path"])
		if dir == "" {
			dir = "."
		}
		call.Search = "grep -r -e x -- " + quote(dir)
	case "fetch":
		fetches(call, in)
	}
	if call.Input != nil {
		return call, nil
	}
	call.Input, err = wire.Marshal(in)
	return call, err
}

// rename returns an input with our names of its fields. A field that the client's
// tool does not have, but ours has, would be judged and not used; two fields of one
// meaning leave open which one is used.
func (l line) rename(input map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	in := make(map[string]json.RawMessage, len(input))
	entry, _ := catalogue.Lookup(l.tool)
	for k, v := range input {
		ours, ok := l.fields[k]
		switch {
		case ok:
		case k != "" && (k == entry.Path || k == entry.URL) || slices.Contains(looked[l.tool], k):
			return nil, fmt.Errorf("it has no field %s", k)
		default:
			ours = k
		}
		if _, twice := in[ours]; twice {
			return nil, fmt.Errorf("%s is given twice", ours)
		}
		in[ours] = v
	}
	return in, nil
}

// looked are fields that we look at beside the path and the address.
var looked = map[string][]string{"bash": {"command", "cwd"}}

// mcpCall is a call of an MCP tool, under each name that it may have.
func mcpCall(names []string, r *Record) (*Call, error) {
	input, err := wire.Marshal(r.Input)
	if err != nil {
		return nil, err
	}
	call := &Call{Call: wire.Call{Tool: names[0], Input: input}}
	for _, n := range names[1:] {
		call.With = append(call.With, wire.Call{Tool: n, Input: input})
	}
	return call, nil
}

// text returns a string of an input, "" if it is none.
func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

func raw(s string) json.RawMessage {
	b, _ := wire.Marshal(s) // a string always has a JSON form
	return b
}

// quote makes one word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// outside are fields that take a command out of the client's own walls.
var outside = map[string]func(json.RawMessage) bool{
	"dangerouslyDisableSandbox": func(v json.RawMessage) bool { return string(v) != "false" && string(v) != "null" },
	"sandbox_permissions":       func(v json.RawMessage) bool { return text(v) != "use_default" && string(v) != "null" },
	"with_escalated_permissions": func(v json.RawMessage) bool {
		return string(v) != "false" && string(v) != "null"
	},
}

// command looks into a command: its words may come as a list, it may leave the
// walls, and it may be a patch.
func (c *Client) command(call *Call, in map[string]json.RawMessage) error {
	var words []string
	if json.Unmarshal(in["command"], &words) == nil && len(words) > 0 {
		in["command"] = raw(commandLine(words))
	}
	for field, takes := range outside {
		if v, ok := in[field]; ok && takes(v) {
			call.Unproven = c.Name + " would run it without its own sandbox"
		}
	}
	if !c.patches {
		return nil
	}
	p := findPatch(text(in["command"]))
	switch {
	case p == nil:
	case p.alone && in["cwd"] == nil:
		call.Tool = "apply_patch"
		var err error
		call.Input, err = wire.Marshal(map[string]string{"patch": p.text})
		return err
	case p.names == nil:
		call.Unproven = "which files its patch changes can't be told"
	default:
		dir := text(in["cwd"])
		for i, n := range p.names {
			p.names[i] = shell.Join(dir, n)
		}
		call.With = append(call.With, writes(p.names)...)
	}
	return nil
}

// commandLine is the line of a command that comes in words. A shell of the system
// with one line to run is that line; a program of its name elsewhere is another one.
func commandLine(words []string) string {
	if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") {
		dir, name := path.Split(words[0])
		switch name {
		case "bash", "sh", "zsh", "dash":
			if dir == "" || dir == "/bin/" || dir == "/usr/bin/" {
				return words[2]
			}
		}
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

// inside is a patch in a command.
type inside struct {
	text  string
	names []string // of its files, from where the command starts; nil if they can't be told
	alone bool     // the command does nothing else
}

// findPatch finds a patch that a command applies, nil if there is none.
func findPatch(command string) *inside {
	s := shell.Analyze(command)
	var found []*shell.Leaf
	others := 0
	for i := range s.Leaves {
		switch l := &s.Leaves[i]; {
		case len(l.Words) > 0 && isPatcher(l.Words[0].Text):
			found = append(found, l)
		case l.Kind != shell.Neutral:
			others++
		}
	}
	if len(found) == 0 {
		return nil
	}
	p := &inside{}
	l := found[0]
	switch {
	case len(found) > 1 || len(l.Dirs) != 1 || len(l.Files) > 0:
		return p
	case len(l.Words) == 2 && l.Words[1].Literal && len(s.Input) == 0:
		p.text = l.Words[1].Text
	case len(l.Words) == 1 && len(s.Input) == 1 && (exact().MatchString(command) || !strings.ContainsAny(s.Input[0].Text, "$`\\")):
		p.text = s.Input[0].Text
	default:
		return p
	}
	names, err := patch.Names(p.text)
	if err != nil {
		return p
	}
	for _, n := range names {
		p.names = append(p.names, shell.Join(l.Dirs[0], n))
	}
	p.alone = l.Dirs[0] == "" && others == 0 && patchers[l.Words[0].Text] // not a program of that name
	return p
}

// exact is the beginning of a command whose here-document is taken as it is written,
// whatever the shell could expand in it.
var exact = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^\\s*(cd [^\n;&|<>$`\"'\\\\]+ && )?apply_patch\\s*<<\\s*['\"]\\w+['\"]\\s*\n")
})

// patchers are the names by which the client itself applies a patch.
var patchers = map[string]bool{"apply_patch": true, "applypatch": true}

// isPatcher reports whether a word may apply a patch, also as a program somewhere.
func isPatcher(word string) bool { return patchers[path.Base(word)] }

// writes are calls that stand for what a patch does to files.
func writes(names []string) (calls []wire.Call) {
	for _, n := range names {
		input, _ := wire.Marshal(map[string]string{"path": n})
		calls = append(calls, wire.Call{Tool: "write_file", Input: input})
	}
	return calls
}

// patchText finds the text of a patch in the fields that it comes in.
func patchText(in map[string]json.RawMessage) {
	for _, field := range []string{"command", "input", "patch"} {
		v, ok := in[field]
		if !ok {
			continue
		}
		var words []string
		if json.Unmarshal(v, &words) == nil && len(words) == 2 && patchers[words[0]] {
			v = raw(words[1])
		}
		delete(in, field)
		in["patch"] = v
		return
	}
}

// globFolder is the folder that a pattern looks through: what stands before its
// first wildcard is part of the path.
func globFolder(in map[string]json.RawMessage) json.RawMessage {
	dir, pattern := text(in["path"]), text(in["pattern"])
	if dir == "" {
		dir = "."
	}
	head, tail := pattern, ""
	if i := strings.IndexAny(pattern, "*?[{"); i >= 0 {
		head, tail = pattern[:strings.LastIndexByte(pattern[:i], '/')+1], pattern[i:]
	}
	switch {
	case strings.Contains(tail, ".."), rooted().MatchString(tail):
		dir = "/" // it may climb to anywhere, or begin there
	case strings.HasPrefix(head, "/") || strings.HasPrefix(head, "~"):
		dir = head
	case head != "":
		dir += "/" + head
	}
	return raw(dir)
}

// rooted finds an alternative in braces that begins somewhere else.
var rooted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[{,][/~]`) })

// address is a URL in a text. It is compiled when it is needed.
var address = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bhttps?://[^\s"'<>]+`) })

// fetches finds the addresses in a prompt, beside the one that has a field.
func fetches(call *Call, in map[string]json.RawMessage) {
	for _, u := range address().FindAllString(text(in["prompt"]), -1) {
		if _, ok := in["url"]; !ok {
			in["url"] = raw(u)
			continue
		}
		input, _ := wire.Marshal(map[string]string{"url": u})
		call.With = append(call.With, wire.Call{Tool: "web_fetch", Input: input})
	}
}
