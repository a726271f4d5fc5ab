package service

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	lsp "github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/internal/host/lsp/client"
	"github.com/kxtools/kx/internal/host/lsp/disk"
	"github.com/kxtools/kx/internal/host/lsp/door"
	"github.com/kxtools/kx/internal/host/lsp/language"
	"github.com/kxtools/kx/internal/host/lsp/position"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

const (
	// maxOpen is how many files are open at a server: what is asked about again is
	// mostly among the last few, and each takes memory there.
	maxOpen = 50
	// maxFile is the largest file that a server is given, in bytes. Larger ones are
	// made by programs.
	maxFile = 4 << 20
)

// doc is a file that is open at a server.
type doc struct {
	language string
	version  int
	sum      [sha256.Size]byte
	text     *position.Text
	content  []byte
	at       disk.File
	used     int64 // when it was asked about, by the server's clock
}

// View is a server at a moment: it has loaded, and was told of all files as they were
// At.
type View struct {
	*client.Client
	Speaks func(path string) string // what the protocol calls a file, "" for one that is not for the server
	Server *language.Server
	At     time.Time
	Told   int64 // counts what the server was told of changes
	Crash  error // why it had to be started again for this question, nil if it had not

	hides func(path string) bool
	snap  *disk.Snapshot
	open  map[string]doc // as they were sent
	texts map[string]*text
}

// text is a file that answers speak of.
type text struct {
	content []byte
	*position.Text
}

// Sent returns the number of an open file as it was sent last.
func (v *View) Sent(path string) int { return v.open[path].version }

// Files are all files of the workspace.
func (v *View) Files() []string { return v.snap.Paths() }

// Text returns a file as the server has it. One that has changed by now is no text for
// this answer.
func (v *View) Text(path string) (*position.Text, error) {
	t, err := v.load(path)
	if err != nil {
		return nil, err
	}
	return t.Text, nil
}

// Content returns the bytes of Text.
func (v *View) Content(path string) ([]byte, error) {
	t, err := v.load(path)
	if err != nil {
		return nil, err
	}
	return t.content, nil
}

func (v *View) load(path string) (*text, error) {
	if t := v.texts[path]; t != nil {
		return t, nil
	}
	t := &text{}
	if v.hides(path) { // the server knows none of it, and nor does who asks
		t.Text = position.New(nil)
	} else if d, ok := v.open[path]; ok {
		t.content, t.Text = d.content, d.text
	} else {
		content, at, err := read(path)
		if err != nil {
			return nil, err
		}
		if known, ok := v.snap.Files[path]; ok && !known.Same(at) {
			return nil, errStale
		}
		t.content, t.Text = content, position.New(content)
	}
	v.texts[path] = t
	return t, nil
}

// read reads a file and says which one it was. The file is looked at before and
// after: what was written in between is stale.
func read(path string) ([]byte, disk.File, error) {
	before, err := disk.Look(path)
	if err != nil {
		return nil, before, unreadable(path, err)
	}
	if before.Size > maxFile {
		return nil, before, fail.Limit("file_too_large", "%s has %d bytes; language servers get files of up to %d MiB", path, before.Size, maxFile>>20)
	}
	content, _, err := fsx.ReadRegular(path, maxFile)
	if err != nil {
		return nil, before, unreadable(path, err)
	}
	after, err := disk.Look(path)
	if err != nil || !after.Same(before) {
		return nil, before, errStale
	}
	return content, before, nil
}

func unreadable(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail.NotFound("no_such_file", "there is no file %s", path).WithHint("ls %s", filepath.Dir(path))
	case isFolder(path):
		return fail.Usage("%s is a folder, not a file", path).WithHint("ls %s", path)
	}
	return fail.Failed("unreadable", "%s can't be read: %v", path, fsx.Reason(err)).Because(err)
}

