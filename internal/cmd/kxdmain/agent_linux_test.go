package kxdmain_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

func TestTextForAPerson(t *testing.T) {
	u := newUser(t)
	u.write("home/ws/a.txt", "hello\n")
	s := u.script(
		`{"say":"I look.","calls":[{"tool":"read_file","input":{"path":"a.txt"}}]}`,
		`{"calls":[{"tool":"grep_search","input":{"pattern":"hel"}}]}`,
		`{"calls":[{"tool":"read_file","input":{"path":"none"}}]}`,
		`{"calls":[{"tool":"bash","input":{"command":"exit 3"}},{"tool":"bash","input":{"command":"true"}}]}`,
		done)
	u.kx(0, "agent", "run", "look around", "--script", s, "--new-session", "r", "-o", "table").says(`I look.
  read_file   a.txt
  grep_search "hel" 1 match
  read_file   none not_found: none does not exist
  bash        exit 3
  bash        error: the command exited with status 3
  bash        true
  bash        ok
Done.
`, "")
	show := u.kx(0, "agent", "show", "r", "-o", "table").out.String()
	if want := "> look around\n\nturn 1 +0s\nI look.\n  t1.1   read_file   a.txt\n"; !strings.Contains(later.ReplaceAllString(took.ReplaceAllString(show, "$1"), "+0s"), want) || strings.Count(show, "Done.") != 1 {
		t.Errorf("show prints\n%s", show)
	}

	s = u.script(`{"calls":[{"tool":"emit_output","input":{"content":"The answer."}}]}`, done)
	u.kx(0, "agent", "run", "x", "--script", s, "-o", "table").says("  emit_output ok\nDone.\nThe answer.\n", "")
	s = u.script(`{"calls":[{"tool":"emit_output","input":{"content":"Done."}}]}`, done)
	u.kx(0, "agent", "run", "x", "--script", s, "-o", "table").says("  emit_output ok\nDone.\n", "")
}

// A run parks with one line and the command to type; it goes on in a later process,
// from what the session kept.
func TestParkAndResume(t *testing.T) {
	u := newUser(t)
	s := u.script(asks, done)
	j := u.kx(4, "agent", "run", "x", "--script", s, "--new-session", "r", "-o", "table")
	pending := u.session("r").Pending
	if len(pending) != 1 {
		t.Fatalf("pending %v", pending)
	}
	id := pending[0]
	j.says("I write.\n  ⏸ waiting for approval   kx approve allow "+id+"\n",
		"kx: parked: one approval is waiting ("+id+"); answer with: kx approve "+id+"\nhint: kx agent resume r\n")
	if s := u.session("r"); s.State != "parked" || s.Turns != 1 || s.Model != "script" {
		t.Errorf("session %+v", s)
	}
	os.Remove(s)
	u.kx(4, "agent", "resume", "r")
	u.answer("allow", id)
	j = u.kx(0, "agent", "resume", "r", "-o", "jsonl")
	lines := strings.Split(strings.TrimSpace(j.out.String()), "\n")
	if want := `{"type":"run","v":1,"session":"r","state":"completed","exit":0,"calls":{"ok":1},"output":"Done."}`; lines[len(lines)-1] != want {
		t.Errorf("the last record is %s, want %s", lines[len(lines)-1], want)
	}
	if got := u.read("home/ws/b.txt"); got != "x" {
		t.Errorf("b.txt holds %q", got)
	}
	if s := u.session("r"); s.State != "completed" || s.Turns != 2 || len(s.Pending) > 0 {
		t.Errorf("session %+v", s)
	}
	for _, verb := range []string{"resume", "stop"} {
		if j := u.kx(7, "agent", verb, "r"); !strings.Contains(j.err.String(), "session_over") {
			t.Errorf("%s: %s", verb, &j.err)
		}
	}
	u.kx(7, "agent", "run", "x", "--script", u.script(done), "--new-session", "r")
}

// A run that died before it wrote anything has its task all the same.
func TestTaskIsKept(t *testing.T) {
	u := newUser(t)
	u.kx(4, "agent", "run", "the task", "--script", u.script(asks, done), "--new-session", "r")
	if err := os.Remove(filepath.Join(u.dir, "state/sessions/r/events.jsonl")); err != nil {
		t.Fatal(err)
	}
	u.kx(4, "agent", "resume", "r")
	if first := u.events("r", "turn_start")[0]; !strings.HasPrefix(first, `turn_start {"turn":1,"prompt":"the task",`) {
		t.Errorf("the session begins with %s", first)
	}
}

