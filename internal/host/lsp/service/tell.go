package service

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	lsp "github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/host/lsp/client"
	"github.com/kxtools/kx/internal/host/lsp/disk"
	"github.com/kxtools/kx/internal/host/lsp/door"
	"github.com/kxtools/kx/internal/host/lsp/position"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

// sync tells the server of all that changed. why is set where it can't be told, and
// has to be started again. more are opened, too, if they can be.
func (s *Service) sync(ctx context.Context, r *running, open, more []string) (v *View, why string, err error) {
	select {
	case s.tell <- struct{}{}:
		defer func() { <-s.tell }()
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	snap, err := s.shared.Scanner.Scan(ctx)
	if err != nil {
		return nil, "", err
	}
	changes := disk.Diff(r.seen, snap)
	far, lost, seen, err := r.lookBeyond(ctx)
	if err != nil {
		return nil, "", err
	}
	all := slices.Concat(changes, far)
	if why := cmp.Or(lost, r.unmasked(all), r.outgrown(all, snap), r.embedded(changes, snap)); why != "" {
		return nil, why, nil
	}
	if err := r.update(ctx, all, snap); err != nil {
		return nil, "", err
	}
	seen()
	if err := r.openCreated(ctx, changes, open, snap); err != nil {
		return nil, "", err
	}
	r.seen = snap
	r.marked(changes)
	if loading, _, _ := r.Loading(); !loading { // it is told more before it is asked
		switch err := r.caughtUp(ctx); {
		case errors.Is(err, errBehind):
			return nil, err.Error(), nil
		case err != nil:
			return nil, "", err
		}
	}
	for _, path := range open {
		if err := r.openDoc(ctx, path, snap); err != nil && !IsHidden(err) { // what is asked of it will say so
			return nil, "", err
		}
	}
	for _, path := range more {
		if err := r.openDoc(ctx, path, snap); errors.Is(err, client.ErrEnded) {
			return nil, "", err
		}
	}
	open = slices.Concat(open, more)
	err = r.closeOld(ctx, open)
	r.open.Store(int64(len(r.docs)))
	if err != nil {
		return nil, "", err
	}
	v = &View{
		Client: r.Client, Speaks: r.speaks, Server: r.server, At: snap.At, Told: r.told,
		run: r, edits: r.edits.Load(), pins: open, snap: snap, open: map[string]doc{}, texts: map[string]*text{},
	}
	for path, d := range r.docs {
		v.open[path] = *d
	}
	r.pin(1, v.pins)
	return v, "", nil
}

// lookBeyond says what changed outside of the workspace. Of a server that has ended
// nothing is looked at any more: its folders are let go of.
func (r *running) lookBeyond(ctx context.Context) (changes []disk.Change, why string, seen func(), err error) {
	select {
	case <-r.Done():
		return nil, "", func() {}, nil
	default:
	}
	folders, files := r.Beyond()
	return r.beyond.Look(ctx, folders, files, r.began)
}

// unmasked says why the masks of a server don't hold any more: they are on the files
// that there were when it was started.
func (r *running) unmasked(changes []disk.Change) string {
	folders := map[string]string{} // what they are
	for _, c := range changes {
		if c.Kind == disk.Deleted {
			continue
		}
		path := real(c.Path, folders)
		covered := func(masked string) bool { return paths.Inside(masked, path) }
		if (c.Kind == disk.Created || path != c.Path) && (r.hides(c.Path) || r.hides(path)) && !slices.ContainsFunc(r.masked, covered) {
			return "a file came that it must not read"
		}
	}
	if r.cell != nil && r.cell.Holds != nil && !r.cell.Holds() {
		return "a file that it must not read was replaced"
	}
	return ""
}

// real is the path of a file without links, or else its own. Folders are looked at once.
func real(path string, folders map[string]string) string {
	if _, err := os.Readlink(path); err == nil {
		if to, err := filepath.EvalSymlinks(path); err == nil {
			return to
		}
		return path
	}
	dir, name := filepath.Split(path)
	if folders[dir] == "" {
		folders[dir] = dir
		if to, err := filepath.EvalSymlinks(dir); err == nil {
			folders[dir] = to
		}
	}
	return filepath.Join(folders[dir], name)
}

// hides reports whether policy or its walls hide a file from the server.
func (r *running) hides(path string) bool {
	return Hides(r.root, &r.setup, path) || slices.ContainsFunc(r.masked, func(m string) bool { return paths.Inside(m, path) })
}

// Hides reports whether policy hides a file of a workspace from all servers.
func Hides(root string, setup *door.Setup, path string) bool {
	return sandbox.Place{Workspace: root, Hidden: setup.Hidden}.Hides(path)
}

// outgrown says what a server can't be told of: it reads these files at its start, or
// does so later than it answers.
func (r *running) outgrown(changes []disk.Change, snap *disk.Snapshot) string {
	for _, c := range changes {
		if r.server.Outgrows(r.root, c.Path) {
			return filepath.Base(c.Path) + " changed"
		}
	}
	if r.server.OpenCreated {
		created := 0
		for _, c := range changes {
			if c.Kind == disk.Created && r.speaks(c.Path) != "" {
				created++
			}
		}
		if created > maxOpen/2 {
			return fmt.Sprintf("%d files are new", created)
		}
	}
	for dir, mark := range snap.Markers() {
		if r.seen.Markers()[dir] != mark && slices.Contains(r.server.Markers, filepath.Base(dir)) {
			return dir + " changed"
		}
	}
	for dir := range r.seen.Markers() {
		if _, ok := snap.Markers()[dir]; !ok && slices.Contains(r.server.Markers, filepath.Base(dir)) {
			return dir + " is gone"
		}
	}
	return ""
}

// update tells of changes: the text of files that are open, which counts for the server
// whatever is on disk, then that the others changed.
func (r *running) update(ctx context.Context, changes []disk.Change, snap *disk.Snapshot) error {
	gone := map[string]bool{}
	for _, c := range changes {
		gone[c.Path] = c.Kind == disk.Deleted
	}
	for path, d := range r.docs {
		now, known := snap.Files[path]
		if !known && !gone[path] { // it lies where nobody walks
			var err error
			if now, err = disk.Look(path); err != nil {
				gone[path] = true
			}
		}
		if gone[path] {
			if err := r.lose(ctx, path); err != nil {
				return err
			}
			continue
		}
		if now == d.at {
			continue
		}
		if err := r.change(ctx, path, d, now); err != nil {
			return err
		}
	}
	var events []lsp.FileEvent
	for _, c := range changes {
		if r.hears(c.Path) {
			events = append(events, lsp.FileEvent{URI: protocol.FromPath(c.Path), Type: int(eventTypes[c.Kind])})
		}
	}
	if len(events) == 0 {
		return nil
	}
	r.told++
	r.edits.Add(1)
	return r.Notify(ctx, "workspace/didChangeWatchedFiles", lsp.DidChangeWatchedFilesParams{Changes: events})
}

// hears reports whether the server is told of a file that is not open. It has named what
// is looked at outside of the workspace.
func (r *running) hears(path string) bool {
	return r.Watches(path) || r.speaks(path) != "" || !paths.Inside(r.root, path)
}

// eventTypes are the kinds of a change as the protocol counts them.
var eventTypes = map[disk.Kind]lsp.FileChangeType{
	disk.Created: lsp.Created, disk.Changed: lsp.Changed, disk.Deleted: lsp.Deleted,
}

// change sends the text of an open file that changed on disk. One that has none any more,
// like a folder of its name, is closed. What the server was not told is not noted.
func (r *running) change(ctx context.Context, path string, d *doc, now disk.File) error {
	content, at, err := r.read(path)
	switch {
	case errors.Is(err, errStale), fail.Exit(err) == fail.ExitNotFound:
		return errStale
	case err != nil, isBinary(content):
		return r.lose(ctx, path)
	}
	sum := sha256.Sum256(content)
	if sum == d.sum {
		d.at = asSeen(now, at)
		return nil
	}
	r.told++
	r.edits.Add(1)
	r.versions++
	uri := protocol.FromPath(path)
	if err := r.Notify(ctx, "textDocument/didChange", protocol.Change(uri, r.versions, string(content))); err != nil {
		return err
	}
	d.content, d.text, d.sum, d.version, d.at = content, position.New(content), sum, r.versions, asSeen(now, at)
	return nil
}

// asSeen is what is noted of a text that was read after a look: what the look had, if it
// was that. Else nothing, so that it is read again: only what was looked at twice shows
// whether it was written within a tick of the clock.
func asSeen(looked, read disk.File) disk.File {
	if looked.Same(read) {
		return looked
	}
	return disk.File{}
}

// openCreated opens new files for a server that is slow to notice them, as far as they can
// be opened. Those that are asked about are opened after them.
func (r *running) openCreated(ctx context.Context, changes []disk.Change, open []string, snap *disk.Snapshot) error {
	if !r.server.OpenCreated {
		return nil
	}
	for _, c := range changes {
		if c.Kind != disk.Created || r.speaks(c.Path) == "" || r.hides(c.Path) || slices.Contains(open, c.Path) {
			continue
		}
		var own *fail.Error // of the file
		if err := r.openDoc(ctx, c.Path, snap); errors.Is(err, client.ErrEnded) || err != nil && !errors.As(err, &own) {
			return err
		}
	}
	return nil
}

func (r *running) openDoc(ctx context.Context, path string, snap *disk.Snapshot) error {
	r.clock++
	if d := r.docs[path]; d != nil {
		d.used = r.clock
		return nil
	}
	content, at, err := r.read(path)
	if err != nil {
		return err
	}
	if known, ok := snap.Files[path]; ok {
		at = asSeen(known, at)
	}
	if isBinary(content) {
		return fail.Usage("%s is a binary file", path)
	}
	r.versions++
	d := &doc{
		language: r.speaks(path), version: r.versions, sum: sha256.Sum256(content), text: position.New(content), content: content, at: at,
		used: r.clock,
	}
	uri := protocol.FromPath(path)
	r.forget(uri)
	err = r.Notify(ctx, "textDocument/didOpen", lsp.DidOpenTextDocumentParams{TextDocument: lsp.TextDocumentItem{
		URI: uri, LanguageID: d.language, Version: d.version, Text: string(content), // each byte that is no UTF-8 becomes a character
	}})
	if err == nil {
		r.docs[path] = d
	}
	return err
}

func isBinary(content []byte) bool { return bytes.IndexByte(content, 0) >= 0 }

// lose closes a file that has no text any more.
func (r *running) lose(ctx context.Context, path string) error {
	r.edits.Add(1)
	return r.close(ctx, path)
}

func (r *running) close(ctx context.Context, path string) error {
	uri := protocol.FromPath(path)
	if err := r.Notify(ctx, "textDocument/didClose", lsp.DidCloseTextDocumentParams{TextDocument: lsp.TextDocumentIdentifier{URI: uri}}); err != nil {
		return err
	}
	delete(r.docs, path)
	r.forget(uri)
	return nil
}

// forget drops what was said of a file as it was open before. What a compiler said is
// of the file on disk, and is not said again.
func (r *running) forget(uri lsp.DocumentURI) {
	if r.server.Check == nil {
		r.Forget(uri)
	}
}

// closeOld closes the files that were not asked about for the longest time, and are not
// now.
func (r *running) closeOld(ctx context.Context, keep []string) error {
	for len(r.docs) > maxOpen {
		oldest := ""
		for path, d := range r.docs {
			if !slices.Contains(keep, path) && !r.pinned(path) && (oldest == "" || d.used < r.docs[oldest].used) {
				oldest = path
			}
		}
		if oldest == "" {
			return nil
		}
		if err := r.close(ctx, oldest); err != nil {
			return err
		}
	}
	return nil
}
