package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx/fsxtest"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// clock is a clock that a test sets.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func openNew(t *testing.T) (*Log, *clock) {
	t.Helper()
	return openIn(t, filepath.Join(t.TempDir(), "kx"))
}

func openIn(t *testing.T, dir string) (*Log, *clock) {
	t.Helper()
	st, err := state.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)}
	return New(st, c.now), c
}

func outcome(id string) Outcome {
	return Outcome{Type: TypeOutcome, V: 1, CallID: id, Status: wire.StatusOK, Bytes: 3, DurationMS: 7}
}

func appendN(t *testing.T, l *Log, n int) {
	t.Helper()
	for range n {
		if _, err := l.Append(outcome("c"), false); err != nil {
			t.Fatal(err)
		}
	}
}

func verify(t *testing.T, l *Log, lines int64) Report {
	t.Helper()
	r, err := l.Verify()
	if err != nil || r.Lines != lines {
		t.Fatalf("%d lines, %v, want %d", r.Lines, err, lines)
	}
	return r
}

func TestLines(t *testing.T) {
	l, c := openNew(t)
	uid := 1000
	for i, doc := range []any{
		Decision{Type: TypeDecision, V: 1, CallID: "c1", Session: "a3fk", Caller: "agent", Workspace: "/w", Cwd: "/w",
			Decision: wire.Decision{Type: "decision", V: 1, ID: "c1", Tool: "bash", Loaded: true, Decision: wire.Allow, Extra: wire.Extra{"x": json.RawMessage("1")}},
			Input:    json.RawMessage(`{"command":"a && b <c>"}`), DecidedBy: wire.Decider{Kind: "human", UID: &uid}},
		outcome("c1"),
		Approval{Type: TypeApproval, V: 1, ID: "7k2q", State: wire.ApprovalAllowed},
		PolicyChange{Type: TypePolicyChange, V: 1, Action: "add", Scope: "user"},
		TrustChange{Type: TypeTrustChange, V: 1, Action: "add", Workspace: "/w"},
		SessionStop{Type: TypeSessionStop, V: 1, Session: "a3fk"},
	} {
		c.Time = c.Add(time.Second)
		seq, err := l.Append(doc, i == 0)
		if err != nil || seq != int64(i+1) {
			t.Fatalf("line %d: seq %d, %v", i, seq, err)
		}
	}
	data, _ := os.ReadFile(filepath.Join(l.dir(), "2026-03-01.jsonl"))
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for i, begin := range []string{
		`{"type":"audit","seq":1,"at":"2026-03-01T10:00:01Z","v":1,"call_id":"c1","session":"a3fk","caller":"agent","workspace":"/w","cwd":"/w",`,
		`{"type":"outcome","seq":2,"at":"2026-03-01T10:00:02Z","v":1,"call_id":"c1","status":"ok","bytes":3,"duration_ms":7,"prev":"`,
		`{"type":"approval","seq":3,`, `{"type":"policy_change","seq":4,`, `{"type":"trust_change","seq":5,`, `{"type":"session_stop","seq":6,`,
	} {
		if !strings.HasPrefix(lines[i], begin) || !regexp.MustCompile(`,"prev":"[0-9a-f]{64}"}$`).MatchString(lines[i]) {
			t.Errorf("line %d is %s", i+1, lines[i])
		}
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
		t.Fatal(err)
	}
	for k, want := range map[string]any{"tool": "bash", "decision": "allow", "id": "c1", "type": "audit", "losing_rules": nil, "rule": nil} {
		if v, ok := got[k]; !ok || v != want {
			t.Errorf("%s is %v", k, got[k])
		}
	}
	if !strings.Contains(lines[0], `"command":"a && b <c>"`) {
		t.Errorf("the input is escaped: %s", lines[0])
	}
	verify(t, l, 6)
	h, err := l.Head()
	if err != nil || h.Seq != 6 || h.SHA256 != digest([]byte(lines[5])) {
		t.Errorf("head %+v, %v", h, err)
	}
	if fi, _ := os.Stat(filepath.Join(l.dir(), "2026-03-01.jsonl")); fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", fi.Mode().Perm())
	}
}

