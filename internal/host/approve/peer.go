package approve

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/lineage"
	"github.com/kxtools/kx/internal/base/sock"
)

// mayDecide refuses an answer that does not come from where a person sits. The key
// alone is no proof: an agent's command runs as the same user and may read it.
// What can't be read is refused. The last look is at the pidfd: as long as the
// process lives, all that was read before under its pid was its own.
func (h *Host) mayDecide(r *sock.Request) error {
	p, err := lineage.Of(r.Peer.PID)
	if errors.Is(err, lineage.ErrUnknown) {
		return nil // the key is all there is to go by
	}
	if err != nil {
		return notAPerson("what process %d is can't be read: %v", r.Peer.PID, err)
	}
	self, err := lineage.Self()
	if err != nil {
		return notAPerson("what this host is can't be read: %v", err)
	}
	if self.PID != os.Getpid() {
		return notAPerson("/proc knows this host by another pid than its peers have")
	}
	if err := confined(p, self); err != nil {
		return err
	}
	forwarded, hidden := forwards(p)
	if !hidden {
		if err := elsewhere(p, self); err != nil {
			return err
		}
	}
	root, err := h.roots.Above(p.PID)
	if err != nil {
		return notAPerson("from whom process %d descends can't be read: %v", p.PID, err)
	}
	if root != nil {
		return notAPerson("process %d runs below %s", p.PID, root)
	}
	if forwarded {
		if err := h.mayForward(); err != nil {
			return err
		}
		r.Peer.Via = "forward"
	}
	if r.Alive == nil || !r.Alive() {
		return notAPerson("process %d, which connected, has ended", p.PID)
	}
	return nil
}

func notAPerson(format string, args ...any) *fail.Error {
	return fail.Denied("not_a_person", "only a person answers requests: "+format, args...)
}

// confined refuses a process that bears the marks of a sandbox. A host that was
// itself started without new privileges can't tell by that one.
func confined(p, self lineage.Process) error {
	switch {
	case p.Nested:
		return notAPerson("process %d lives in a pid namespace of its own", p.PID)
	case p.NoNewPrivs && !self.NoNewPrivs:
		return notAPerson("process %d runs under no_new_privs, as in a sandbox", p.PID)
	}
	return nil
}

// elsewhere refuses a process that sees another system than this host.
func elsewhere(p, self lineage.Process) error {
	for _, ns := range []struct{ kind, name string }{{"pid", "pid"}, {"user", "user"}, {"mnt", "mount"}} {
		own, err := lineage.Namespace(self.PID, ns.kind)
		if err != nil {
			return notAPerson("the %s namespace of this host can't be read: %v", ns.name, err)
		}
		theirs, err := lineage.Namespace(p.PID, ns.kind)
		if err != nil {
			return notAPerson("the %s namespace of process %d can't be read: %v", ns.name, p.PID, err)
		}
		if theirs != own {
			return notAPerson("process %d lives in another %s namespace than this host", p.PID, ns.name)
		}
	}
	return nil
}

// forwards reports whether a process is the end of ssh -L. One that changed from
// root to the user is hidden: the user may not read what it runs nor where it
// lives. Its name could be anybody's, so its parent must be root's.
func forwards(p lineage.Process) (yes, hidden bool) {
	if p.Exe != "" {
		return isSSHD(strings.TrimSuffix(filepath.Base(p.Exe), " (deleted)")), false
	}
	if !isSSHD(p.Name) {
		return false, false
	}
	parent, err := lineage.Of(p.Parent)
	hidden = err == nil && parent.UID == 0 && isSSHD(parent.Name)
	return hidden, hidden
}

func isSSHD(name string) bool { return slices.Contains([]string{"sshd", "sshd-session"}, name) }

// mayForward reads the user's word on forwarded connections.
func (h *Host) mayForward() error {
	if h.remote != nil {
		yes, err := h.remote()
		if yes || err != nil {
			return err
		}
	}
	return fail.Denied("forwarded", "only a person at this machine answers requests: this connection comes through sshd, and [approve] remote is not true").
		WithHint(`$EDITOR "$(kx config path config)/config.toml"`)
}
