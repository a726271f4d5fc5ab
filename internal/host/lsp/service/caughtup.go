package service

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	lsp "github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/host/lsp/disk"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

const (
	// behindFor is how long a server may take to read what it was told that changed. It
	// takes milliseconds, and more of them the more files there are.
	behindFor = 10 * time.Second
	// behindPause is between two looks at how far it is.
	behindPause = time.Millisecond
)

// errBehind says that a server does not take notice of changes.
var errBehind = errors.New("it took no notice of changes")

// marked notes the last of the changes that a server was told of, by which one sees
// that it has read them all: it reads them one after the other. A file that is open
// shows nothing, as its text was sent; neither does one that the server can't read.
func (r *running) marked(changes []disk.Change) {
	if r.server.Text == "" {
		return
	}
	for _, c := range slices.Backward(changes) {
		if r.docs[c.Path] != nil || !r.hears(c.Path) || r.hides(c.Path) {
			continue
		}
		if content, there, err := r.textOf(c.Path); err == nil && (!there || utf8.Valid(content)) {
			r.mark = c.Path
			return
		}
	}
}

// textOf is a file as it is now.
func (r *running) textOf(path string) (content []byte, there bool, err error) {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	content, _, err = r.read(path)
	return bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")), err == nil, err // as rust-analyzer has it
}

// caughtUp waits until the server has read what it was told that changed. Whoever
// comes first waits for all.
func (r *running) caughtUp(ctx context.Context) error {
	if r.mark == "" {
		return nil
	}
	params := lsp.TextDocumentIdentifier{URI: protocol.FromPath(r.mark)}
	for until := time.Now().Add(behindFor); ; {
		var has string
		var refused *protocol.Error
		err := r.Call(ctx, r.server.Text, params, &has)
		if err != nil && !errors.As(err, &refused) {
			return err
		}
		content, there, now := r.textOf(r.mark)
		switch {
		case now != nil || overtaken(err):
		case there == (err == nil) && string(content) == has:
			r.mark = ""
			return nil
		}
		if time.Now().After(until) {
			r.mark = ""
			return errBehind
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(behindPause):
		}
	}
}
