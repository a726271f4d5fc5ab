// Package program says what the arguments of a program do: which files it reads
// and writes, which addresses it reaches, which commands and code it runs. The
// knowledge is one table, table.txt; programs with a language of their own are
// described in pkg/policy/shell/language.
//
// The one invariant: what a row does not say, nothing is allowed for. A program
// without a row is judged by its words alone, and its arguments may be paths. It
// runs nothing; its caller is pkg/policy/shell.
package program

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

//go:embed table.txt
var table string

// row is a row of the table.
type row struct {
	front, back []byte // roles of the first and the last operands
	star        byte   // role of those between, 0 if there may be none
	flags       []flag
	marks       []string
	danger      bool // one of its flags does more than the operands tell
}

// flag is one flag of a program.
type flag struct {
	name     string
	role     byte // of its value, 0 if it has none
	attached bool // the value stands only in the same word
	does     string
}

func (r *row) is(mark string) bool {
	for _, m := range r.marks {
		if m == mark {
			return true
		}
	}
	return false
}

// rows are those that have been asked for, by name.
var rows sync.Map

// split returns the names of a line and what is said of them.
func split(line string) (names, rest string, ok bool) {
	names, rest, ok = strings.Cut(line, " | ")
	return names, rest, ok && line[0] != '#'
}

// Names returns every name that has a row.
func Names() []string {
	var out []string
	for line := range strings.Lines(table) {
		if names, _, ok := split(line); ok {
			out = append(out, strings.Split(names, ",")...)
		}
	}
	return out
}

// Known reports whether a program has a row.
func Known(name string) bool { return lookup(name) != nil }

// lookup returns the row of a program, nil if it has none.
func lookup(name string) *row {
	if r, ok := rows.Load(name); ok {
		return r.(*row)
	}
	var rest string
	var ok bool
	if asked.Add(1) > fewNames {
		rest, ok = index()[name]
	} else {
		rest, ok = find(name)
	}
	if !ok {
		return nil
	}
	r := parse(rest)
	rows.Store(name, r)
	return r
}

// A process that reads one command line looks few names up, and the text does; one
// that reads many makes an index of it.
const fewNames = 32

var (
	asked atomic.Int64
	index = sync.OnceValue(func() map[string]string {
		out := make(map[string]string, 1024)
		for line := range strings.Lines(table) {
			if names, rest, ok := split(strings.TrimSuffix(line, "\n")); ok {
				for name := range strings.SplitSeq(names, ",") {
					out[name] = rest
				}
			}
		}
		return out
	})
)

// find looks a name up in the text of the table.
func find(name string) (rest string, ok bool) {
	if name == "" || strings.ContainsAny(name, ",|\n") {
		return "", false
	}
	for at := 0; ; {
		i := strings.Index(table[at:], name)
		if i < 0 {
			return "", false
		}
		at += i + len(name)
		start := strings.LastIndexByte(table[:at], '\n') + 1
		line, _, _ := strings.Cut(table[start:], "\n")
		if names, rest, ok := split(line); ok && slices.Contains(strings.Split(names, ","), name) {
			return rest, true
		}
	}
}

func parse(line string) *row {
	operands, rest, _ := strings.Cut(line, "|")
	r := &row{}
	for role := range strings.SplitSeq(strings.TrimSpace(operands), ",") {
		switch {
		case len(role) == 2:
			r.star = role[0]
		case r.star == 0:
			r.front = append(r.front, role[0])
		default:
			r.back = append(r.back, role[0])
		}
	}
	for _, token := range strings.Fields(rest) {
		if token[0] != '-' {
			r.marks = append(r.marks, token)
			continue
		}
		f := flag{}
		f.name, f.does, _ = strings.Cut(token, "!")
		if at := strings.LastIndexAny(f.name, ":~"); at > 0 {
			f.attached, f.role = f.name[at] == '~', f.name[at+1]
			f.name = f.name[:at]
		}
		switch f.role {
		case 0, '-', '?', 'r':
			r.danger = r.danger || f.does != "" && f.does != "skip" && f.does != "tree" && f.does != "quiet"
		default:
			r.danger = true
		}
		r.flags = append(r.flags, f)
	}
	for _, m := range []string{"closed", "first"} {
		r.danger = r.danger || r.is(m)
	}
	return r
}

// Reads reports whether a program takes code: in its arguments, a file or its
// input.
func Reads(name string) bool {
	r := lookup(name)
	return r != nil && r.is("bare")
}
