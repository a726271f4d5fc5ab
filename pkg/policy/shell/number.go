package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/kxtools/kx/pkg/policy/shell/effect"
	"github.com/kxtools/kx/pkg/policy/shell/word"
)

// numbers tells which variables hold numbers and nothing else, as far as the
// script gives them values: bash evaluates what a variable holds when it stands in
// arithmetic, and an index in that may run a command.
type numbers struct {
	all  bool            // any variable may hold anything
	bare map[string]bool // those that may hold something else
}

// number reports whether a word of arithmetic is a number for certain.
func (w *walker) number(word *syntax.Word) bool {
	if lit := word.Lit(); lit != "" {
		return effect.Digits(lit) || identifier(lit) && w.holdsNumber(lit)
	}
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if !effect.Digits(part.Value) {
				return false
			}
		case *syntax.ArithmExp:
		case *syntax.ParamExp:
			if part.Length && part.Param != nil && part.Index == nil && !part.Excl {
				continue // ${#x}
			}
			if part.Param == nil || part.Excl || part.Index != nil || part.Exp != nil || part.Repl != nil || part.Slice != nil || part.Names != 0 {
				return false
			}
			if name := part.Param.Value; name != "#" && name != "?" && name != "$" && name != "!" && !(identifier(name) && w.holdsNumber(name)) {
				return false
			}
		default:
			return false
		}
	}
	return len(word.Parts) > 0
}

func identifier(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && (s[0] < '0' || s[0] > '9')
}

func (w *walker) holdsNumber(name string) bool {
	if w.depth > 0 {
		return false // the code around may give it a value
	}
	if w.safe == nil {
		w.safe = &numbers{bare: map[string]bool{}}
		for _, st := range w.tree {
			syntax.Walk(st, w.safe.learn)
		}
	}
	return !w.safe.all && !w.safe.bare[name]
}

// learn looks for what may give a variable something else than a number.
func (n *numbers) learn(node syntax.Node) bool {
	switch node := node.(type) {
	case *syntax.Assign:
		if node.Name != nil && (node.Array != nil || node.Index != nil || node.Append || node.Value != nil && !numeric(node.Value)) {
			n.bare[node.Name.Value] = true
		}
		if node.Name == nil {
			n.all = n.all || node.Value != nil && !strings.HasPrefix(word.Of(node.Value).Text, "-")
		}
	case *syntax.DeclClause:
		for _, a := range node.Args {
			if a.Name == nil && a.Value != nil && strings.ContainsAny(word.Of(a.Value).Text, "n") {
				n.all = true // a name of another variable
			}
		}
	case *syntax.WordIter:
		for _, item := range node.Items {
			if !numeric(item) {
				n.bare[node.Name.Value] = true
			}
		}
		if len(node.Items) == 0 {
			n.bare[node.Name.Value] = true
		}
	case *syntax.ParamExp:
		if node.Exp != nil && node.Param != nil && (node.Exp.Op == syntax.AssignUnset || node.Exp.Op == syntax.AssignUnsetOrNull) {
			n.bare[node.Param.Value] = true
		}
	case *syntax.CallExpr:
		if len(node.Args) == 0 {
			return true
		}
		first := word.Spelled(node.Args[0])
		if first == "" || strings.Contains(" read mapfile readarray printf getopts eval source . declare typeset local export readonly let trap command builtin coproc ", " "+first+" ") && !plainPrintf(node) {
			n.all = true
		}
	case *syntax.CoprocClause:
		n.all = true
	}
	return true
}

// plainPrintf is a printf without -v.
func plainPrintf(call *syntax.CallExpr) bool {
	if word.Spelled(call.Args[0]) != "printf" || len(call.Args) < 2 {
		return false
	}
	format := word.Of(call.Args[1])
	return format.Literal && !strings.HasPrefix(format.Text, "-")
}

// numeric reports whether a value is a number, or comes from arithmetic. A range
// {1..9} is numbers as well.
func numeric(word *syntax.Word) bool {
	if effect.Digits(word.Lit()) {
		return true
	}
	if lit := word.Lit(); strings.HasPrefix(lit, "{") && strings.HasSuffix(lit, "}") && strings.Trim(lit, "{}.0123456789") == "" {
		return true
	}
	if len(word.Parts) != 1 {
		return false
	}
	switch part := word.Parts[0].(type) {
	case *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		return part.Length
	case *syntax.DblQuoted:
		return len(part.Parts) == 1 && numeric(&syntax.Word{Parts: part.Parts})
	}
	return false
}