func isFolder(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// view makes the server ready for a question about the given files.
func (s *Service) view(ctx context.Context, setup *door.Setup, open []string) (*View, error) {
	for {
		r, err := s.ready(ctx, setup)
		if err != nil {
			return nil, err
		}
		v, why, err := s.sync(ctx, r, open)
		if err != nil {
			return nil, err
		}
		if why != "" {
			s.restart(r, why)
			continue
		}
		if loading, _, _ := r.Loading(); !loading {
			return v, nil
		}
		if err := r.Loaded(ctx); err != nil { // what changes meanwhile it is told next
			return nil, err
		}
	}
}

// sync tells the server of all that changed. why is set where it can't be told, and
// has to be started again.
func (s *Service) sync(ctx context.Context, r *running, open []string) (v *View, why string, err error) {
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
	if why := cmp.Or(r.unmasked(changes), r.outgrown(changes, snap)); why != "" {
		return nil, why, nil
	}
	if err := r.update(ctx, changes, snap); err != nil {
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
	if err := r.openAll(ctx, changes, open, snap); err != nil {
		return nil, "", err
	}
	err = r.closeOld(ctx, open)
	r.open.Store(int64(len(r.docs)))
	v = &View{Client: r.Client, Speaks: r.speaks, Server: r.server, At: snap.At, Told: r.told, hides: r.hides, snap: snap, open: map[string]doc{}, texts: map[string]*text{}}
	for path, d := range r.docs {
		v.open[path] = *d
	}
	return v, "", err
}

// unmasked says why the masks of a server don't hold any more: they are on the files
// that there were when it was started.
func (r *running) unmasked(changes []disk.Change) string {
	for _, c := range changes {
		covered := func(masked string) bool { return paths.Inside(masked, c.Path) }
		if c.Kind == disk.Created && r.hides(c.Path) && !slices.ContainsFunc(r.masked, covered) {
			return "a file came that it must not read"
		}
	}
	if r.cell != nil && r.cell.Holds != nil && !r.cell.Holds() {
		return "a file that it must not read was replaced"
	}
	return ""
}

// hides reports whether policy hides a file from the server.
func (r *running) hides(path string) bool { return Hides(r.root, &r.setup, path) }

// Hides reports whether policy hides a file of a workspace from all servers.
func Hides(root string, setup *door.Setup, path string) bool {
	return sandbox.Place{Workspace: root, Hidden: setup.Hidden}.Hides(path)
}

// outgrown says what a server can't be told of: it reads these files at its start, or
// does so later than it answers.
func (r *running) outgrown(changes []disk.Change, snap *disk.Snapshot) string {
	for _, c := range changes {
		if slices.Contains(r.server.Reload, filepath.Base(c.Path)) {
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
			if err := r.close(ctx, path); err != nil {
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
	return r.Notify(ctx, "workspace/didChangeWatchedFiles", lsp.DidChangeWatchedFilesParams{Changes: events})
}

// hears reports whether the server is told of a file that is not open.
func (r *running) hears(path string) bool { return r.Watches(path) || r.speaks(path) != "" }

// eventTypes are the kinds of a change as the protocol counts them.
var eventTypes = map[disk.Kind]lsp.FileChangeType{
	disk.Created: lsp.Created, disk.Changed: lsp.Changed, disk.Deleted: lsp.Deleted,
}

// change sends the text of an open file that changed on disk.
func (r *running) change(ctx context.Context, path string, d *doc, now disk.File) error {
	content, at, err := read(path)
	switch {
	case fail.Exit(err) == fail.ExitNotFound:
		return errStale
	case err != nil:
		return err
	case !now.Same(at):
		return errStale
	}
	d.at = now
	sum := sha256.Sum256(content)
	if sum == d.sum {
		return nil
	}
	d.content, d.text, d.sum, d.version = content, position.New(content), sum, d.version+1
	r.told++
	uri := protocol.FromPath(path)
	return r.Notify(ctx, "textDocument/didChange", protocol.Change(uri, d.version, string(content)))
}

// openAll opens the files of a question. A server that is slow to notice new files is
// given these, too.
func (r *running) openAll(ctx context.Context, changes []disk.Change, open []string, snap *disk.Snapshot) error {
	if r.server.OpenCreated {
		for _, c := range changes {
			if c.Kind == disk.Created && r.speaks(c.Path) != "" && !r.hides(c.Path) && !slices.Contains(open, c.Path) {
				if err := r.openDoc(ctx, c.Path, snap); err != nil && fail.Exit(err) != fail.ExitLimit {
					return err
				}
			}
		}
	}
	for _, path := range open {
		if err := r.openDoc(ctx, path, snap); err != nil {
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
	if r.hides(path) { // what is masked must not come to it by us
		return fail.Denied("hidden", "%s is hidden from language servers", path)
	}
	content, at, err := read(path)
	if err != nil {
		return err
	}
	if known, ok := snap.Files[path]; ok {
		if !known.Same(at) {
			return errStale
		}
		at = known
	}
	if bytes.IndexByte(content, 0) >= 0 {
		return fail.Usage("%s is a binary file", path)
	}
	d := &doc{
		language: r.speaks(path), version: 1, sum: sha256.Sum256(content), text: position.New(content), content: content, at: at,
		used: r.clock,
	}
	r.docs[path] = d
	uri := protocol.FromPath(path)
	r.forget(uri)
	return r.Notify(ctx, "textDocument/didOpen", lsp.DidOpenTextDocumentParams{TextDocument: lsp.TextDocumentItem{
		URI: uri, LanguageID: d.language, Version: d.version, Text: string(content), // each byte that is no UTF-8 becomes a character
	}})
}

func (r *running) close(ctx context.Context, path string) error {
	delete(r.docs, path)
	uri := protocol.FromPath(path)
	r.forget(uri)
	return r.Notify(ctx, "textDocument/didClose", lsp.DidCloseTextDocumentParams{TextDocument: lsp.TextDocumentIdentifier{URI: uri}})
}

// forget drops what was said of a file as it was open before. What a compiler said is
// of the file on disk, and is not said again.
func (r *running) forget(uri lsp.DocumentURI) {
	if r.server.Check == nil {
		r.Forget(uri)
	}
}

// closeOld closes the files that were not asked about for the longest time.
func (r *running) closeOld(ctx context.Context, keep []string) error {
	for len(r.docs) > maxOpen {
		oldest := ""
		for path, d := range r.docs {
			if !slices.Contains(keep, path) && (oldest == "" || d.used < r.docs[oldest].used) {
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