func TestAppendRefusesOtherShapes(t *testing.T) {
	l, _ := openNew(t)
	for _, doc := range []any{
		map[string]any{"a": 1, "type": "x"}, map[string]any{}, []int{1}, "x", nil, make(chan int),
		map[string]any{"type": 1}, map[string]any{"type": ""},
		outcomeAt(Place{Seq: 4}), outcomeAt(Place{Prev: "x"}), outcomeAt(Place{At: time.Now()}),
	} {
		if _, err := l.Append(doc, false); err == nil {
			t.Errorf("%v is accepted", doc)
		}
	}
	verify(t, l, 0)
}

func outcomeAt(p Place) Outcome { o := outcome("c"); o.Place = p; return o }

func TestNothingYet(t *testing.T) {
	st, err := state.Peek(filepath.Join(t.TempDir(), "none"))
	if err != nil {
		t.Fatal(err)
	}
	l := New(st, time.Now)
	verify(t, l, 0)
	if h, err := l.Head(); err != nil || h.Seq != 0 || h.SHA256 != genesis {
		t.Errorf("head %+v, %v", h, err)
	}
	for e, err := range l.List(Filter{}) {
		t.Errorf("there is %v, %v", e, err)
	}
	if _, err := os.Stat(st.Dir()); err == nil {
		t.Error("reading made the directory")
	}
}

func TestDays(t *testing.T) {
	l, c := openNew(t)
	appendN(t, l, 2)
	c.Time = c.AddDate(0, 0, 3)
	appendN(t, l, 1)
	c.Time = c.AddDate(0, 0, -10) // the clock goes back
	appendN(t, l, 2)
	c.Time = c.AddDate(0, 1, 0)
	appendN(t, l, 1)
	if r := verify(t, l, 6); r.Days != 3 {
		t.Errorf("%d days", r.Days)
	}
	files, _ := days(l.dir())
	if fmt.Sprint(files) != "[2026-03-01.jsonl 2026-03-04.jsonl 2026-03-22.jsonl]" {
		t.Errorf("files %v", files)
	}
}

