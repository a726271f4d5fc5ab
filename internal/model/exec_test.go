package model

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/pkg/wire"
)

// TestMain lets the test binary be a model: a small one that answers from rules.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "answer-from-rules" {
		answerFromRules()
		return
	}
	os.Exit(m.Run())
}

// answerFromRules reads what the first message asks for, then says what it found.
func answerFromRules() {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	out := json.NewEncoder(os.Stdout)
	for {
		var r Request
		if in.Decode(&r) != nil {
			return
		}
		last := r.Messages[len(r.Messages)-1]
		switch {
		case last.Role == "tool":
			out.Encode(map[string]any{"say": fmt.Sprintf("%s is %s: %s", last.Tool, last.Status, last.Content)})
		default:
			path, _ := strings.CutPrefix(last.Content, "read ")
			out.Encode(map[string]any{"calls": []any{map[string]any{"tool": r.Tools[0].Name, "input": map[string]string{"path": path}}}})
		}
	}
}

// bare is a program without walls.
func bare(argv []string, dir string) (*sandbox.Cell, error) {
	return &sandbox.Cell{Plan: &jail.Plan{Kind: jail.None, Argv: argv, Dir: dir}, Leave: func() []string { return nil }, Broken: func() {}}, nil
}

func start(t *testing.T, command string) *Exec {
	t.Helper()
	m, err := StartExec(command, t.TempDir(), []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}, bare)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func turn(t *testing.T, m *Exec) (*Turn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return m.Turn(ctx, &Request{Type: "model_request", V: wire.Version, Messages: []Message{{Role: "user", Content: "go"}}, Tools: []Tool{}})
}

