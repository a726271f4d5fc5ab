// Package host is how residents live. A client that finds none starts kxd, waits
// until it listens, and talks to it (Resident); the resident takes its lock,
// listens, serves, and ends when it is idle (Frame, Live). What a resident does stands
// in the packages below; what all of them tell and how they are ended, here.
//
// One resident of a name serves a state directory. The lock that it holds while it
// lives says so, and says where its socket is: only that file is believed, for the
// socket of the usual name may be another state directory's.
//
// A client never talks to an older kx than its own for long: a resident of an older
// version, or one whose program was replaced on disk, makes room for a new one.
package host

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/record/resident"
	"github.com/kxtools/kx/pkg/socket"
)

const (
	// startTime is how long a resident may take to listen, also where an older one
	// has to end first. It takes about 10 ms; the rest is for machines under load.
	startTime = 10 * time.Second
	// retry is the pause between two tries to reach a resident that is
	// starting or ending.
	retry = 20 * time.Millisecond
)

// What a resident says to the client that started it.
const (
	Ready = "ready" // it listens
	Busy  = "busy"  // another one lives
)

// Resident is one kind of resident of one state directory, as a client sees it.
type Resident struct {
	Kxd     string   // the program
	Args    []string // its verb and what it needs to know
	Socket  string   // where it shall listen
	Lock    string   // what it holds while it lives
	Version string   // of the client
	KeyName string
	Key     []byte
}

// errGone says that a resident was just ending, or has to.
var errGone = errors.New("the resident ends")

// Connect returns a connection to the resident, which it starts if need be.
func (r Resident) Connect(ctx context.Context) (*socket.Client, error) {
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		c, err := r.reach(starting)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		gone := errors.Is(err, errGone)
		if starting.Err() != nil && (gone || errors.Is(err, context.DeadlineExceeded)) {
			return nil, r.silent()
		}
		if !gone {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-starting.Done():
			return nil, r.silent()
		case <-time.After(retry):
		}
	}
}

// reach connects to the one that lives, or starts one and connects to that.
func (r Resident) reach(ctx context.Context) (*socket.Client, error) {
	said := ""
	_, path, held := resident.Read(r.Lock)
	if !held {
		var err error
		if said, err = r.start(ctx); err != nil {
			return nil, err
		}
		_, path, _ = resident.Read(r.Lock)
	}
	if path == "" {
		return nil, errGone // it does not listen yet
	}
	return r.dial(ctx, path, said == Ready)
}

// dial connects to a resident that is not older than this client, and does not end.
// fresh says that it was just started.
func (r Resident) dial(ctx context.Context, path string, fresh bool) (*socket.Client, error) {
	c, err := socket.Dial(ctx, socket.Options{Socket: path, KeyName: r.KeyName, Key: r.Key})
	if err != nil {
		return nil, r.failure(err)
	}
	switch order := compare(r.Version, c.Version); {
	case order < 0:
		err = fail.Unavailable("newer_host", "the %s host that runs is kx %s, newer than this client (%s)", c.Name, c.Version, r.Version).WithHint("kx version")
	case order > 0 && fresh: // the next one would be the same
		err = fail.Unavailable("older_kxd", "%s is kx %s, older than this client (%s)", r.Kxd, c.Version, r.Version).WithHint("kx doctor")
	case order > 0:
		err = c.Ask(ctx, verbStop, nil, &struct{}{})
		if err = r.failure(err); err == nil {
			err = errGone
		}
	default:
		err = r.failure(c.Ask(ctx, verbReady, nil, &struct{}{}))
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// failure returns errGone for what another try may mend.
func (r Resident) failure(err error) error {
	var e *socket.Error
	switch {
	case errors.Is(err, socket.ErrNoHost), errors.Is(err, socket.ErrClosed):
		return errGone
	case errors.As(err, &e) && e.Code == sock.CodeOlder:
		return errGone
	case errors.Is(err, os.ErrDeadlineExceeded):
		return r.silent()
	}
	return Failure("kxd "+r.Args[0], err)
}

// Failure returns what a resident answered, or why it did not, as an error of kx. who is
// the resident.
func Failure(who string, err error) error {
	var e *socket.Error
	var known *fail.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return &fail.Error{Code: e.Code, Exit: e.Exit, Msg: e.Message, Hint: e.Hint}
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fail.Unavailable("no_host", "%s can't be reached: %v", who, err).WithHint("kx doctor").Because(err)
}

// silent says that one lives and does not answer.
func (r Resident) silent() *fail.Error {
	return fail.Unavailable("no_resident", "kxd %s does not answer", r.Args[0]).WithHint("kx host list")
}

// start runs kxd and returns what it says: Ready or Busy. It inherits nothing.
func (r Resident) start(ctx context.Context) (string, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer out.Close()
	cmd := exec.Command(r.Kxd, append(append([]string{}, r.Args...), "--socket", r.Socket)...)
	cmd.Env, cmd.Dir, cmd.Stdout = []string{}, "/", in
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = proc.Spawn(cmd)
	in.Close()
	if err != nil {
		return "", fail.Unavailable("no_kxd", "%s can't be started: %v", r.Kxd, fsx.Reason(err)).WithHint("kx doctor").Because(err)
	}
	go cmd.Wait()
	stop := context.AfterFunc(ctx, func() { out.SetReadDeadline(time.Now()) })
	defer stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	line = strings.TrimSpace(line)
	switch {
	case line == Ready || line == Busy:
		return line, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		cmd.Process.Kill() // it would only be in the way of the next one
		return "", r.silent().WithHint("kx doctor")
	case line != "":
		return "", fail.Unavailable("no_resident", "kxd %s: %s", r.Args[0], line).WithHint("kx doctor")
	}
	return "", fail.Unavailable("no_resident", "%s ended before it listened", r.Kxd).WithHint("kx doctor")
}
