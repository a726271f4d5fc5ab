package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/kxtools/kx/internal/base/jail"
)

// Walls is what this machine can enforce.
type Walls struct {
	Kind     jail.Kind `json:"kind"`
	Landlock int       `json:"landlock"` // its ABI, 0 for none
	OwnProc  bool      `json:"own_proc"` // programs see no other processes
	Layers   bool      `json:"layers"`   // folders can be laid over caches
	Why      string    `json:"why,omitempty"`
	Hint     string    `json:"hint,omitempty"`

	unsure bool // it could not be tried, and is not noted down

	For string `json:"for"` // this start of the machine, user and kx
}

// Walls finds out what this machine can enforce, by building all of it once. The
// answer is kept until the machine or kx is another one. In a dry run it is what
// was found out before.
func (s *Sandbox) Walls() Walls {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		w, ok := s.Known()
		if !ok && !s.DryRun {
			w = s.find()
		}
		s.known = &w
	}
	return *s.known
}

// find finds it out, and notes it down.
func (s *Sandbox) find() Walls {
	w := s.Probe()
	w.For = s.identity()
	if w.For != "" && !w.unsure {
		list := append(s.noted(), w)
		if raw, err := json.Marshal(list[max(0, len(list)-maxNoted):]); err == nil {
			_ = s.Scratch.SetWalls(raw) // else it is found out again
		}
	}
	return w
}

// maxNoted is how many answers are kept: kx and kxd are two programs, and either may be
// started where more is forbidden to it.
const maxNoted = 8

// noted are the answers that were found out before, the last of them last.
func (s *Sandbox) noted() (list []Walls) {
	if json.Unmarshal(s.Scratch.Walls(), &list) != nil {
		return nil
	}
	return list
}

// Known returns what was found out before, without finding out anything.
func (s *Sandbox) Known() (w Walls, ok bool) {
	id := s.identity()
	for _, w := range s.noted() {
		if id != "" && w.For == id {
			return w, true
		}
	}
	return w, false
}

// identity names what the answer holds for, "" if that can't be told: this start
// of the machine, this kx, and whatever binds this process.
func (s *Sandbox) identity() string {
	boot, err := s.Boot()
	if err != nil {
		return ""
	}
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		return ""
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	id := fmt.Sprint(boot, " ", self.Size(), " ", self.ModTime().UnixNano(), " ", jail.LandlockABI())
	for line := range strings.Lines(string(status)) {
		if name, value, _ := strings.Cut(line, ":"); slices.Contains(bonds, name) {
			id += " " + strings.Join(strings.Fields(value), " ")
		}
	}
	for _, name := range []string{"ns/user", "ns/mnt"} {
		ns, _ := os.Readlink("/proc/self/" + name)
		id += " " + ns
	}
	label, _ := os.ReadFile("/proc/self/attr/current") // of a security module, if there is one
	return id + " " + strings.TrimRight(string(label), "\n\x00")
}

// bonds are the lines of /proc/self/status that change what a process may do.
var bonds = []string{"Uid", "Gid", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Seccomp_filters"}

// Probe builds everything around a program that does nothing.
func (s *Sandbox) Probe() Walls {
	w := Walls{Kind: jail.None, Landlock: jail.LandlockABI()}
	if w.Landlock > 0 {
		w.Kind = jail.Landlock
	}
	if runtime.GOOS != "linux" {
		w.Why = "only Linux has what it takes"
		return w
	}
	for _, layers := range []bool{true, false} {
		r, err := s.try(layers)
		if err == nil {
			return Walls{Kind: jail.Full, Landlock: w.Landlock, OwnProc: r.OwnProc, Layers: layers}
		}
		w.Why, w.Hint = reason(err)
		if w.unsure = errors.As(err, new(*noTrial)); w.unsure {
			w.Why, w.Hint = err.Error(), "kx doctor"
		}
	}
	return w
}

// noTrial is why the walls were not tried at all, which says nothing of the kernel.
type noTrial struct{ err error }

func (n *noTrial) Error() string {
	return "what this machine can enforce could not be tried: " + n.err.Error()
}

// try runs a program that does nothing behind full walls, in a folder of its own.
func (s *Sandbox) try(layers bool) (r jail.Report, err error) {
	dir, err := os.MkdirTemp("", "kx-probe-")
	if err != nil {
		return r, &noTrial{err}
	}
	defer func() {
		_ = os.Chmod(filepath.Join(dir, "work", "work"), 0o700) // overlayfs leaves it to nobody
		os.RemoveAll(dir)
	}()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return r, &noTrial{err}
	}
	for _, name := range []string{"write", "layer", "mask", "upper", "work"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return r, &noTrial{err}
		}
	}
	write, layer := filepath.Join(dir, "write"), filepath.Join(dir, "layer")
	p := &jail.Plan{
		Kind: jail.Full, Argv: []string{trueProgram()}, Dir: write, Minimal: s.Dirs.UID == 0,
		Mounts: []jail.Mount{{Source: write, Target: write}}, Fixed: []string{write}, Masked: []string{filepath.Join(dir, "mask")},
	}
	if layers {
		upper, work := filepath.Join(dir, "upper"), filepath.Join(dir, "work")
		if place, err := s.Scratch.Layers("probe"); err == nil { // else it is a dry run
			defer place.Release()
			if upper, work, err = place.Layer("probe"); err != nil {
				return r, &noTrial{err}
			}
		}
		p.Mounts = append(p.Mounts, jail.Mount{Source: layer, Target: layer, Upper: upper, Work: work})
	}
	cmd := &exec.Cmd{}
	c, err := jail.Prepare(cmd, p)
	if err != nil {
		return r, err
	}
	err = cmd.Start()
	c.Started(err)
	if err != nil {
		return r, err
	}
	err = cmd.Wait()
	r, ok := c.Report()
	if ok {
		err = r.Err()
	}
	return r, err
}

// trueProgram is a program that does nothing: where there is no other, kx under
// another name than its own.
func trueProgram() string {
	for _, p := range []string{"/bin/true", "/usr/bin/true"} {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return "/proc/self/exe"
}

// reasons explain the errors of the kernel and what can be done.
var reasons = []struct {
	err       error
	why, hint string
}{
	{syscall.ENOSPC, "user namespaces are switched off, or used up", "sysctl user.max_user_namespaces"},
	{syscall.EPERM, "this user may not make user namespaces (a container's seccomp filter, or kernel.unprivileged_userns_clone)", "man kx-sandbox"},
	{syscall.EACCES, "a security module forbids user namespaces to kx (on Ubuntu: AppArmor)", "man kx-sandbox"},
	{syscall.EINVAL, "this kernel is too old for the walls, or was built without namespaces", "man kx-sandbox"},
	{syscall.ENOSYS, "this kernel is too old for the walls", "man kx-sandbox"},
}

func reason(err error) (why, hint string) {
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return fmt.Sprintf("%s: %v", r.why, err), r.hint
		}
	}
	return err.Error(), "man kx-sandbox"
}
