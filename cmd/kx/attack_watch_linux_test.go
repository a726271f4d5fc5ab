package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attempt makes one attempt and compares what came of it with what is known to be
// open, "" for nothing.
func (s *siege) attempt(a attempt, as way, open string) {
	s.Helper()
	command := s.words.Replace(a.do)
	if as.file {
		s.write(s.ws+"/try.sh", command+"\n", 0o644)
		command = "bash try.sh"
	}
	after := func() {}
	if a.during != nil {
		after = a.during(s)
	}
	r, ok := s.call(command, as.mode)
	after()
	var found []string
	if !ok {
		found = append(found, "ended the kx above it")
		s.again()
	}
	said := r.Output.Text
	if ok && r.Status != "denied" && r.Output.Sandbox != s.label {
		s.Fatalf("%s: it ran behind %q, not %q: %+v", a.name, r.Output.Sandbox, s.label, r)
	}
	if a.read != "" {
		said += s.readFile(s.words.Replace(a.read))
	}
	if strings.Contains(said, "OPEN") && r.Status != "denied" {
		found = append(found, "says so")
	}
	for what, text := range s.secrets {
		if strings.Contains(said, text) {
			found = append(found, "read: "+what)
		}
	}
	found = append(found, s.found()...)
	slices.Sort(found)
	switch {
	case len(found) > 0 && open == "":
		s.Errorf("%s (%+v) gets through: %q\n%s\n%s", a.name, as, found, command, said)
	case len(found) == 0 && open != "" && s.exact && !a.depends && !refused(as, r):
		s.Errorf("%s (%+v) does not get through, though it is said to be open: %s\n%s\n%s", a.name, as, open, command, said)
	}
	s.restore(len(found) > 0)
}

// refused reports whether the words alone were enough to refuse the call.
func refused(as way, r result) bool { return !as.file && r.Status == "denied" }

// readFile has kx's own tool read a file, which a person does not allow.
func (s *siege) readFile(path string) string {
	s.Helper()
	line, _ := json.Marshal(map[string]any{"tool": "read_file", "input": map[string]string{"path": path}, "mode": "default"})
	if _, err := s.calls.Write(append(line, '\n')); err != nil {
		s.Fatal(err)
	}
	out, err := s.results.ReadBytes('\n')
	var r result
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		s.Fatal(err)
	}
	if r.ApprovalID != "" {
		s.known[r.ApprovalID] = true
	}
	return r.Output.Text
}

// again starts another kx after one was ended, when all is over that it began.
func (s *siege) again() {
	s.Helper()
	s.calls.Close()
	_ = s.kx.Wait()
	s.kx = nil
	for deadline := time.Now().Add(10 * time.Second); len(s.left()) > 0 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	s.start()
}

// found is what an attempt has done, seen from outside.
func (s *siege) found() (list []string) {
	s.Helper()
	now := s.look()
	for path, e := range now {
		if s.before[path] != e {
			list = append(list, "changed "+path)
		}
	}
	for path := range s.before {
		if _, ok := now[path]; !ok {
			list = append(list, "removed "+path)
		}
	}
	for what, l := range s.listeners {
		if accepted(l) {
			list = append(list, "reached: "+what)
		}
	}
	buf := make([]byte, 4096)
	if n, _ := unix.Read(s.screen, buf); n > 0 {
		list = append(list, fmt.Sprintf("on the terminal: %q", buf[:n]))
	}
	if !running(s.outside.Process.Pid) {
		list = append(list, "ended a process")
	}
	if s.hostPID() != s.hostWas {
		list = append(list, "ended the approval host")
	}
	for deadline := time.Now().Add(200 * time.Millisecond); ; time.Sleep(5 * time.Millisecond) {
		left := s.left()
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			for _, pid := range left {
				line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				list = append(list, fmt.Sprintf("left process %d %q", pid, line))
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			break
		}
	}
	return list
}

