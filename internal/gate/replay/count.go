package replay

import (
	"bytes"
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/shell"
	"github.com/kxtools/kx/pkg/wire"
)

// MaxCalls is how far calls are counted: nobody is told more by a larger number.
const MaxCalls = 10_000

// Calls is how many calls of the record a rule speaks for, up to MaxCalls.
type Calls struct {
	N     int
	Known bool // the rule is one that pkg/policy/grant makes
}

// Count reads the record once and counts, for rules that were made of a request, the
// calls but its own that each speaks for by itself. A call that was asked for and
// then used is one. Lines that are damaged are left out.
//
// A line is taken apart only if it has the bytes that a rule speaks of: the record
// is read as fast as it comes from the disk.
func Count(log *audit.Log, rules []policy.Rule, request string) ([]Calls, error) {
	calls, looks := make([]Calls, len(rules)), make([]*look, len(rules))
	open := 0
	for i := range rules {
		if looks[i] = lookFor(&rules[i]); looks[i] != nil {
			calls[i].Known = true
			open++
		}
	}
	for raw, err := range log.Lines(audit.TypeDecision) {
		if err != nil {
			return nil, err
		}
		if open == 0 {
			break
		}
		var l *counted
		for i, k := range looks {
			if k == nil || calls[i].N == MaxCalls || !bytes.Contains(raw, k.bytes) {
				continue
			}
			if l == nil {
				l = &counted{}
				if json.Unmarshal(raw, l) != nil {
					break
				}
			}
			key := l.key()
			if l.Approval == request && request != "" || k.seen[key] || !k.in(l) {
				continue
			}
			k.seen[key] = true
			if calls[i].N++; calls[i].N == MaxCalls {
				open--
			}
		}
	}
	return calls, nil
}

// counted is what is needed of a line.
type counted struct {
	CallID    string          `json:"call_id"`
	Approval  string          `json:"approval_id"`
	Session   string          `json:"session"`
	Workspace string          `json:"workspace"`
	Tool      string          `json:"tool"`
	Input     json.RawMessage `json:"input"`
	Points    []wire.Point    `json:"points"`
	Leaves    []wire.Leaf     `json:"leaves"`
}

// key names the call, however often it was decided.
func (l *counted) key() [2]string {
	if l.Approval != "" {
		return [2]string{"", l.Approval}
	}
	return [2]string{l.Session, l.CallID}
}

// look is what a rule speaks of.
type look struct {
	bytes    []byte // that a line about it has
	tool     string
	argv     []string // of bash
	effect   string
	resource string // the absolute path, or the scheme and host

	seen map[[2]string]bool
}

// lookFor returns nil for a rule that is not literal.
func lookFor(r *policy.Rule) *look {
	k := &look{tool: r.Tool, effect: r.Effect, seen: map[[2]string]bool{}}
	part := ""
	switch {
	case len(r.Input) > 0:
		return nil
	case r.Path != "":
		k.resource = unescape(r.Path)
		part = path.Base(k.resource)
	case r.URL != "":
		k.resource = strings.TrimSuffix(unescape(r.URL), "/**")
		part = k.resource
	}
	if r.Command != "" {
		words, err := shell.Words(r.Command)
		if err != nil {
			return nil
		}
		for _, w := range words {
			if !w.Literal {
				return nil
			}
			k.argv = append(k.argv, w.Text)
		}
		raw, err := wire.Marshal(k.argv)
		if err != nil {
			return nil
		}
		k.bytes = append([]byte(`"argv":`), raw...)
		return k
	}
	if part == "" {
		part = r.Tool
	}
	raw, err := wire.Marshal(part)
	if err != nil {
		return nil
	}
	k.bytes = bytes.Trim(raw, `"`)
	return k
}

// in reports whether the rule would match a part of the call.
func (k *look) in(l *counted) bool {
	if l.Tool != k.tool {
		return false
	}
	if k.argv == nil {
		return k.effect == "" || k.among(l.Points, l.Workspace)
	}
	for i, leaf := range l.Leaves {
		if !slices.Equal(leaf.Argv, k.argv) || odd(leaf.Argv) && !literal(l.Input, i) {
			continue
		}
		if k.effect == "" || k.among(leaf.Points, l.Workspace) {
			return true
		}
	}
	return false
}

func (k *look) among(points []wire.Point, workspace string) bool {
	return slices.ContainsFunc(points, func(p wire.Point) bool {
		return p.Effect == k.effect && (k.resource == "" || k.resource == resource(&p, workspace))
	})
}

// resource is that of a point as a rule has it.
func resource(p *wire.Point, workspace string) string {
	switch {
	case p.Effect == catalogue.Net:
		if u, err := url.Parse(p.Resource); err == nil && u.Host != "" {
			return u.Scheme + "://" + u.Host
		}
	case p.Resource != "" && !path.IsAbs(p.Resource):
		return path.Join(workspace, p.Resource)
	}
	return p.Resource
}

// unescape is the reverse of how grant writes a path or an address.
func unescape(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}

// odd reports whether words may stand for what the shell makes of them.
func odd(argv []string) bool {
	return slices.ContainsFunc(argv, func(w string) bool { return strings.ContainsAny(w, "$`*?[{~<(!\\") })
}

// literal reports whether the words of a leaf are what they say.
func literal(input json.RawMessage, leaf int) bool {
	var in struct{ Command string }
	if json.Unmarshal(input, &in) != nil {
		return false
	}
	leaves := shell.Analyze(in.Command).Leaves
	return leaf < len(leaves) && !slices.ContainsFunc(leaves[leaf].Words, func(w shell.Word) bool { return !w.Literal })
}
