package approval

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/jcs"
	"github.com/kxtools/kx/pkg/wire"
)

// A request that was changed by hand can't be allowed: what a person was shown
// is not what would run. It can be denied.
func TestPendingEdited(t *testing.T) {
	d := newDesk(t)
	for field, edit := range map[string][2]string{
		"input": {`"command":"ls"`, `"command":"rm"`}, "cwd": {`"cwd":"/w"`, `"cwd":"/"`}, "session": {`"session":"s"`, `"session":"x"`},
		"caller": {`"caller":"cli"`, `"caller":"you"`}, "tool": {`"tool":"bash"`, `"tool":"read_file"`}, "call": {`"caller":"cli"`, `"caller":"cli","call_id":"x"`},
		"hash": {`"action_hash":"`, `"action_hash":"0`},
	} {
		a := d.ask("ls", "")
		d.edit("pending", a.ID, edit[0], edit[1])
		_, err := d.Decide(a.ID, Answer{Allow: true, Scope: Once}, wire.Decider{})
		if refuses(t, err, "hash_mismatch", 7); t.Failed() {
			t.Fatal(field)
		}
		if got := d.decide(a.ID, wire.ApprovalDenied); got.State != wire.ApprovalDenied {
			t.Errorf("%s: %+v", field, got)
		}
		d.at = d.at.Add(DenialHolds + 1)
	}
}

// Only an answer file answers, whatever the request says of itself.
func TestPendingClaims(t *testing.T) {
	d := newDesk(t)
	a := d.ask("ls", "t1")
	d.edit("pending", a.ID, `"state":"pending"`, `"state":"allowed","decided_at":"2026-03-01T12:00:00Z","decided_by":{"kind":"human"},"scope":"always","note":"n","input_edited":true,"spend_by":"2036-03-01T12:00:00Z"`)
	got, err := d.Get(a.ID)
	if err != nil || got.State != wire.ApprovalPending || got.DecidedAt != nil || got.DecidedBy != nil || got.Scope != "" || got.Note != "" || got.InputEdited || got.SpendBy != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if got := d.decide(a.ID, wire.ApprovalDenied); got.Scope != "" || got.SpendBy != nil || got.InputEdited {
		t.Errorf("%+v", got)
	}
	// Without its expiry it is no call of a run: the answer is still for 300 s.
	b := d.ask("pwd", "")
	d.edit("pending", b.ID, `"expires_at":`, `"expired_at":`)
	if got := d.decide(b.ID, wire.ApprovalAllowed); got.SpendBy == nil || !got.SpendBy.Equal(start.Add(SpendWithin)) {
		t.Errorf("%+v", got)
	}
}

// An answer that kx did not write is none.
func TestForged(t *testing.T) {
	allowed := func(d *desk) *wire.Approval { a := d.ask("ls", ""); d.decide(a.ID, wire.ApprovalAllowed); return a }
	denied := func(d *desk) *wire.Approval { a := d.ask("ls", ""); d.decide(a.ID, wire.ApprovalDenied); return a }
	put := func(d *desk, id string, v any) {
		raw, _ := json.Marshal(v)
		if err := os.MkdirAll(strings.TrimSuffix(d.path("decided", ""), "/.json"), 0o700); err != nil {
			d.Fatal(err)
		}
		if err := os.WriteFile(d.path("decided", id), raw, 0o600); err != nil {
			d.Fatal(err)
		}
	}
	for name, forge := range map[string]func(d *desk) *wire.Approval{
		"state": func(d *desk) *wire.Approval {
			a := denied(d)
			d.edit("decided", a.ID, `"state":"denied"`, `"state":"allowed"`)
			return a
		},
		"input": func(d *desk) *wire.Approval {
			a := allowed(d)
			d.edit("decided", a.ID, `"command":"ls"`, `"command":"rm"`)
			return a
		},
		"longer": func(d *desk) *wire.Approval {
			a := allowed(d)
			d.edit("decided", a.ID, `"spend_by":"2026`, `"spend_by":"2036`)
			return a
		},
		"by whom": func(d *desk) *wire.Approval {
			a := allowed(d)
			d.edit("decided", a.ID, `"pid":7`, `"pid":8`)
			return a
		},
		"no mac": func(d *desk) *wire.Approval {
			a := allowed(d)
			d.edit("decided", a.ID, `"mac":`, `"mic":`)
			return a
		},
		"written by hand": func(d *desk) *wire.Approval {
			a := d.ask("ls", "")
			b := *a
			b.State = wire.ApprovalAllowed
			put(d, a.ID, record{Approval: b, MAC: strings.Repeat("0", 64)})
			return a
		},
		"mac of something else": func(d *desk) *wire.Approval { // the key signs more than answers
			a := d.ask("ls", "")
			b := *a
			b.State = wire.ApprovalAllowed
			key, err := d.st.ApproverKey()
			if err != nil {
				d.Fatal(err)
			}
			raw, _ := jcs.Encode(b)
			h := hmac.New(sha256.New, key)
			h.Write(raw)
			put(d, a.ID, record{b, hex.EncodeToString(h.Sum(nil))})
			return a
		},
		"answer of another request": func(d *desk) *wire.Approval {
			a := allowed(d)
			b := d.ask("pwd", "")
			data, _ := os.ReadFile(d.path("decided", a.ID))
			os.WriteFile(d.path("decided", b.ID), data, 0o600)
			return b
		},
		"other request of the answer": func(d *desk) *wire.Approval {
			a := allowed(d)
			d.edit("pending", a.ID, `"action_hash":"`, `"action_hash":"0`)
			return a
		},
		"garbage": func(d *desk) *wire.Approval { a := d.ask("ls", ""); put(d, a.ID, "x"); return a },
		"another key": func(d *desk) *wire.Approval {
			a := allowed(d)
			os.Remove(d.st.Dir() + "/approver.key")
			return a
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			a := forge(d)
			if got, err := d.Get(a.ID); err == nil || got != nil {
				t.Errorf("it is %+v", got)
			}
			if found, free, err := d.Find(a.ActionHash); found != nil || free == "" || free == a.ID || err != nil {
				t.Errorf("found %+v, free %q, %v", found, free, err)
			}
			list, bad := d.List("")
			if len(bad) != 1 || !strings.Contains(bad[0].Error(), a.ID) {
				t.Errorf("list %+v, %v", list, bad)
			}
		})
	}
}