// accepted takes the connections that wait.
func accepted(l syscall.Conn) (any bool) {
	c, err := l.SyscallConn()
	if err != nil {
		return false
	}
	_ = c.Control(func(fd uintptr) {
		for {
			n, _, err := unix.Accept4(int(fd), unix.SOCK_CLOEXEC)
			if err != nil {
				return
			}
			any = true
			unix.Close(n)
		}
	})
	return any
}

func running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(b), ") ")
	return err == nil && !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}

// left are processes of this home that were not there before.
func (s *siege) left() (pids []int) {
	own := map[int]bool{}
	if s.kx != nil {
		own[s.kx.Process.Pid], own[s.kxPID()] = true, true
	}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || s.there[pid] || s.others[pid] || own[pid] {
			continue
		}
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if strings.Contains(string(env), s.dir) || strings.Contains(string(line), s.dir) || strings.HasPrefix(cwd, s.dir) {
			pids = append(pids, pid)
		} else if len(env) > 0 {
			s.others[pid] = true
		}
	}
	return pids
}

// settle takes what is there now for what has to stay.
func (s *siege) settle() {
	s.Helper()
	s.watch()
	s.hostWas = s.hostPID()
	s.there = map[int]bool{}
	for _, pid := range s.left() {
		s.there[pid] = true
	}
	s.before = s.look()
	s.words = strings.NewReplacer("{home}", s.home, "{ws}", s.ws, "{state}", s.state, "{config}", s.config, "{run}", s.run, "{tmp}", s.tmp, "{tty}", s.tty,
		"{shm}", s.memory, "{port}", s.port, "{id}", s.request, "{bin}", s.bin, "{name}", filepath.Base(s.dir),
		"{pid}", strconv.Itoa(s.outside.Process.Pid), "{host}", strconv.Itoa(s.hostWas), "{kx}", strconv.Itoa(s.kxPID()),
		"ASK", "XDG_RUNTIME_DIR="+s.run+" kx approve", "KEY", "--key "+s.state+"/approver.key")
}

// kxPID is the kx of the agent's, which may be the child of what it was started by.
func (s *siege) kxPID() int {
	pid := s.kx.Process.Pid
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); filepath.Base(exe) == "without" {
		_, _ = fmt.Sscan(string(children), &pid)
	}
	return pid
}

// entry is a file as it has to stay.
type entry struct {
	mode fs.FileMode
	time int64
	text string // or where a link leads
}

// look reads everything outside the workspace that an agent may not change, and
// what it may not change in there.
func (s *siege) look() map[string]entry {
	s.Helper()
	list := map[string]entry{}
	for _, root := range []string{s.home, s.run, s.tmp, "/proc/sys/kernel/core_pattern"} {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			keep, within := s.watched(path)
			if keep {
				list[path] = s.entry(path)
			}
			if d.IsDir() && !within {
				return fs.SkipDir
			}
			return nil
		})
	}
	return list
}

// watched reports whether a file has to stay as it is, and whether there are such
// files in it.
func (s *siege) watched(path string) (keep, within bool) {
	if rel, ok := strings.CutPrefix(path, s.state+"/"); ok {
		parts := strings.Split(rel, "/")
		id := strings.TrimSuffix(parts[len(parts)-1], ".json")
		switch parts[0] {
		case "approver.key", "host.key", "version":
			return true, true
		case "trust":
			return len(parts) > 1, true
		case "sessions":
			return parts[len(parts)-1] == "rules.jsonl", len(parts) < 3
		case "agentroot":
			return len(parts) == 2 && s.kx != nil && id == strconv.Itoa(s.kxPID()), true
		case "approvals":
			inside := len(parts) == 3
			return inside && (parts[1] == "decided" || parts[1] == "spent") && !s.known[id] || inside && parts[1] == "pending" && id == s.request, true
		}
		return false, false
	}
	if rel, ok := strings.CutPrefix(path, s.ws+"/"); ok {
		first, rest, _ := strings.Cut(rel, "/")
		switch {
		case strings.HasPrefix(first, "witness"), slices.Contains([]string{".kx", ".mcp.json", ".envrc", ".claude", ".codex", ".gemini", "linked", ".cursor"}, first):
			return true, true
		case first == ".git":
			top, _, _ := strings.Cut(rest, "/")
			base := filepath.Base(rest)
			return top == "hooks" || slices.Contains([]string{"config", "config.worktree", "commondir", "gitdir"}, base), rest == "" || top == "hooks" || top == "worktrees"
		}
		return false, false
	}
	return !strings.HasPrefix(path, s.run+"/kx") && path != s.ws && !strings.HasPrefix(s.state+"/", path+"/"), path != s.run+"/kx"
}