// The run document comes when the session is free, so that whoever reads it may go on
// at once.
func TestFreeAtTheLastRecord(t *testing.T) {
	u := newUser(t)
	cmd := exec.Command(filepath.Join(bin, "kx"), "agent", "run", "x", "--script", u.script(asks, done), "--new-session", "r", "-o", "jsonl")
	cmd.Dir, cmd.Env = u.ws, u.env
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(out)
	for {
		var doc struct{ Type, State string }
		if err := dec.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		if doc.Type == "run" {
			break
		}
	}
	if s := u.session("r"); s.State != "parked" || len(s.Pending) != 1 {
		t.Errorf("session %+v", s)
	}
	u.kx(4, "agent", "resume", "r")
	_ = cmd.Wait() // with 4
}

// A program is asked by rules of its own, and again by a new process on resume.
func TestExecModel(t *testing.T) {
	u := newUser(t)
	u.write("home/ws/a.txt", "hello\n")
	j := u.start("agent", "run", "copy a.txt", "--exec", filepath.Join(bin, "model"), "--new-session", "r", "--wait", "1m", "-o", "table")
	var id string
	u.until("a request waits", func() bool {
		var a wire.Approval
		json.Unmarshal(u.kx(0, "approve", "list", "-o", "jsonl").out.Bytes(), &a)
		id = a.ID
		return id != ""
	})
	u.answer("allow", id)
	j.ends(0).says("  read_file   a.txt\n  ⏸ waiting for approval   kx approve allow "+id+"\n  write_file  copy.txt +1 -0\nwrite_file: ok\n", "")
	if got := u.read("home/ws/copy.txt"); got != "hello" {
		t.Errorf("copy.txt holds %q", got)
	}

	u.kx(4, "agent", "run", "copy copy.txt", "--exec", filepath.Join(bin, "model"), "--new-session", "s")
	u.answer("deny", u.session("s").Pending[0])
	u.kx(3, "agent", "resume", "s", "-o", "table").says("  write_file  copy.txt denied: write_file was denied by a person\nwrite_file: denied\n",
		"kx: a call of the last turn was denied\nhint: kx agent show s\n")
}

// What a model leaves behind ends with the run, and what it says at its end is told.
func TestBrokenModel(t *testing.T) {
	u := newUser(t)
	j := u.kx(1, "agent", "run", "x", "--exec", `(setsid sh -c 'echo $$ >daemon; exec sleep 1000' &); until [ -s daemon ]; do :; done; echo out of luck >&2; exit 3`, "-o", "table")
	j.says("", "kx: the model ended (exit status 3): out of luck\n")
	if u.read("home/ws/daemon") == "" {
		t.Error("the model has left nothing")
	}
	if left := inside(u.ws); len(left) > 0 {
		t.Errorf("processes %v of the model go on", left)
	}
	u.kx(1, "agent", "run", "x", "--exec", "echo hello; cat >/dev/null", "-o", "table").says("",
		"kx: the model's answer is not a turn: it is not a JSON object: hello\nhint: man kx-json\n")
}

func TestBadScript(t *testing.T) {
	u := newUser(t)
	s := u.script(`{}`, `{"sya":"x"}`)
	u.kx(2, "agent", "run", "x", "--script", s, "-o", "table").says("", "kx: "+s+":2: unknown field \"sya\"\nhint: man kx-json\n")
	if all := u.kx(0, "agent", "list", "-o", "jsonl").out.String(); all != "" {
		t.Errorf("it left the session %s", all)
	}
	u.kx(6, "agent", "run", "x", "--script", u.script(`{"calls":[{"tool":"list_files"}]}`, done), "--max-turns", "1", "--new-session", "r", "-o", "table")
	if s := u.session("r"); s.State != "failed" || s.Turns != 1 {
		t.Errorf("session %+v", s)
	}
	u.kx(6, "agent", "resume", "r")
}