// Whoever removes a request does not bring its answer back to life.
func TestRequestRemoved(t *testing.T) {
	d := newDesk(t)
	a := d.ask("ls", "t1")
	d.decide(a.ID, wire.ApprovalAllowed)
	if err := os.Remove(d.path("pending", a.ID)); err != nil {
		t.Fatal(err)
	}
	b := d.ask("ls", "t1")
	if b.ID == a.ID || b.State != wire.ApprovalPending {
		t.Errorf("%+v", b)
	}
	d.state(b, wire.ApprovalPending, true)
}

// One file that can't be read hides no other.
func TestCorrupt(t *testing.T) {
	d := newDesk(t)
	a := d.ask("a", "")
	d.at = d.at.Add(time.Second)
	b := d.ask("b", "")
	pending := strings.TrimSuffix(d.path("pending", ""), "/.json")
	for name, content := range map[string]string{
		"aaaa.json": "", "bbbb.json": "{", "cccc.json": `{"type":"approval","id":"dddd"}`, "eeee.json": `{"type":"x","id":"eeee"}`,
		"ffff.json": `{"type":"approval","v":2,"id":"ffff"}`, ".gggg.json": "", "hhhh": "x",
	} {
		if err := os.WriteFile(pending+"/"+name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(pending+"/jjjj.json", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"", wire.ApprovalPending} {
		list, bad := d.List(state)
		if len(list) != 2 || list[0].ID != a.ID || list[1].ID != b.ID || len(bad) != 6 {
			t.Errorf("%+v, %v", list, bad)
		}
	}
	_, err := d.Get("aaaa")
	refuses(t, err, "damaged_request", 1)
	_, err = d.Get("ffff")
	refuses(t, err, "usage", 2)
	d.ask("c", "")

	// One whose own file is damaged is asked for anew.
	os.WriteFile(d.path("pending", a.ID), []byte("{"), 0o600)
	c := d.ask("a", "")
	if c.ID == a.ID {
		t.Error("a damaged file was taken")
	}
	d.state(c, wire.ApprovalPending, true)
}

// What is read from a file never panics, is of the id it stands for, and is an
// answer only if it is sealed.
func FuzzRecord(f *testing.F) {
	d := newDesk(f)
	a := d.ask("ls", "")
	d.decide(a.ID, wire.ApprovalAllowed)
	for _, kind := range []string{"pending", "decided"} {
		data, err := os.ReadFile(d.path(kind, a.ID))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, seed := range []string{``, `null`, `{}`, `{"type":"approval","id":"` + a.ID + `"}`, `{"type":"approval","id":"` + a.ID + `","input":1e999,"mac":1}`,
		`{"type":"approval","id":"` + a.ID + `","STATE":"allowed","expires_at":"2026-13-01"}`} {
		f.Add([]byte(seed))
	}
	b := newDesk(f)
	want := b.ask("ls", "")
	b.decide(want.ID, wire.ApprovalAllowed) // makes the key and the folders
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, ok := parse(data, a.ID); ok && (r.ID != a.ID || r.Type != "approval") {
			t.Errorf("%q is %+v", data, r)
		}
		for _, kind := range []string{"decided", "pending"} {
			if err := os.WriteFile(b.path(kind, a.ID), data, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := b.Get(a.ID); err == nil && got.State != wire.ApprovalPending && got.State != wire.ApprovalExpired {
				t.Errorf("%s %q is %+v", kind, data, got)
			}
			b.List("")
			b.Find(a.ActionHash)
			os.Remove(b.path("decided", a.ID))
		}
		b.Decide(a.ID, Answer{Allow: true, Scope: Once}, wire.Decider{})
		os.Remove(b.path("decided", a.ID))
	})
}

func BenchmarkParkAndFind(b *testing.B) {
	d := newDesk(b)
	for i := range 1000 {
		a := wire.Approval{Kind: "call", Tool: "bash", Input: json.RawMessage(`{"command":"ls"}`), Session: "s", CallID: "c", Caller: time.Duration(i).String()}
		a.Session = []string{"s1", "s2"}[i%2] + time.Duration(i/50).String()
		var err error
		if a.ActionHash, err = ActionHash(&a); err != nil {
			b.Fatal(err)
		}
		if _, err := d.Park(a, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("Find", func(b *testing.B) {
		for b.Loop() {
			d.Find("none")
		}
	})
	n := 0
	b.Run("Park", func(b *testing.B) {
		for b.Loop() {
			n++
			a := d.ask(time.Duration(n).String(), "")
			os.Remove(d.path("pending", a.ID))
		}
	})
	b.Run("List", func(b *testing.B) {
		for b.Loop() {
			d.List(wire.ApprovalPending)
		}
	})
}