func TestExecAnswersFromRules(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := start(t, "exec '"+exe+"' answer-from-rules")
	r := &Request{Messages: []Message{{Role: "user", Content: "read go.mod"}}, Tools: []Tool{{Name: "read_file"}}}
	got, err := m.Turn(context.Background(), r)
	if err != nil || len(got.Calls) != 1 || got.Calls[0].Tool != "read_file" || string(got.Calls[0].Input) != `{"path":"go.mod"}` || got.Stop {
		t.Fatalf("%+v, %v", got, err)
	}
	r.Messages = append(r.Messages, Message{Role: "assistant", Calls: got.Calls}, Message{Role: "tool", Tool: "read_file", Status: wire.StatusOK, Content: "module x"})
	if got, err = m.Turn(context.Background(), r); err != nil || got.Say != "read_file is ok: module x" {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// What a program reads is one line of the documented shape.
func TestExecRequest(t *testing.T) {
	m := start(t, `read -r line; printf '%s' "$line" >request; pwd >where; env >env; echo '{"say":"ok"}'`)
	if _, err := turn(t, m); err != nil {
		t.Fatal(err)
	}
	m.Close()
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(m.cmd.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if got, want := read("request"), `{"type":"model_request","v":1,"turn":0,"messages":[{"role":"user","content":"go"}],"tools":[]}`; got != want {
		t.Errorf("request %s, want %s", got, want)
	}
	if got := read("where"); got != m.cmd.Dir+"\n" {
		t.Errorf("it runs in %s", got)
	}
	if env := read("env"); strings.Contains(env, "HOME=") || !strings.Contains(env, "LANG=C.UTF-8") {
		t.Errorf("it sees %s", env)
	}
}

func TestExecBroken(t *testing.T) {
	for name, c := range map[string]struct{ command, code, want string }{
		"exits":                        {"exit 0", "model_ended", "the model ended"},
		"exits with words":             {"read -r l; printf 'one\\n\\ntwo\\n' >&2; exit 3", "model_ended", "the model ended (exit status 3): one; two"},
		"is killed":                    {"kill -9 $$", "model_ended", "the model ended (signal: killed)"},
		"does not exist":               {"/nowhere/model", "model_ended", "not found"},
		"leaves its output to a child": {"sleep 100 & echo bye >&2; exit 4", "model_ended", "the model ended (exit status 4): bye"},
		"closes its stdout":            {"echo bye >&2; exec >&-; sleep 100", "model_ended", "the model closed its output: bye"},
		"prints garbage":               {"echo hello; cat", "model_broken", "not a turn: it is not a JSON object: hello"},
		"prints a secret field":        {`echo '{"say":"x","tool":"y"}'; cat`, "model_broken", `unknown field "tool"`},
		"prints half a line":           {`printf '{"say":"x"'`, "model_broken", "ends in the middle"},
		"never ends a line":            {"head -c 17000000 /dev/zero | tr '\\0' x; cat", "model_broken", "more than 16 MiB"},
		"has a fault":                  {`echo '{"fail":{"status":529}}'; cat`, "model_failed", "status 529"},
		"expects":                      {`echo '{"expect":{"tool":"bash"}}'; cat`, CodeExpect, "expected bash, found no call of it"},
		"complains at length":          {`i=0; while [ $i -lt 500 ]; do echo "line $i of many" >&2; i=$((i+1)); done; exit 1`, "model_ended", "line 498 of many; line 499 of many"},
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t, c.command)
			began := time.Now()
			got, err := turn(t, m)
			if e := fail.As(err); err == nil || e.Code != c.code || !strings.Contains(e.Msg, c.want) || strings.Contains(e.Msg, "\n") || len(e.Msg) > 3000 {
				t.Errorf("%+v, %v, want %s", got, err, c.want)
			}
			if c.code == "model_ended" {
				if _, again := turn(t, m); fail.As(again).Code != "model_ended" {
					t.Errorf("asked again: %v", again)
				}
			}
			m.Close()
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// A line that is too long does not break the ones behind it.
func TestExecGoesOnAfterALongLine(t *testing.T) {
	m := start(t, `head -c 17000000 /dev/zero | tr '\0' x; echo; echo; echo '{"say":"sorry"}'; cat >/dev/null`)
	if _, err := turn(t, m); fail.As(err).Code != "model_broken" {
		t.Errorf("first: %v", err)
	}
	if got, err := turn(t, m); err != nil || got.Say != "sorry" {
		t.Errorf("second: %+v, %v", got, err)
	}
}

// A program that never reads answers all the same, and one that never answers is
// left when the run ends.
func TestExecNeverReads(t *testing.T) {
	m := start(t, `echo '{"say":"x"}'; echo '{"say":"y"}'; exec sleep 100`)
	r := &Request{Messages: []Message{{Role: "user", Content: strings.Repeat("x", 4<<20)}}}
	for _, want := range []string{"x", "y"} {
		if got, err := m.Turn(context.Background(), r); err != nil || got.Say != want {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := m.Turn(ctx, r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	began := time.Now()
	if err := m.Close(); err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("closing took %v: %v", time.Since(began), err)
	}
}

// It has time to end by itself.
func TestExecEndsByItself(t *testing.T) {
	m := start(t, `while read -r l; do echo '{"say":"x"}'; done; echo bye >bye`)
	if _, err := turn(t, m); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(m.cmd.Dir, "bye")); string(b) != "bye\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// Whatever it leaves behind is ended with it.
func TestExecLeavesNothing(t *testing.T) {
	for name, command := range map[string]string{
		"a child":       `sleep 100 & echo $! >>pids`,
		"a deaf child":  `sh -c 'trap "" TERM; echo $$ >>pids; while :; do sleep 1; done' & until [ -s pids ]; do :; done`,
		"another group": `bash -c 'set -m; sleep 100 & echo $! >>pids'`,
		"a daemon":      `(setsid sh -c 'echo $$ >>pids; exec sleep 100' & ); until [ -s pids ]; do :; done`,
		"itself":        `:`,
	} {
		for _, ending := range []string{"", "exit"} {
			t.Run(name+" "+ending, func(t *testing.T) {
				m := start(t, `echo $$ >pid0; `+command+`; echo '{"say":"x"}'; `+ending+"\nread l; read l")
				if _, err := turn(t, m); err != nil {
					t.Fatal(err)
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
				var pids []string
				for _, f := range []string{"pid0", "pids"} {
					b, _ := os.ReadFile(filepath.Join(m.cmd.Dir, f))
					pids = append(pids, strings.Fields(string(b))...)
				}
				if want := 2; len(pids) != want && name != "itself" {
					t.Fatalf("it started %v", pids)
				}
				for _, f := range pids {
					pid, _ := strconv.Atoi(f)
					if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
						t.Errorf("process %d survived: %v", pid, err)
						syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			})
		}
	}
}