// Whatever happened to the head, the next line follows the last one.
func TestHeadIsMended(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, l *Log, c *clock){
		"lost": func(t *testing.T, l *Log, _ *clock) { os.Remove(filepath.Join(l.dir(), headFile)) },
		"torn": func(t *testing.T, l *Log, _ *clock) { os.Truncate(filepath.Join(l.dir(), headFile), 20) },
		"empty": func(t *testing.T, l *Log, _ *clock) {
			os.Truncate(filepath.Join(l.dir(), headFile), 0)
		},
		"behind": func(t *testing.T, l *Log, _ *clock) {
			old, _ := os.ReadFile(filepath.Join(l.dir(), headFile))
			appendN(t, l, 2)
			os.WriteFile(filepath.Join(l.dir(), headFile), old, 0o600)
		},
		"behind by a day": func(t *testing.T, l *Log, c *clock) {
			old, _ := os.ReadFile(filepath.Join(l.dir(), headFile))
			c.Time = c.AddDate(0, 0, 1)
			appendN(t, l, 2)
			c.Time = c.AddDate(0, 0, 1)
			os.WriteFile(filepath.Join(l.dir(), headFile), old, 0o600)
		},
		"of a new day that has no file": func(t *testing.T, l *Log, c *clock) {
			h := readHead(l.dir())
			c.Time = c.AddDate(0, 0, 1)
			h.File, h.Size = c.Format(day)+suffix, 0
			h.write(l.dir())
		},
		"lost before the first line of a new day": func(t *testing.T, l *Log, c *clock) {
			c.Time = c.AddDate(0, 0, 1)
			os.WriteFile(filepath.Join(l.dir(), c.Format(day)+suffix), nil, 0o600)
			os.Remove(filepath.Join(l.dir(), headFile))
		},
		"leads elsewhere": func(t *testing.T, l *Log, _ *clock) {
			os.WriteFile(filepath.Join(l.dir(), headFile), []byte(`{"seq":9,"sha256":"`+genesis+`","file":"../../x.jsonl","size":0}`), 0o600)
		},
		"torn tail": func(t *testing.T, l *Log, _ *clock) {
			f, _ := os.OpenFile(filepath.Join(l.dir(), "2026-03-01.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
			f.WriteString(`{"type":"outcome","seq":4,`)
			f.Close()
			if r, err := l.Verify(); err != nil || !r.Torn || r.Lines != 3 {
				t.Errorf("a torn tail: %+v, %v", r, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, c := openNew(t)
			appendN(t, l, 3)
			harm(t, l, c)
			before, err := l.Verify()
			if err != nil {
				t.Fatal(err)
			}
			appendN(t, l, 2)
			verify(t, l, before.Lines+2)
		})
	}
}

func TestVerifyFindsChanges(t *testing.T) {
	edit := func(change func(lines []string) []string) func(string) {
		return func(path string) {
			data, _ := os.ReadFile(path)
			lines := change(strings.SplitAfter(string(data), "\n"))
			os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600)
		}
	}
	for _, tc := range []struct {
		name, want string
		harm       func(first string)
	}{
		{"edited line", "2026-03-01.jsonl:3: seq 2 was changed", edit(func(l []string) []string {
			l[1] = strings.Replace(l[1], `"ok"`, `"no"`, 1)
			return l
		})},
		{"edited last line of a day", "2026-03-02.jsonl:1: seq 4 was changed", edit(func(l []string) []string {
			l[3] = strings.Replace(l[3], `"ok"`, `"no"`, 1)
			return l
		})},
		{"removed line", "2026-03-01.jsonl:2: lines are missing: after seq 1 comes 3", edit(func(l []string) []string {
			return append(l[:1], l[2:]...)
		})},
		{"removed first line", "2026-03-01.jsonl:1: lines are missing: after seq 0 comes 2", edit(func(l []string) []string { return l[1:] })},
		{"swapped lines", "2026-03-01.jsonl:2: lines are missing", edit(func(l []string) []string {
			l[1], l[2] = l[2], l[1]
			return l
		})},
		{"doubled line", "2026-03-01.jsonl:3: the order is broken", edit(func(l []string) []string {
			return append(l[:2], append([]string{l[1]}, l[2:]...)...)
		})},
		{"damaged line", "2026-03-01.jsonl:2: the line is damaged", edit(func(l []string) []string {
			l[1] = "\x00\x00\n"
			return l
		})},
		{"torn middle", "2026-03-01.jsonl:4: the last line of the day is torn", edit(func(l []string) []string {
			l[3] = l[3][:30]
			return l
		})},
		{"missing day", "2026-03-02.jsonl:1: lines are missing: after seq 0 comes 5", func(p string) { os.Remove(p) }},
		{"cut end", "audit/head: it knows of 6 lines, the files end at 5", func(p string) {
			edit(func(l []string) []string { return l[:1] })(strings.Replace(p, "-01.", "-02.", 1))
		}},
		{"edited end", "audit/head: it has another digest of line 6", func(p string) {
			edit(func(l []string) []string { l[1] = strings.Replace(l[1], `"ok"`, `"no"`, 1); return l })(strings.Replace(p, "-01.", "-02.", 1))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, c := openNew(t)
			appendN(t, l, 4)
			c.Time = c.AddDate(0, 0, 1)
			appendN(t, l, 2)
			tc.harm(filepath.Join(l.dir(), "2026-03-01.jsonl"))
			for range 2 {
				_, err := l.Verify()
				if e := fail.As(err); e == nil || e.Exit != fail.ExitFailed || e.Code != "broken_chain" || !strings.Contains(e.Msg, tc.want) || e.Hint == "" {
					t.Errorf("got %+v, want %q", e, tc.want)
				}
				// A new line must not hide what happened.
				appendN(t, l, 1)
				if strings.HasPrefix(tc.want, "audit/head") {
					if _, err := l.Verify(); fail.As(err) == nil || fail.As(err).Code != "broken_chain" {
						t.Errorf("hidden by the next line: %v", err)
					}
					break
				}
			}
		})
	}
}

func TestList(t *testing.T) {
	l, c := openNew(t)
	add := func(doc any) {
		t.Helper()
		if _, err := l.Append(doc, false); err != nil {
			t.Fatal(err)
		}
		c.Time = c.Add(12 * time.Hour)
	}
	decision := func(id, session, tool string, v wire.Verdict, by string) Decision {
		return Decision{Type: TypeDecision, CallID: id, Session: session, Decision: wire.Decision{Tool: tool, Decision: v}, DecidedBy: wire.Decider{Kind: by}}
	}
	add(decision("c1", "s1", "bash", wire.Ask, "rule"))
	add(decision("c2", "s1", "write_file", wire.Deny, "human"))
	add(outcome("c2"))
	add(Approval{Type: TypeApproval, ID: "7k2q", Session: "s1", Tool: "bash", DecidedBy: &wire.Decider{Kind: "human"}})
	add(decision("c3", "s2", "write_memo", wire.Allow, "human"))
	for _, tc := range []struct {
		name string
		f    Filter
		want string
	}{
		{"all", Filter{}, "[1 2 3 4 5]"},
		{"session", Filter{Session: "s1"}, "[1 2 4]"},
		{"tool", Filter{Tool: "bash"}, "[1 4]"},
		{"tools", Filter{Tool: "write_*"}, "[2 5]"},
		{"decision", Filter{Decision: "deny"}, "[2]"},
		{"decided by", Filter{DecidedBy: "human"}, "[2 5]"},
		{"both", Filter{DecidedBy: "human", Session: "s2"}, "[5]"},
		{"since", Filter{Since: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)}, "[3 4 5]"},
		{"until", Filter{Until: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)}, "[1 2]"},
	} {
		var got []int64
		for e, err := range l.List(tc.f) {
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(e.Raw) || e.Source == "" {
				t.Errorf("%s: raw %s, source %q", tc.name, e.Raw, e.Source)
			}
			got = append(got, e.Seq)
		}
		if fmt.Sprint(got) != tc.want {
			t.Errorf("%s: got %v, want %s", tc.name, got, tc.want)
		}
	}

	// Damage in the middle is told, the rest is read; a torn end is not told.
	path := filepath.Join(l.dir(), "2026-03-02.jsonl")
	data, _ := os.ReadFile(path)
	os.WriteFile(path, append([]byte("{broken\n"), data...), 0o600)
	f, _ := os.OpenFile(filepath.Join(l.dir(), "2026-03-03.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	f.WriteString(`{"type":"au`)
	f.Close()
	seen, told := 0, []string{}
	for e, err := range l.List(Filter{}) {
		if err != nil {
			told = append(told, e.Source+" "+fail.As(err).Code)
			continue
		}
		seen++
	}
	if seen != 5 || fmt.Sprint(told) != "[2026-03-02.jsonl:1 damaged_line]" {
		t.Errorf("%d seen, told %v", seen, told)
	}
}

func TestBlob(t *testing.T) {
	l, _ := openNew(t)
	sum, err := l.Blob([]byte("hello"))
	if err != nil || sum != digest([]byte("hello")) {
		t.Fatalf("%s, %v", sum, err)
	}
	path := filepath.Join(l.dir(), "blobs", sum)
	if fi, _ := os.Stat(path); fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", fi.Mode().Perm())
	}
	before, _ := os.Stat(path)
	l.Blob([]byte("hello"))
	if after, _ := os.Stat(path); !os.SameFile(before, after) {
		t.Error("written twice")
	}
	if got, err := l.ReadBlob(sum); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	os.WriteFile(path, []byte("jello"), 0o600)
	for bad, exit := range map[string]int{sum: 1, digest(nil): fail.ExitNotFound, "../head": fail.ExitUsage, "": fail.ExitUsage} {
		if _, err := l.ReadBlob(bad); fail.Exit(err) != exit {
			t.Errorf("%q: %v", bad, err)
		}
	}
	os.WriteFile(path, nil, 0o600) // emptied: stored anew
	l.Blob([]byte("hello"))
	if got, err := l.ReadBlob(sum); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

// A child appends and says each seq; it is killed; the chain holds and the next
// child goes on.
func TestKillWhileAppending(t *testing.T) {
	if dir, ok := fsxtest.Child(); ok {
		l, _ := openIn(t, dir)
		for i := 0; ; i++ {
			o := outcome(strings.Repeat("c", 1+i%5*30_000))
			seq, err := l.Append(o, i%2 == 0)
			if err != nil {
				t.Fatal(err)
			}
			fsxtest.Say(strconv.FormatInt(seq, 10))
		}
	}
	dir := filepath.Join(t.TempDir(), "kx")
	l, _ := openIn(t, dir)
	for round := range 25 {
		said := fsxtest.KillAfter(t, dir, 1+round*5%12)
		acknowledged, _ := strconv.ParseInt(said[len(said)-1], 10, 64)
		r, err := l.Verify()
		if err != nil || r.Lines < acknowledged {
			t.Fatalf("round %d: %d lines, %d acknowledged: %v", round, r.Lines, acknowledged, err)
		}
	}
	r, _ := l.Verify()
	appendN(t, l, 1)
	verify(t, l, r.Lines+1)
}

func TestFourProcesses(t *testing.T) {
	const each = 200
	if dir, ok := fsxtest.Child(); ok {
		l, _ := openIn(t, dir)
		appendN(t, l, each)
		return
	}
	dir := filepath.Join(t.TempDir(), "kx")
	fsxtest.Together(t, dir, 4)
	l, _ := openIn(t, dir)
	verify(t, l, 4*each)
}

func TestVerifyIsFast(t *testing.T) {
	const n = 100_000
	l, c := openNew(t)
	dir, _ := l.st.Sub(folder)
	body, _ := wire.Marshal(Decision{Type: TypeDecision, V: 1, CallID: "c", Workspace: "/home/you/src/clock", Cwd: "/home/you/src/clock",
		Decision: wire.Decision{Tool: "bash", Decision: wire.Allow}, Input: json.RawMessage(`{"command":"go test ./..."}`)})
	var all bytes.Buffer
	prev := genesis
	for i := range int64(n) {
		line, err := place(body, Place{Seq: i + 1, At: c.Time, Prev: prev})
		if err != nil {
			t.Fatal(err)
		}
		all.Write(append(line, '\n'))
		prev = digest(line)
	}
	os.WriteFile(filepath.Join(dir, "2026-03-01.jsonl"), all.Bytes(), 0o600)
	start := time.Now()
	verify(t, l, n)
	took := time.Since(start)
	t.Logf("%d lines, %d MB in %v", n, all.Len()>>20, took)
	if took > 10*time.Second { // 2 s on a quiet machine; five times that on a busy one
		t.Errorf("%d lines took %v", n, took)
	}
	appendN(t, l, 1)
	verify(t, l, n+1)
}

func TestErrorsAreOfTheCaller(t *testing.T) {
	l, _ := openNew(t)
	appendN(t, l, 1)
	path := filepath.Join(l.dir(), "2026-03-01.jsonl")
	os.Remove(path)
	os.Mkdir(path, 0o700)
	_, err := l.Append(outcome("c"), true)
	var e *fail.Error
	if !errors.As(err, &e) || e.Hint == "" {
		t.Errorf("got %v", err)
	}
}
