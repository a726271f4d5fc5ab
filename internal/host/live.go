package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/signals"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/record/resident"
)

// Place is where a resident lives.
type Place struct {
	Lock   string       // taken for its life
	Socket string       // where it listens, unless another state directory's does there
	Said   io.Writer    // where the client that started it hears how the start went
	Waits  bool         // until another one has ended, instead of leaving
	Begin  func() error // called once no other one lives, before it listens; may be nil
	// End ends all that the resident has started, with what came from that. It is
	// called whatever ends the resident, while the lock is still held; may be nil.
	End func()
}

const (
	// turn is how often a resident that waits for another one to end looks.
	turn = time.Second
	// findable is how often a resident looks whether clients still find it: they give up
	// after startTime, in which it has to end and the next one to listen.
	findable = time.Second
)

// Live is the life of a resident: it serves until ctx ends, nobody needs it or it has
// to make room, and leaves nothing behind. If another one lives it says so and returns,
// or waits for its turn. Besides what srv handles it knows the verbs of every resident.
func Live(ctx context.Context, at Place, srv *sock.Server) error {
	syscall.Umask(0o077)
	program := self()
	if fi, err := os.Lstat(at.Lock); err == nil && !fi.Mode().IsRegular() { // what a symlink leads to would be written
		return fail.Failed("in_the_way", "%s is in the way: it is no regular file", at.Lock).WithHint("rm %s", at.Lock)
	}
	unlock, ok, err := fsx.TryLock(at.Lock)
	for ; at.Waits && !ok && err == nil; unlock, ok, err = fsx.TryLock(at.Lock) {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(turn):
		}
	}
	if err != nil {
		return err
	}
	if !ok {
		_, err := fmt.Fprintln(at.Said, Busy)
		return err
	}
	defer unlock()
	own, err := os.Lstat(at.Lock)
	if err != nil {
		return err
	}
	defer func() {
		if now, err := os.Lstat(at.Lock); err == nil && os.SameFile(own, now) { // else it is the next one's
			os.Truncate(at.Lock, 0)
		}
	}()
	if err := os.Truncate(at.Lock, 0); err != nil {
		return err
	}
	if at.End != nil {
		end := sync.OnceFunc(at.End)
		defer end()
		defer signals.Last(ctx, end)()
	}
	if at.Begin != nil {
		if err := at.Begin(); err != nil {
			return err
		}
	}
	ln, err := listen(at)
	if err != nil {
		return err
	}
	defer ln.Close() // which removes the socket
	if err := resident.Hold(at.Lock, os.Getpid(), ln.Addr().String()); err != nil {
		return err
	}
	l := &life{srv: srv, handle: srv.Handle, socket: ln.Addr().String(), began: time.Now()}
	srv.Handle, srv.Outdated = l.answer, program.replaced
	if _, err := fmt.Fprintln(at.Said, Ready); err != nil {
		return fail.Failed("no_client", "the client that started this host has gone").Because(err)
	}
	ctx, over := context.WithCancel(ctx)
	defer over()
	go unfound(ctx, []string{at.Lock, l.socket}, func() {
		ln.SetUnlinkOnClose(false) // what is there now is another one's
		srv.Leave()
	})
	return srv.Serve(ctx, ln)
}

// unfound calls leave once one of the files is gone by which a resident is found: folders
// for sockets are removed at a logout, or when they are old. Who needs it would be told
// that it does not answer, or start another one beside it.
func unfound(ctx context.Context, files []string, leave func()) {
	var own []fs.FileInfo
	for _, f := range files {
		fi, _ := os.Lstat(f)
		own = append(own, fi)
	}
	look := time.NewTicker(findable)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		for i, f := range files {
			if fi, err := os.Lstat(f); errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(fi, own[i]) {
				leave()
				return
			}
		}
	}
}

// listen opens the socket. Where the usual name is taken, it is by the resident of
// another state directory, and ours gets a name made from its lock. The lock of the
// folder keeps two from taking each other's socket for one that was left.
func listen(at Place) (*net.UnixListener, error) {
	dir := filepath.Dir(at.Socket)
	unlock, err := fsx.Lock(filepath.Join(dir, ".lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	ln, err := sock.Listen(at.Socket)
	if fail.Exit(err) != fail.ExitConflict {
		return ln, err
	}
	sum := sha256.Sum256([]byte(at.Lock))
	return sock.Listen(filepath.Join(dir, hex.EncodeToString(sum[:4])+".sock"))
}
