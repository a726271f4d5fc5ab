package agentroot

import (
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/lineage"
)

// Who is entered: the parent, past shells that run one line for it; never a person's
// shell, the first process of a terminal, or pid 1.
func TestClientOf(t *testing.T) {
	type process struct {
		exe, line string
		leader    bool
		tty       string
	}
	for name, tt := range map[string]struct {
		above []process // pids 90, 80, ...; the last is 1 if it is named init
		want  int
	}{
		"the parent":                 {[]process{{"/usr/bin/node", "node claude", false, "/dev/pts/1"}, {"/bin/bash", "bash", true, "/dev/pts/1"}}, 90},
		"past a shell with a line":   {[]process{{"/bin/dash", "sh -c kx", false, ""}, {"/opt/codex", "codex", false, ""}}, 80},
		"past two":                   {[]process{{"/bin/bash", "bash -c x", false, ""}, {"/bin/bash", "/bin/bash -lc x", false, ""}, {"/opt/codex", "codex", false, ""}}, 70},
		"a login shell with a line":  {[]process{{"/bin/bash", "bash --norc -l -c x", false, ""}, {"/opt/codex", "codex", false, ""}}, 80},
		"an interactive shell":       {[]process{{"/bin/bash", "-bash", false, "/dev/pts/1"}, {"/opt/x", "x", false, ""}}, 0},
		"behind a shell with a line": {[]process{{"/bin/dash", "sh -c kx", false, ""}, {"/bin/zsh", "zsh -i", false, "/dev/pts/1"}}, 0},
		"a shell that runs a file":   {[]process{{"/bin/bash", "bash run.sh", false, ""}}, 90},
		"a file named -c":            {[]process{{"/bin/bash", "bash -- -c", false, ""}}, 0},
		"the leader of a terminal":   {[]process{{"/opt/codex", "codex", true, "/dev/pts/1"}}, 0},
		"a leader without terminal":  {[]process{{"/opt/codex", "codex", true, ""}}, 90},
		"pid 1":                      {[]process{{"/sbin/init", "init", true, ""}}, 0},
		"nobody":                     {nil, 0},
	} {
		tree, lines := map[int]lineage.Process{}, map[int]string{}
		child := lineage.Process{PID: 100, Start: 100}
		self := &child
		for i, p := range tt.above {
			pid := 90 - 10*i
			if strings.HasSuffix(p.exe, "init") {
				pid = 1
			}
			session := 5
			if p.leader {
				session = pid
			}
			if self.Parent = pid; self != &child {
				tree[self.PID] = *self
			}
			self = &lineage.Process{PID: pid, Start: uint64(pid), Exe: p.exe, Session: session, TTY: p.tty}
			tree[pid], lines[pid] = *self, p.line
		}
		of := func(pid int) (lineage.Process, error) { return tree[pid], nil }
		p, err := clientOf(child, of, func(pid int) ([]string, error) { return strings.Fields(lines[pid]), nil })
		got := 0
		if p != nil {
			got = p.PID
		}
		if err != nil || got != tt.want {
			t.Errorf("%s: %d, want %d, %v", name, got, tt.want, err)
		}
	}
}
