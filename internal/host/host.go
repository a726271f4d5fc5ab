// Package host is how residents live: a client that finds none starts kxd, waits
// until it listens, and talks to it. One resident of a kind serves a state
// directory; a lock that it holds while it lives says so, and where its socket
// is. What a resident does stands in the packages below.
package host

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

	// Ready and Busy are what a resident says to the client that started it:
	// it listens, or another one does.
	Ready = "ready"
	Busy  = "busy"
)

// Kxd finds the kxd program: beside kx itself, or where KX_KXD says, if that
// names a program that nobody else could have put there. workspaces are folders
// in which an agent may write.
func Kxd(override string, workspaces []string) (string, error) {
	if override != "" {
		return override, checkProgram(override, workspaces)
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	kxd := filepath.Join(filepath.Dir(self), "kxd")
	if _, err := os.Stat(kxd); err != nil {
		return "", fail.Unavailable("no_kxd", "kxd is not beside kx: %s", kxd).WithHint("kx doctor")
	}
	return kxd, nil
}

func checkProgram(path string, workspaces []string) error {
	refuse := func(why string) error {
		return fail.Denied("kxd_refused", "KX_KXD=%s is refused: %s", path, why).WithHint("unset KX_KXD")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !filepath.IsAbs(path) {
		return refuse("it is not the absolute path of a program")
	}
	fi, err := os.Stat(real)
	if err != nil || !fi.Mode().IsRegular() {
		return refuse("it is not a regular file")
	}
	if uid := fsx.Owner(fi); uid != 0 && uid != os.Getuid() {
		return refuse("it belongs to somebody else")
	}
	if fi.Mode().Perm()&0o022 != 0 {
		return refuse("others can write it")
	}
	for _, ws := range workspaces {
		if real == ws || strings.HasPrefix(real, ws+"/") {
			return refuse("it lies in a workspace")
		}
	}
	return nil
}

// Resident is one kind of resident of one state directory.
type Resident struct {
	Kxd    string   // the program
	Args   []string // its verb and what it needs to know
	Socket string   // where it shall listen
	Lock   string   // what it holds while it lives
}

// Reach returns the socket of the living resident, starting it if need be.
func (r Resident) Reach(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		for _, path := range []string{r.Socket, r.registered()} {
			if path != "" && answers(path) {
				return path, nil
			}
		}
		said, err := r.start(ctx)
		if err != nil {
			return "", err
		}
		if said == Ready {
			return r.Socket, nil
		}
		// Somebody else's resident is starting, or has not quite ended.
		select {
		case <-ctx.Done():
			return "", fail.Unavailable("no_resident", "%s does not answer", filepath.Base(r.Socket)).WithHint("kx doctor")
		case <-time.After(retry):
		}
	}
}

// registered is where the resident that holds the lock listens.
func (r Resident) registered() string {
	data, _, err := fsx.ReadRegular(r.Lock, 4096)
	if err != nil {
		return ""
	}
	_, path, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	return path
}

func answers(path string) bool {
	c, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// start runs kxd and returns what it says: Ready or Busy.
func (r Resident) start(ctx context.Context) (string, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer out.Close()
	cmd := exec.Command(r.Kxd, append(r.Args, "--socket", r.Socket)...)
	cmd.Env, cmd.Dir, cmd.Stdout = []string{}, "/", in
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = proc.Spawn(cmd)
	in.Close()
	if err != nil {
		return "", fail.Unavailable("no_kxd", "%s can't be started: %v", r.Kxd, err).Because(err)
	}
	go cmd.Wait()
	stop := context.AfterFunc(ctx, func() { out.SetReadDeadline(time.Now()) })
	defer stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	line = strings.TrimSpace(line)
	switch {
	case line == Ready || line == Busy:
		return line, nil
	case line != "":
		return "", fail.Unavailable("no_resident", "%s", line)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", fail.Unavailable("no_resident", "%s does not answer", filepath.Base(r.Socket)).WithHint("kx doctor")
	}
	return "", fail.Unavailable("no_resident", "%s ended before it listened", r.Kxd).WithHint("kx doctor")
}

// Register takes the lock for the life of this process and writes into it where
// the resident listens. ok is false if another one lives.
func Register(lock, socket string) (release func(), ok bool, err error) {
	unlock, ok, err := fsx.TryLock(lock)
	if err != nil || !ok {
		return nil, false, err
	}
	text := strconv.Itoa(os.Getpid()) + " " + socket + "\n"
	if err := os.WriteFile(lock, []byte(text), 0o600); err != nil {
		unlock()
		return nil, false, err
	}
	return func() {
		os.Truncate(lock, 0)
		unlock()
	}, true, nil
}
