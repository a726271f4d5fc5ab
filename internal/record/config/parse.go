package config

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/config/provider"
)

// entry is a key of a file with its value, or the head of a table.
type entry struct {
	path  []string
	line  int
	table bool
	each  bool // the head of one of several tables: its value is the list of all
	value any  // nil for the head of a table
}

// name is the path as it is written in TOML.
func (e entry) name() string {
	parts := make([]string, len(e.path))
	for i, p := range e.path {
		if parts[i] = p; p == "" || strings.Trim(p, bare) != "" {
			parts[i] = strconv.Quote(p)
		}
	}
	return strings.Join(parts, ".")
}

// bare are the characters of keys that need no quotes.
const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// parse reads a file into its entries, in order of their lines.
func parse(f *File) ([]entry, error) {
	var doc map[string]any
	if err := toml.Unmarshal(f.Data, &doc); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, column := at.Position()
			return nil, fail.Config("%s:%d:%d: %s", f.Path, line, column, strings.TrimPrefix(at.Error(), "toml: ")).
				WithHint("kx config validate").Because(err)
		}
		return nil, fail.Config("%s: %s", f.Path, strings.TrimPrefix(err.Error(), "toml: ")).WithHint("kx config validate").Because(err)
	}
	r := lineReader{data: f.Data}
	p := unstable.Parser{}
	p.Reset(f.Data)
	var table []string
	for p.NextExpression() {
		switch n := p.Expression(); n.Kind {
		case unstable.Table, unstable.ArrayTable:
			var line int
			table, line = r.key(nil, n.Key())
			r.entries = append(r.entries, entry{path: table, line: line, table: n.Kind == unstable.Table, each: n.Kind == unstable.ArrayTable})
		case unstable.KeyValue:
			r.keyValue(table, n)
		}
	}
	for i, e := range r.entries {
		if !e.table {
			r.entries[i].value = lookup(doc, e.path)
		}
	}
	return r.entries, nil
}

// lineReader finds the line of every key.
type lineReader struct {
	data    []byte
	line    int // of offset
	offset  int
	entries []entry
}

func (r *lineReader) key(prefix []string, key unstable.Iterator) (path []string, line int) {
	path = slices.Clone(prefix)
	for key.Next() {
		n := key.Node()
		line = r.lineAt(int(n.Raw.Offset))
		path = append(path, string(n.Data))
	}
	return path, line
}

// lineAt counts on from the last offset: keys come in order.
func (r *lineReader) lineAt(offset int) int {
	if offset < r.offset {
		r.line, r.offset = 0, 0
	}
	r.line += bytes.Count(r.data[r.offset:offset], []byte("\n"))
	r.offset = offset
	return r.line + 1
}

func (r *lineReader) keyValue(table []string, n *unstable.Node) {
	path, line := r.key(table, n.Key())
	if n.Value().Kind != unstable.InlineTable {
		r.entries = append(r.entries, entry{path: path, line: line})
		return
	}
	r.entries = append(r.entries, entry{path: path, line: line, table: true})
	for items := n.Value().Children(); items.Next(); {
		r.keyValue(path, items.Node())
	}
}

func lookup(doc any, path []string) any {
	for _, name := range path {
		m, _ := doc.(map[string]any)
		doc = m[name]
	}
	return doc
}

// find returns the setting of an entry, nil for the head of a table that there
// is. Anything else is an unknown key.
func find(f *File, e entry) (*setting, error) {
	name := e.name()
	var names, tables []string
	for _, s := range settings {
		if name == s.key && !e.table {
			return &s, nil
		}
		if t, _, ok := strings.Cut(s.key, "."); ok && !slices.Contains(tables, t) {
			tables = append(tables, t)
		}
		names = append(names, s.key)
	}
	switch {
	case slices.Contains(tables, name) && e.table:
		return nil, nil
	case slices.Contains(tables, name):
		return nil, f.wrong(e, "expected a table, [%s]", name)
	case slices.Contains(names, name):
		return nil, f.wrong(e, "it is no table")
	}
	better := argv.Nearest(name, slices.Concat(tables, []string{tableOfHooks, tableOfServers}, provider.Tables, names))
	for _, known := range names { // the key is right, its table is not
		if known[strings.LastIndexByte(known, '.')+1:] == e.path[len(e.path)-1] {
			better = known
		}
	}
	if better != "" {
		return nil, f.at(e.line, "unknown key %q; did you mean %s?", name, better)
	}
	return nil, f.at(e.line, "unknown key %q", name)
}