// A signal during a wait parks, and the request stays.
func TestInterruptedWait(t *testing.T) {
	for sig, exit := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		u := newUser(t)
		j := u.start("agent", "run", "x", "--script", u.script(asks, done), "--new-session", "r", "--wait", "10m", "-o", "table")
		u.until("it waits", func() bool { return strings.Contains(u.read("state/sessions/r/events.jsonl"), `"event":"approval"`) })
		j.cmd.Process.Signal(sig)
		j.ends(exit)
		if want := map[int]string{130: "kx: parked: interrupted\nhint: kx agent resume r\n", 143: "kx: parked: terminated\nhint: kx agent resume r\n"}[exit]; j.err.String() != want {
			t.Errorf("%v: it says %q", sig, &j.err)
		}
		s := u.session("r")
		if s.State != "parked" || len(s.Pending) != 1 {
			t.Fatalf("%v: session %+v", sig, s)
		}
		u.answer("allow", s.Pending[0])
		u.kx(0, "agent", "resume", "r")
		if got := u.read("home/ws/b.txt"); got != "x" {
			t.Errorf("%v: b.txt holds %q", sig, got)
		}
	}
}

// long is a script with a call that runs until it is ended, and what it leaves.
func (u *user) long() string {
	u.write("home/ws/long.sh", "echo half\nsetsid sleep 1000 &\necho $! $$ >pids\nwait\n")
	return u.script(`{"calls":[{"tool":"bash","input":{"command":"sh long.sh"}},{"tool":"write_file","input":{"path":"b.txt","content":"x"}}]}`, done)
}

// pids of the processes of long, once they run. They live in the workspace, and the
// numbers that they know themselves by may be those of a namespace.
func (u *user) pids() (pids []int) {
	u.t.Helper()
	u.until("the command runs", func() bool {
		pids = nil
		for _, pid := range inside(u.ws) {
			if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); string(name) == "sleep\n" || string(name) == "sh\n" {
				pids = append(pids, pid)
			}
		}
		return len(pids) == 2 && u.read("home/ws/pids") != ""
	})
	return pids
}

// inside lists the processes whose folder is dir.
func inside(dir string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		if cwd, _ := os.Readlink(p + "/cwd"); cwd == dir {
			pid, _ := strconv.Atoi(filepath.Base(p))
			pids = append(pids, pid)
		}
	}
	return pids
}

