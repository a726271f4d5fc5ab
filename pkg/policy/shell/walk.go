package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/kxtools/kx/pkg/policy/shell/effect"
	"github.com/kxtools/kx/pkg/policy/shell/word"
)

// walker collects the leaves of a script.
type walker struct {
	leaves []Leaf
	values []Value
	input  []Word
	moves  bool // the script changes its folder somewhere
	tree   []*syntax.Stmt
	safe   *numbers // what is known of variables in arithmetic
	depth  int      // of code in code
	read   int      // bytes of code in code
	spread bool     // braces have made several words of one
	inside int      // of substitutions
}

// scope is what holds where a statement stands.
type scope struct {
	via   string
	dirs  []string // the folders that may be current; nil = unknown
	input *input   // what is known of the input; nil = nothing
	depth int      // of commands that run it
	far   bool     // it runs on another system
}

// input is text that a command gets as its input.
type input struct {
	text Word
	sure bool // it gets the whole of it, and nothing else
}

func (s scope) through(how string) scope {
	if s.via != "" {
		how = s.via + " " + how
	}
	s.via = how
	return s
}

// maxDirs is how many current folders are followed before they count as
// unknown; each costs a point for every relative path.
const maxDirs = 4

// join returns both sets of folders as one.
func join(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	out := append([]string{}, a...)
	for _, d := range b {
		seen := false
		for _, have := range out {
			seen = seen || have == d
		}
		if !seen {
			out = append(out, d)
		}
	}
	if len(out) > maxDirs {
		return nil
	}
	return out
}

// stmts walks statements one after the other and returns the folders that may
// be current behind them.
func (w *walker) stmts(list []*syntax.Stmt, s scope) []string {
	for _, st := range list {
		// A cd that fails leaves the shell where it was.
		s.dirs = join(s.dirs, w.stmt(st, s))
	}
	return s.dirs
}

// stmt returns the folders that may be current if the statement succeeds.
func (w *walker) stmt(st *syntax.Stmt, s scope) []string {
	if st.Background || st.Coprocess || st.Disown {
		w.inner(st, s)
		return s.dirs
	}
	return w.inner(st, s)
}

func (w *walker) inner(st *syntax.Stmt, s scope) []string {
	files, fed, unknown := w.redirects(st.Redirs, s)
	if fed != nil {
		s.input = fed
		if fed.text.Text == "" {
			s.input = nil
		}
	}
	call, isCall := st.Cmd.(*syntax.CallExpr)
	switch {
	case isCall:
		return w.call(call, files, unknown, s)
	case st.Cmd == nil:
		w.add(Leaf{Files: files, Unknown: unknown}, s)
		return s.dirs
	case len(files) > 0 || unknown != "":
		w.add(Leaf{Kind: Neutral, Files: files, Unknown: unknown}, s.through("redirect"))
	}
	if s.input != nil {
		s.input = &input{text: s.input.text} // several commands share it
	}
	return w.command(st.Cmd, s)
}

