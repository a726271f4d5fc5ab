package lsp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/host/lsp/ask"
	"github.com/kxtools/kx/internal/host/lsp/language"
	"github.com/kxtools/kx/internal/host/lsp/position"
	"github.com/kxtools/kx/internal/host/lsp/service"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// maxAnchors is how many projects of one language are opened for a question about
	// all of them.
	maxAnchors = 20
	// maxMentions is how many more files are opened for one, a moment's work for a
	// server; a name that more of them hold is a common word.
	maxMentions = 200
	// maxSource is the largest file that is looked into for a name, in bytes.
	maxSource = 4 << 20
)

// wide are the questions about all the places of a name.
var wide = map[string]bool{"references": true, "callers": true, "implementation": true, "rename": true}

// companions are files to be open for a question beside its own, for servers that know
// of a file only once it, or another one of its project, is open: those that hold the
// name, or import the file. note says what was left out.
func (h *Host) companions(ctx context.Context, r *request, s *service.Service, q *wire.CodeQuery) (list []string, note string, err error) {
	if !wide[r.verb] || !loose(s) {
		return nil, "", nil
	}
	snap, err := h.shared.Scanner.Scan(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, w := range h.used(r, snap.Paths()) {
		if w.Service == s {
			more := 0
			list, more = mentions(w.files, q.Path, named(q))
			if more > 0 {
				note = fmt.Sprintf("%d files that may hold the name, and that no project has, were not looked into", more)
			}
			list = append(anchors(w), list...)
		}
	}
	return list, note, nil
}

// apart says what the answer to a question about all the places of a name leaves out, as
// the server does not look there.
func apart(v *service.View, verb, path, name string) string {
	if !wide[verb] || v.Server.Apart == nil {
		return ""
	}
	return v.Server.Apart(v.Files(), path, name)
}

func loose(s *service.Service) bool {
	return slices.ContainsFunc(s.Languages()[0].Servers, func(s *language.Server) bool { return s.Loose })
}

// named is the name that a question is about, "" where that can't be told.
func named(q *wire.CodeQuery) string {
	if q.Name != "" {
		return q.Name
	}
	name, _ := position.Identifier(position.New(source(q.Path)).Line(q.Line), q.Column)
	return name
}

// mentions are the files that hold a name or import a file, but for that; more is how
// many there are beyond what is opened.
func mentions(files []string, of, name string) (list []string, more int) {
	stem := strings.TrimSuffix(filepath.Base(of), filepath.Ext(of))
	switch stem {
	case "index":
		stem = filepath.Base(filepath.Dir(of))
	case ".": // of no file
		stem = ""
	}
	for _, path := range files {
		text := source(path)
		if path == of || text == nil || (name == "" || !bytes.Contains(text, []byte(name))) && (stem == "" || !imports(text, stem)) {
			continue
		}
		if len(list) == maxMentions {
			more++
			continue
		}
		list = append(list, path)
	}
	return list, more
}

// imports reports whether a text has the path of a module that is called so.
func imports(text []byte, stem string) bool {
	for {
		_, after, found := bytes.Cut(text, []byte("/"+stem))
		if !found {
			return false
		}
		if len(after) > 0 && bytes.IndexByte([]byte("\"'`."), after[0]) >= 0 {
			return true
		}
		text = after
	}
}

// source is the text of a file, nil for one that servers are not given.
func source(path string) []byte {
	text, _, err := fsx.ReadRegular(path, maxSource)
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return nil
	}
	return text
}

// holding are files to be open for a question about what is called so, or nearly so.
func holding(w work, name string) []string {
	list := anchors(w)
	if loose(w.Service) {
		more, _ := mentions(w.files, "", ask.LastWord(name))
		list = append(list, more...)
	}
	return list
}

// without is the error of a question that had more files open. One of them that went in
// the meantime is none: it is asked again without that.
func without(more []string, err error) error {
	gone := func(path string) bool {
		_, err := os.Stat(path)
		return errors.Is(err, os.ErrNotExist)
	}
	if fail.Exit(err) == fail.ExitNotFound && slices.ContainsFunc(more, gone) {
		return ask.ErrGone
	}
	return err
}

// anchors are files to be open for a question about no file: servers for TypeScript
// know no project before one of its files is open.
func anchors(w work) (list []string) {
	seen := map[string]bool{}
	for _, path := range w.files {
		dir := project(w.Languages()[0].Projects, filepath.Dir(path))
		if !seen[dir] && len(list) < maxAnchors && source(path) != nil {
			seen[dir] = true
			list = append(list, path)
		}
	}
	return list
}

// project is the nearest folder above in which a project begins, "" if there is none.
func project(marks []string, dir string) string {
	for {
		for _, m := range marks {
			if _, err := os.Lstat(filepath.Join(dir, m)); err == nil {
				return dir
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
