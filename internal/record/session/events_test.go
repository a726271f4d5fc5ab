package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx/fsxtest"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// read returns the events of a session and the messages of its errors.
func read(t *testing.T, s *Store, id string) (data []string, told []string) {
	t.Helper()
	for e, err := range s.Events(id) {
		if err != nil {
			told = append(told, fail.As(err).Msg)
			continue
		}
		data = append(data, fmt.Sprintf("%d %s", e.Seq, e.Data))
	}
	return data, told
}

func TestEventsComeBack(t *testing.T) {
	s := openNew(t)
	create(t, s, "a3fk", Running)
	w, err := s.OpenWriter("a3fk")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	long := strings.Repeat("é\n<&>\u2028", 10_000)
	ref := map[string]any{"blob": strings.Repeat("ab", 32), "bytes": 5}
	datas := []any{
		map[string]any{"text": "short & <sweet>"},
		map[string]any{"output": map[string]any{"text": long, "list": []any{"a", long, 1}}, "big": json.Number("12345678901234567890")},
		strings.Repeat("x", maxInline), strings.Repeat("x", maxInline+1),
		ref,
		map[string]any{"deep": []any{ref, map[string]any{"blob": "x", "bytes": 1, "json": true}}},
		map[string]any{"blob": 5, "bytes": "n"}, map[string]any{"blob": "x"}, map[string]any{"blob": "x", "bytes": 1, "other": 2},
		json.RawMessage(`{"\u0062lob":"` + strings.Repeat("cd", 32) + `","byt\u0065s":3}`),
		nil, 1.5, true, "",
	}
	for i, d := range datas {
		e, err := w.Append("tool_result", d)
		if err != nil || e.Seq != int64(i+1) || w.Seq() != e.Seq {
			t.Fatalf("event %d: %+v, %v", i, e, err)
		}
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	i := 0
	for e, err := range s.Events("a3fk") {
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := json.Marshal(datas[i])
		var want, got any
		json.Unmarshal(raw, &want)
		json.Unmarshal(e.Data, &got)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("event %d: got %.200s, want %.200s", i, e.Data, raw)
		}
		if e.Type != "event" || e.V != 1 || e.Session != "a3fk" || e.Event != "tool_result" || e.At.IsZero() {
			t.Errorf("event %d: %+v", i, e)
		}
		i++
	}
	if i != len(datas) {
		t.Errorf("%d events, want %d", i, len(datas))
	}
	data, _ := os.ReadFile(filepath.Join(s.dir("a3fk"), eventsFile))
	for n, line := range strings.Split(string(data), "\n") {
		if len(line) > maxInline+300 {
			t.Errorf("line %d has %d bytes", n+1, len(line))
		}
	}
	if !strings.Contains(string(data), `"big":12345678901234567890`) {
		t.Error("a large number lost digits")
	}
	blobs, _ := os.ReadDir(filepath.Join(s.dir("a3fk"), blobFolder))
	if len(blobs) != 5 { // long, x..., and three values that look like references
		t.Errorf("%d blobs", len(blobs))
	}
}

func TestDamageIsTold(t *testing.T) {
	s := openNew(t)
	create(t, s, "a3fk", Running)
	line := func(seq int, data string) string {
		return fmt.Sprintf(`{"type":"event","v":1,"seq":%d,"at":"2026-03-01T00:00:00Z","session":"a3fk","event":"text","data":%s}`, seq, data)
	}
	sum := strings.Repeat("00", 32)
	os.WriteFile(filepath.Join(s.dir("a3fk"), eventsFile), []byte(strings.Join([]string{
		line(1, `"one"`), "{stub" + line(2, `"two"`), line(3, `"three"`), line(3, `"again"`), "\x00\x00", "{}",
		line(4, `{"blob":"`+sum+`","bytes":1}`), line(5, `{"blob":"../../x","bytes":1}`), line(6, `"six"`), `{"type":"event","v":1,"seq":7`,
	}, "\n")), 0o600)
	data, told := read(t, s, "a3fk")
	if fmt.Sprint(data) != `[1 "one" 3 "three" 6 "six"]` {
		t.Errorf("read %v", data)
	}
	want := []string{"jsonl:2: the line is damaged", "jsonl:4: after seq 3 comes 3", "jsonl:5: the line is damaged", "jsonl:6: the line is damaged",
		"jsonl:7: a part of session a3fk is missing", "jsonl:8: \"../../x\" is not the name"}
	if len(told) != len(want) {
		t.Fatalf("told %q", told)
	}
	for i := range want {
		if !strings.Contains(told[i], want[i]) {
			t.Errorf("told %q, want %q", told[i], want[i])
		}
	}

	// The next writer moves the torn end aside and counts on.
	w, err := s.OpenWriter("a3fk")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if e, err := w.Append("text", "seven"); err != nil || e.Seq != 7 {
		t.Errorf("%+v, %v", e, err)
	}
	torn, _ := os.ReadFile(filepath.Join(s.dir("a3fk"), "events.torn"))
	if string(torn) != `{"type":"event","v":1,"seq":7`+"\n" {
		t.Errorf("torn %q", torn)
	}
	if data, _ := read(t, s, "a3fk"); data[len(data)-1] != `7 "seven"` {
		t.Errorf("read %v", data)
	}
}