// command walks everything but simple commands. What it has no case for is not
// understood.
func (w *walker) command(cmd syntax.Command, s scope) []string {
	switch cmd := cmd.(type) {
	case *syntax.Block:
		return w.stmts(cmd.Stmts, s)
	case *syntax.Subshell:
		w.stmts(cmd.Stmts, s)
		return s.dirs
	case *syntax.BinaryCmd:
		return w.binary(cmd, s)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return w.stmt(cmd.Stmt, s)
		}
		return s.dirs
	case *syntax.IfClause:
		after := s.dirs
		for c := cmd; c != nil; c = c.Else {
			s.dirs = w.stmts(c.Cond, s)
			after = join(after, join(s.dirs, w.stmts(c.Then, s)))
		}
		return after
	case *syntax.CaseClause:
		w.words(s, cmd.Word)
		after := s.dirs
		for _, item := range cmd.Items {
			w.words(s, item.Patterns...)
			in := s
			in.dirs = after
			after = join(after, w.stmts(item.Stmts, in))
		}
		return after
	case *syntax.WhileClause:
		s = w.loop(s)
		w.stmts(cmd.Cond, s)
		w.stmts(cmd.Do, s)
		return s.dirs
	case *syntax.ForClause:
		s = w.loop(s)
		switch loop := cmd.Loop.(type) {
		case *syntax.WordIter:
			w.words(s, loop.Items...)
			for _, item := range loop.Items {
				w.values = append(w.values, Value{loop.Name.Value, word.Of(item)})
			}
			if effect.Steers(loop.Name.Value) {
				w.add(Leaf{Unknown: "it sets " + loop.Name.Value + ", which can change what a command runs"}, s)
			}
		case *syntax.CStyleLoop:
			w.arithm(s, loop.Init, loop.Cond, loop.Post)
		default:
			w.add(Leaf{Unknown: "a loop of an unknown kind"}, s)
		}
		w.stmts(cmd.Do, s)
		return s.dirs
	case *syntax.FuncDecl:
		if cmd.Name == nil || cmd.Name.Value == "cd" || cmd.Name.Value == "pushd" || cmd.Name.Value == "popd" {
			w.add(Leaf{Unknown: "a function that takes the place of cd"}, s)
		}
		w.stmt(cmd.Body, w.loop(s).through("function"))
		return w.loop(s).dirs
	case *syntax.CoprocClause:
		w.words(s, cmd.Name)
		if cmd.Name != nil && cmd.Stmt.Cmd == nil {
			cmd.Stmt.Cmd = &syntax.CallExpr{Args: []*syntax.Word{cmd.Name}} // a command with redirects
		}
		if call, ok := cmd.Stmt.Cmd.(*syntax.CallExpr); ok {
			w.coproc(call, s)
			if n := len(call.Assigns); n > 0 && len(call.Args) > 0 && call.Assigns[n-1].Pos().After(call.Args[0].Pos()) {
				w.add(Leaf{Unknown: "which words the coprocess gets can't be told"}, s)
			}
		}
		w.stmt(cmd.Stmt, s.through("coproc"))
		return s.dirs
	case *syntax.DeclClause:
		w.assigns(cmd.Args, nil, s.through(cmd.Variant.Value))
		return s.dirs
	case *syntax.ArithmCmd:
		w.arithm(s, cmd.X)
		return s.dirs
	case *syntax.LetClause:
		w.arithm(s, cmd.Exprs...)
		return s.dirs
	case *syntax.TestClause:
		w.test(cmd, s)
		return s.dirs
	}
	w.add(Leaf{Unknown: "a construct that kx does not know"}, s)
	return nil
}

// coproc takes assignments from the words of a command, where the parser leaves
// the first one.
func (w *walker) coproc(call *syntax.CallExpr, s scope) {
	for len(call.Args) > 1 {
		lit, ok := call.Args[0].Parts[0].(*syntax.Lit)
		if !ok {
			return
		}
		name, _, assigns := strings.Cut(lit.Value, "=")
		if name = strings.TrimSuffix(name, "+"); !assigns || !identifier(name) {
			return
		}
		if effect.Steers(name) {
			w.add(Leaf{Unknown: "it sets " + name + ", which can change what a command runs"}, s)
		}
		w.words(s, call.Args[0])
		call.Args = call.Args[1:]
	}
}

// loop is for code that may run at any time and any number of times: if the
// script changes folders at all, its folder is unknown.
func (w *walker) loop(s scope) scope {
	if w.moves {
		s.dirs = nil
	}
	return s
}

func (w *walker) binary(cmd *syntax.BinaryCmd, s scope) []string {
	switch cmd.Op {
	case syntax.AndStmt:
		s2 := s
		s2.dirs = w.stmt(cmd.X, s)
		return w.stmt(cmd.Y, s2)
	case syntax.OrStmt:
		s2 := s
		s2.dirs = join(s.dirs, w.stmt(cmd.X, s))
		return join(s2.dirs, w.stmt(cmd.Y, s2))
	}
	// Both sides of a pipe are shells of their own.
	w.stmt(cmd.X, s)
	s.input = printed(cmd.X)
	w.stmt(cmd.Y, s)
	return s.dirs
}