func (u *user) gone(pids []int) {
	u.t.Helper()
	for _, pid := range pids {
		if syscall.Kill(pid, 0) != syscall.ESRCH {
			u.t.Errorf("process %d goes on", pid)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// A signal during a call ends its whole tree and is the result of the call.
func TestInterruptedCall(t *testing.T) {
	u := newUser(t)
	j := u.start("agent", "run", "x", "--script", u.long(), "--new-session", "r")
	pids := u.pids()
	j.cmd.Process.Signal(syscall.SIGINT)
	j.ends(130)
	u.gone(pids)
	results := u.events("r", "tool_result", "parked")
	last := results[len(results)-2:]
	if !strings.Contains(last[0], `"status":"error"`) || !strings.Contains(last[0], `"code":"interrupted"`) || !strings.Contains(last[0], "half") || last[1] != `parked {"pending":[]}` {
		t.Errorf("the session ends with %q", last)
	}
	u.kx(4, "agent", "resume", "r") // what had not begun goes on
}

// A run that is killed has told nobody; resumed, the model hears that nobody knows.
func TestKilledRun(t *testing.T) {
	u := newUser(t)
	j := u.start("agent", "run", "x", "--script", u.long(), "--new-session", "r")
	pids := u.pids()
	j.cmd.Process.Kill()
	j.cmd.Wait()
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if s := u.session("r"); s.State != "failed" {
		t.Errorf("session %+v", s)
	}
	u.kx(4, "agent", "resume", "r")
	n := 0
	for _, e := range u.events("r", "tool_result") {
		if strings.Contains(e, `"status":"unknown"`) {
			n++
		}
	}
	if n != 1 || u.read("home/ws/pids") == "" {
		t.Errorf("%d results are unknown", n)
	}
}

// stops returns the session_stop lines of the audit.
func (u *user) stops() (list []audit.SessionStop) {
	u.t.Helper()
	st, err := state.Open(filepath.Join(u.dir, "state"))
	if err != nil {
		u.t.Fatal(err)
	}
	for e, err := range audit.New(st, time.Now).List(audit.Filter{}) {
		if err != nil {
			u.t.Fatal(err)
		}
		var s audit.SessionStop
		if json.Unmarshal(e.Raw, &s) == nil && s.Type == audit.TypeSessionStop {
			list = append(list, s)
		}
	}
	return list
}

func TestStopRunning(t *testing.T) {
	for _, how := range []string{"running", "stopped by a signal"} {
		u := newUser(t)
		j := u.start("agent", "run", "x", "--script", u.long(), "--new-session", "r")
		pids := u.pids()
		if how != "running" {
			j.cmd.Process.Signal(syscall.SIGSTOP)
		}
		pid := j.cmd.Process.Pid
		if second := u.kx(7, "agent", "resume", "r"); !strings.Contains(second.err.String(), fmt.Sprintf("(pid %d)", pid)) {
			t.Errorf("a second run: %s", &second.err)
		}
		u.kx(0, "agent", "stop", "r", "-o", "table").says("r  stopped\n", "")
		j.ends(143)
		u.gone(pids)
		if s := u.session("r"); s.State != "stopped" {
			t.Errorf("session %+v", s)
		}
		events := u.events("r", "done")
		if last := events[len(events)-1]; last != `done {"exit":143,"state":"stopped"}` && last != `done {"state":"stopped","exit":143}` {
			t.Errorf("the session ends with %s", last)
		}
		if stops := u.stops(); len(stops) != 1 || stops[0].Session != "r" || stops[0].PID != pid || stops[0].DecidedBy.Kind != "human" {
			t.Errorf("the audit has %+v", stops)
		}
		u.kx(7, "agent", "stop", "r")
		u.kx(7, "agent", "resume", "r")
	}
}

func TestStopParked(t *testing.T) {
	u := newUser(t)
	u.kx(4, "agent", "run", "x", "--script", u.script(asks, done), "--new-session", "r")
	id := u.session("r").Pending[0]
	u.kx(0, "agent", "stop", "r")
	if s := u.session("r"); s.State != "stopped" || len(s.Pending) > 0 {
		t.Errorf("session %+v", s)
	}
	if got := u.kx(0, "approve", "show", id, "-o", "jsonl").out.String(); !strings.Contains(got, `"state":"cancelled"`) {
		t.Errorf("the request is %s", got)
	}
	if stops := u.stops(); len(stops) != 1 || !slices.Equal(stops[0].Cancelled, []string{id}) {
		t.Errorf("the audit has %+v", stops)
	}
	u.kx(7, "agent", "resume", "r")
	u.kx(8, "agent", "stop", "none")
}

// What a scope hides stays hidden when the run goes on.
func TestCapabilitiesAreKept(t *testing.T) {
	u := newUser(t)
	u.write("caps.json", `{"capability":{"tool_deny":["bash"]}}`)
	s := u.script(asks, `{"calls":[{"tool":"bash","input":{"command":"echo x >leak"}}]}`, `{"expect":{"tool":"bash","status":"not_found"},"say":"Hidden."}`)
	u.kx(4, "agent", "run", "x", "--script", s, "--capabilities", filepath.Join(u.dir, "caps.json"), "--new-session", "r")
	os.Remove(filepath.Join(u.dir, "caps.json"))
	u.answer("allow", u.session("r").Pending[0])
	if out := u.kx(0, "agent", "resume", "r", "-o", "table").out.String(); !strings.HasSuffix(out, "Hidden.\n") || u.read("home/ws/leak") != "" {
		t.Errorf("it prints\n%s", out)
	}
}

// The host may be killed at any moment, and clients with another runtime directory
// find it.
func TestHostComesBack(t *testing.T) {
	u := newUser(t)
	u.kx(4, "agent", "run", "x", "--script", u.script(asks, done), "--new-session", "r")
	id := u.session("r").Pending[0]
	waiting := u.start("approve", "wait", id, "-o", "jsonl")
	u.until("the host runs", func() bool { return u.host() > 0 })
	first := u.host()
	syscall.Kill(first, syscall.SIGKILL)
	// who waits may have started the next one by now
	u.until("it is gone", func() bool { return u.host() != first })
	for i, e := range u.env {
		if strings.HasPrefix(e, "KX_RUNTIME_DIR=") {
			u.env[i] = "KX_RUNTIME_DIR=" + u.dir + "/run2"
		}
	}
	u.answer("allow", id)
	if second := u.host(); second == first || second == 0 {
		t.Errorf("the host is process %d, was %d", second, first)
	}
	waiting.ends(0)
	if !strings.Contains(waiting.out.String(), `"state":"allowed"`) {
		t.Errorf("who waited got %s", &waiting.out)
	}
	u.kx(0, "agent", "resume", "r")
}
