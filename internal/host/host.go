// Package host is how residents live. A client that finds none starts kxd, waits
// until it listens, and talks to it (Resident); the resident takes its lock,
// listens, serves, and ends when it is idle (Live). What a resident does stands in
// the packages below.
//
// One resident of a kind serves a state directory. The lock that it holds while it
// lives says so, and says where its socket is: only that file is believed, for the
// socket of the usual name may be another state directory's.
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
)

const (
	// startTime is how long a resident may take to listen. It takes about
	// 10 ms; the rest is for machines under load.
	startTime = 10 * time.Second
	// retry is the pause between two tries to reach a resident that is
	// starting or ending.
	retry = 20 * time.Millisecond
	// maxLock bounds a lock file: it holds a pid and a path.
	maxLock = 4096
)

// What a resident says to the client that started it.
const (
	Ready = "ready" // it listens
	Busy  = "busy"  // another one lives
)

// Resident is one kind of resident of one state directory.
type Resident struct {
	Kxd    string   // the program
	Args   []string // its verb and what it needs to know
	Socket string   // where it shall listen
	Lock   string   // what it holds while it lives
}

// Connect calls try with the socket of the living resident, starting the resident
// if need be. try reports there = false if nobody answered, which may be because
// the resident was just ending; then Connect looks again.
func (r Resident) Connect(ctx context.Context, try func(ctx context.Context, socket string) (there bool, err error)) error {
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		if socket := r.registered(); socket != "" {
			if there, err := try(starting, socket); there || err != nil {
				return err
			}
		}
		said, err := r.start(starting)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if said == Ready {
			continue
		}
		// Another one is starting, or has not quite ended.
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-starting.Done():
			return r.silent()
		case <-time.After(retry):
		}
	}
}

// registered is where the resident that holds the lock listens, "" if there is
// none or it does not listen yet.
func (r Resident) registered() string {
	if !fsx.Locked(r.Lock) {
		return ""
	}
	data, _, err := fsx.ReadRegular(r.Lock, maxLock)
	if err != nil {
		return ""
	}
	_, path, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	return path
}

func (r Resident) silent() error {
	return fail.Unavailable("no_resident", "kxd %s does not answer", r.Args[0]).WithHint("kx doctor")
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
		return "", r.silent()
	case line != "":
		return "", fail.Unavailable("no_resident", "kxd %s: %s", r.Args[0], line).WithHint("kx doctor")
	}
	return "", fail.Unavailable("no_resident", "%s ended before it listened", r.Kxd).WithHint("kx doctor")
}