// words walks what the words themselves run: substitutions and arithmetic.
func (w *walker) words(s scope, list ...*syntax.Word) {
	for _, word := range list {
		if word != nil {
			w.node(word, s)
		}
	}
}

func (w *walker) node(n syntax.Node, s scope) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.nested(n.Stmts, s, "substitution")
			return false
		case *syntax.ProcSubst:
			w.nested(n.Stmts, s, "process substitution")
			return false
		case *syntax.ArithmExp:
			w.arithm(s, n.X)
			return false
		case *syntax.ParamExp:
			w.param(n, s)
		}
		return true
	})
}

// maxNested is how deep substitutions are followed into each other: further than
// people read.
const maxNested = 50

func (w *walker) nested(list []*syntax.Stmt, s scope, how string) {
	if w.inside++; w.inside > maxNested {
		w.add(Leaf{Unknown: "its substitutions are nested too deep"}, s)
	} else {
		w.stmts(list, s.through(how))
	}
	w.inside--
}

// param reports the expansions that run code found in a variable.
func (w *walker) param(p *syntax.ParamExp, s scope) {
	switch {
	case p.Excl:
		w.add(Leaf{Unknown: "an indirect expansion: ${!…}"}, s)
	case p.Exp != nil && p.Exp.Op == syntax.OtherParamOps:
		w.add(Leaf{Unknown: "an expansion that may run code: ${…@…}"}, s)
	case p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) && p.Param != nil && effect.Steers(p.Param.Value):
		w.add(Leaf{Unknown: "it sets " + p.Param.Value + ", which can change what a command runs"}, s)
	case p.Slice != nil:
		w.arithm(s, p.Slice.Offset, p.Slice.Length)
	}
	if p.Index != nil {
		if word, ok := p.Index.(*syntax.Word); !ok || !plainIndex(word.Lit()) {
			w.arithm(s, p.Index)
		}
	}
}

func plainIndex(s string) bool { return s == "@" || s == "*" || effect.Digits(s) }

// arithm walks arithmetic. Bash evaluates the contents of a variable again, and
// an index inside them may run a command, so only numbers are understood.
func (w *walker) arithm(s scope, list ...syntax.ArithmExpr) {
	for _, x := range list {
		if x == nil {
			continue
		}
		plain := true
		syntax.Walk(x, func(n syntax.Node) bool {
			if word, ok := n.(*syntax.Word); ok {
				plain = plain && w.number(word)
				return false
			}
			return true
		})
		if !plain {
			w.add(Leaf{Unknown: "arithmetic on variables, which bash evaluates again"}, s)
		}
		w.node(x, s)
	}
}

// test walks [[ ]]: a neutral leaf, unless one of its operators evaluates.
func (w *walker) test(cmd *syntax.TestClause, s scope) {
	leaf := Leaf{Kind: Neutral, Words: []Word{{Text: "[[", Literal: true}}}
	syntax.Walk(cmd.X, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.UnaryTest:
			if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
				leaf.Unknown = "a test of a variable's name, which bash evaluates"
			}
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				if w.numberTest(n.X) && w.numberTest(n.Y) {
					break
				}
				leaf.Unknown = "a numeric test, whose sides bash evaluates"
			}
		}
		return true
	})
	w.add(leaf, s)
	w.node(cmd.X, s)
}

func (w *walker) numberTest(x syntax.TestExpr) bool {
	word, ok := x.(*syntax.Word)
	if !ok {
		return false
	}
	if len(word.Parts) == 1 {
		if q, ok := word.Parts[0].(*syntax.DblQuoted); ok {
			word = &syntax.Word{Parts: q.Parts}
		}
	}
	return w.number(word)
}

// add appends a leaf that stands in scope s, and returns its place.
func (w *walker) add(l Leaf, s scope) int {
	if l.Via == "" {
		l.Via = s.via
	}
	l.Dirs, l.Nested = s.dirs, w.depth > 0
	if s.far {
		// The command that leads there asks for itself.
		l = Leaf{Words: l.Words, Via: l.Via, Kind: Transparent, Dirs: l.Dirs, Far: true, Nested: l.Nested}
	}
	w.leaves = append(w.leaves, l)
	return len(w.leaves) - 1
}
