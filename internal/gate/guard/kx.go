package guard

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/kxtools/kx/internal/gate/guard/expand"
	"github.com/kxtools/kx/pkg/policy/catalogue"
)

// ownProgram returns the words of a command that runs kx itself, from its source,
// or by a name that is not told for certain; nil if there is nothing of that.
func ownProgram(argv []string) []string {
	name, rest := argv[0], argv[1:]
	if path.Base(name) == "go" && len(rest) > 0 && rest[0] == "run" {
		name, rest = "", rest[1:]
		for i, a := range rest {
			if !strings.HasPrefix(a, "-") {
				name, rest = strings.TrimSuffix(a, "/"), rest[i+1:]
				break
			}
		}
	}
	name, _, _ = strings.Cut(path.Base(name), "@")
	if _, tail, ok := strings.Cut(name, expand.Unknown); ok && strings.HasPrefix(tail, "kx") {
		name = tail
	}
	if name != "kx" && name != "kxd" {
		return nil
	}
	return append([]string{name}, rest...)
}

// elsewhere are flags of kx by which a call is judged in another way than here.
var elsewhere = map[string]bool{"-C": true, "--state-dir": true, "--config-dir": true, "--mode": true, "--session": true, "--as": true, "--capabilities": true, "--ignore-env": true}

// called reads the arguments of "kx call". With flags by which it would be judged
// elsewhere, or with an input that is not plain, it is not known.
func called(args []string, from, at int) Call {
	c := Call{Leaf: at}
	var operands []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		name, _, _ := strings.Cut(a, "=")
		switch {
		case elsewhere[name]:
			return c
		case i == from-1:
		case name == "-o" || name == "--output" || name == "--wait" || name == "--key":
			if name == a {
				i++
			}
		case len(a) > 1 && a[0] == '-':
		default:
			operands = append(operands, a)
		}
	}
	if len(operands) == 0 || len(operands) > 2 || strings.ContainsAny(strings.Join(operands, ""), expand.Unknown+expand.Unset) {
		return c
	}
	if _, ok := catalogue.Lookup(operands[0]); !ok {
		return c
	}
	c.Tool = operands[0]
	if len(operands) == 1 {
		c.Input = json.RawMessage("{}")
	} else if json.Valid([]byte(operands[1])) {
		c.Input = json.RawMessage(operands[1])
	}
	return c
}