func (s *siege) entry(path string) entry {
	fi, err := os.Lstat(path)
	if err != nil {
		return entry{}
	}
	e := entry{mode: fi.Mode()}
	switch {
	case fi.Mode().IsRegular():
		b, _ := os.ReadFile(path)
		e.text = string(b)
		if !strings.HasPrefix(path, s.state) && !strings.HasPrefix(path, "/proc") {
			e.time = fi.ModTime().UnixNano()
		}
	case fi.Mode()&fs.ModeSymlink != 0:
		e.text, _ = os.Readlink(path)
	}
	return e
}

// restore makes everything as it was before an attempt: always in the workspace,
// elsewhere if something has changed.
func (s *siege) restore(changed bool) {
	s.Helper()
	for _, dir := range []string{s.ws, s.ws + "/.git", s.ws + "/.kx"} {
		if fi, err := os.Lstat(dir); err == nil && fi.IsDir() {
			_ = os.Chmod(dir, 0o755)
		}
	}
	if _, err := os.Lstat(s.ws + "/.g2"); err == nil {
		_ = os.RemoveAll(s.ws + "/.git")
		_ = os.Rename(s.ws+"/.g2", s.ws+"/.git")
	}
	entries, _ := os.ReadDir(s.ws)
	for _, e := range entries {
		if !slices.Contains([]string{".git", ".mcp.json", ".claude", ".gemini", "linked", "README.md", "hard"}, e.Name()) {
			_ = os.RemoveAll(filepath.Join(s.ws, e.Name()))
		}
	}
	if !changed {
		return
	}
	for path := range s.look() {
		if _, ok := s.before[path]; !ok && !strings.HasPrefix(path, s.state+"/agentroot/") { // that is a new kx's
			_ = os.RemoveAll(path)
		}
	}
	for path, e := range s.before {
		if s.entry(path) == e || path == s.state+"/approvals/pending/"+s.request+".json" {
			continue
		}
		if fi, err := os.Lstat(path); err == nil && fi.Mode().Type() != e.mode.Type() {
			_ = os.RemoveAll(path)
		}
		switch {
		case e.mode.IsDir():
			_ = os.MkdirAll(path, e.mode.Perm())
		case e.mode.Type() == fs.ModeSymlink:
			_ = os.Remove(path)
			_ = os.Symlink(e.text, path)
			_ = os.Lchown(path, s.uid, -1)
			continue
		case e.mode.IsRegular():
			s.write(path, e.text, e.mode.Perm())
			_ = os.Chtimes(path, time.Time{}, time.Unix(0, e.time))
		}
		_ = os.Chmod(path, e.mode.Perm())
		_ = os.Lchown(path, s.uid, -1)
	}
	if !running(s.outside.Process.Pid) {
		s.victim()
	}
	if b, err := os.ReadFile(s.state + "/approvals/decided/" + s.request + ".json"); err == nil && len(b) > 0 || s.request == "" {
		s.known[s.request] = true
		s.ask()
	}
	s.settle()
}

// recorded expects every call in the audit.
func (s *siege) recorded() {
	s.Helper()
	files, _ := filepath.Glob(s.state + "/audit/*.jsonl")
	got := map[string]int{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			s.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			var r struct {
				Type  string
				Tool  string
				Input struct{ Command string }
			}
			if json.Unmarshal([]byte(line), &r) == nil && r.Type == "audit" && r.Tool == "bash" {
				got[r.Input.Command]++
			}
		}
	}
	for command, n := range s.made {
		if got[command] != n {
			s.Errorf("the audit has %d calls, not %d, of %s", got[command], n, command)
		}
	}
	s.person("audit", "verify")
}