func TestSeqAfterADamagedEnd(t *testing.T) {
	s := openNew(t)
	create(t, s, "a3fk", Running)
	w, _ := s.OpenWriter("a3fk")
	w.Append("text", "one")
	w.Close()
	f, _ := os.OpenFile(filepath.Join(s.dir("a3fk"), eventsFile), os.O_APPEND|os.O_WRONLY, 0)
	f.WriteString("\x00\x00\x00\n")
	f.Close()
	w, err := s.OpenWriter("a3fk")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if e, err := w.Append("text", "two"); err != nil || e.Seq != 2 {
		t.Errorf("%+v, %v", e, err)
	}
}

// A child runs the session, is killed, and the next one goes on.
func TestKillWhileRunning(t *testing.T) {
	if dir, ok := fsxtest.Child(); ok {
		s := openIn(t, dir)
		w, err := s.OpenWriter("a3fk")
		if err != nil {
			t.Fatal(err)
		}
		for n := w.Seq() + 1; ; n++ {
			if _, err := w.Append("text", strings.Repeat(strconv.FormatInt(n, 10), int(n%4*12_000+1))); err != nil {
				t.Fatal(err)
			}
			if n%3 == 0 {
				w.Sync()
			}
			fsxtest.Say(strconv.FormatInt(n, 10))
		}
	}
	dir := filepath.Join(t.TempDir(), "kx")
	s := openIn(t, dir)
	create(t, s, "a3fk", Running)
	acknowledged := int64(0)
	for round := range 25 {
		said := fsxtest.KillAfter(t, dir, 1+round*7%13)
		acknowledged, _ = strconv.ParseInt(said[len(said)-1], 10, 64)
		if s.Running("a3fk") {
			t.Fatal("the lock outlives its holder")
		}
	}
	n := int64(0)
	for e, err := range s.Events("a3fk") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; e.Seq != n || len(e.Data) != len(strconv.FormatInt(n, 10))*int(n%4*12_000+1)+2 {
			t.Fatalf("event %d has seq %d and %d bytes", n, e.Seq, len(e.Data))
		}
	}
	if n < acknowledged {
		t.Errorf("%d events, %d acknowledged", n, acknowledged)
	}
}

func TestSharedBetweenProcesses(t *testing.T) {
	const each = 100
	if dir, ok := fsxtest.Child(); ok {
		s := openIn(t, dir)
		for range each {
			id, err := s.EnsureWorkspace("/w")
			if err == nil {
				_, err = s.AppendShared(id, "tool_call", os.Getpid(), false)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	dir := filepath.Join(t.TempDir(), "kx")
	fsxtest.Together(t, dir, 3)
	data, told := read(t, openIn(t, dir), WorkspaceID("/w"))
	if len(data) != 3*each || len(told) > 0 || !strings.HasPrefix(data[3*each-1], strconv.Itoa(3*each)+" ") {
		t.Errorf("%d events, told %v", len(data), told)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"type":"event","v":1,"seq":1,"at":"2026-03-01T00:00:00Z","session":"a","event":"text","data":{"text":"x"}}` + "\n"))
	f.Add([]byte(`{"type":"event","v":1,"seq":1,"event":"text","data":{"blob":"` + strings.Repeat("0", 64) + `","bytes":1}}` + "\n{}\n\x00\n[\n"))
	f.Add([]byte(`{"type":"event","seq":9223372036854775807,"data":{"blob":"../x","bytes":1e3,"json":true}}` + "\n"))
	f.Add([]byte(`{"type":"event","seq":-1}` + "\n" + `{"type":"event","seq":2,"data":[[[{"\u0062lob":"","bytes":0}]]]}` + "\nx"))
	st, err := state.Open(filepath.Join(f.TempDir(), "kx"))
	if err != nil {
		f.Fatal(err)
	}
	s := New(st, time.Now)
	if _, err := s.Create(Meta{Session: wire.Session{ID: "a", State: Failed}}); err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(s.dir("a"), eventsFile)
	f.Fuzz(func(t *testing.T, log []byte) {
		os.WriteFile(path, log, 0o600)
		last, n, bad := int64(0), 0, 0
		for e, err := range s.Events("a") {
			if n++; err != nil {
				bad++
				continue
			}
			if e.Seq <= last || e.Data != nil && !json.Valid(e.Data) {
				t.Fatalf("seq %d after %d, data %q", e.Seq, last, e.Data)
			}
			last = e.Seq
		}
		if whole := strings.Count(string(log), "\n"); n != whole {
			t.Fatalf("%d lines were told of %d", n, whole)
		}
		if last == 1<<63-1 {
			return
		}
		// Whatever the file is, the next event is kept and found.
		w, err := s.OpenWriter("a")
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		e, err := w.Append("text", "next")
		if err != nil || e.Seq <= 0 {
			t.Fatalf("%+v, %v", e, err)
		}
	})
}
