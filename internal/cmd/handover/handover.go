// Package handover turns kx into a job of kxd. What the job is goes through an open
// file, never through arguments or the environment, where others could read it.
//
// kx agent run and kx approve become kxd by Become; kxd reads what it is to do by
// Read.
package handover

import (
	"encoding/json"
	"flag"
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/pkg/wire"
)

// maxSpec bounds what is handed over: the longest is a prompt and a script, in JSON.
const maxSpec = 64 << 20

// Become turns this process into kxd with the given verb and spec. It returns only
// if that fails.
func Become(a *app.App, verb string, spec any) error {
	kxd, err := site.Of(a).Kxd()
	if err != nil {
		return err
	}
	raw, err := wire.Marshal(spec)
	if err != nil {
		return err
	}
	if len(raw) > maxSpec {
		return fail.Limit("run_bytes", "what was given takes %d bytes, more than %d", len(raw), maxSpec)
	}
	f, err := os.CreateTemp("", "kx-"+verb+"-")
	if err != nil {
		return fail.Failed("temp", "the work can't be handed over: %v", err).Because(err)
	}
	os.Remove(f.Name())
	if _, err := f.Write(raw); err != nil {
		return fail.Failed("temp", "the work can't be handed over: %v", err).Because(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD, 3) // a duplicate stays open across exec
	if err != nil {
		return err
	}
	err = syscall.Exec(kxd, []string{"kxd", verb, "--spec", strconv.Itoa(fd)}, paths.Environ())
	return fail.Unavailable("no_kxd", "%s can't be run: %v", kxd, err).WithHint("kx doctor").Because(err)
}

// Read reads the spec from the file that the arguments of the verb name. from is the
// command that makes this process of itself.
func Read(verb string, args []string, from string, spec any) error {
	started := fail.Usage("kxd %s is started by %s", verb, from).WithHint("%s --help", from)
	fs := flag.NewFlagSet("kxd "+verb, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fd := fs.Int("spec", -1, "")
	if err := fs.Parse(args); err != nil {
		return started.Because(err)
	}
	f := os.NewFile(uintptr(*fd), "spec")
	if f == nil {
		return started
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxSpec))
	if err != nil || json.Unmarshal(raw, spec) != nil {
		return started
	}
	return nil
}
