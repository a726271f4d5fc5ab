package agent

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/scope"
	"github.com/kxtools/kx/pkg/wire"
)

// Spec is what kx hands to kxd agent: what to run, and how the command line that
// asked for it was set. It goes through an open file, never through arguments or
// the environment, where others could read it.
type Spec struct {
	Globals app.Globals `json:"globals"`

	Resume string        `json:"resume,omitempty"` // a session to go on with
	ID     string        `json:"id,omitempty"`     // of a new session, "" to choose one
	Wait   time.Duration `json:"wait,omitempty"`
	Setup  Setup         `json:"setup"` // of a new session
}

// Setup is what a session keeps to go on later: its task, its model, and the
// bounds that it was given.
type Setup struct {
	Prompt   string      `json:"prompt,omitempty"`
	Script   string      `json:"script,omitempty"` // the text of the script
	Exec     string      `json:"exec,omitempty"`   // the command line of the model
	MaxTurns int         `json:"max_turns,omitempty"`
	Cwd      string      `json:"cwd"`
	Caller   string      `json:"caller"`
	Scope    scope.Scope `json:"scope"`
}

// Model names the kind of model.
func (s *Setup) Model() string {
	if s.Script != "" {
		return "script"
	}
	return "exec"
}

// maxSpec bounds what kxd reads, and what a session keeps: a prompt and a script,
// in JSON.
const maxSpec = 64 << 20

// become turns this process into kxd agent with the given spec.
func become(a *app.App, spec *Spec) error {
	s := site.Of(a)
	kxd, err := s.Kxd()
	if err != nil {
		return err
	}
	spec.Globals = a.Globals
	raw, err := wire.Marshal(spec)
	if err != nil {
		return err
	}
	if len(raw) > maxSpec {
		return fail.Limit("run_bytes", "the prompt and the script take %d bytes, more than %d", len(raw), maxSpec)
	}
	f, err := os.CreateTemp("", "kx-agent-")
	if err != nil {
		return fail.Failed("temp", "the run can't be handed over: %v", err).Because(err)
	}
	os.Remove(f.Name())
	if _, err := f.Write(raw); err != nil {
		return fail.Failed("temp", "the run can't be handed over: %v", err).Because(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD, 3) // a duplicate stays open across exec
	if err != nil {
		return err
	}
	err = syscall.Exec(kxd, []string{"kxd", "agent", "--spec", strconv.Itoa(fd)}, paths.Environ())
	return fail.Unavailable("no_kxd", "%s can't be run: %v", kxd, err).WithHint("kx doctor").Because(err)
}

// ReadSpec reads the spec from the file that kx left open.
func ReadSpec(fd int) (*Spec, error) {
	f := os.NewFile(uintptr(fd), "spec")
	if f == nil {
		return nil, fail.Usage("kxd agent is started by kx agent run").WithHint("kx agent run --help")
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxSpec))
	var spec Spec
	if err != nil || json.Unmarshal(raw, &spec) != nil {
		return nil, fail.Usage("kxd agent is started by kx agent run").WithHint("kx agent run --help")
	}
	return &spec, nil
}
