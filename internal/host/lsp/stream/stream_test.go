package stream

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

const patience = time.Minute

// pipes is a stream with the server's ends of its pipes, and what breaks it.
func pipes(t *testing.T, stuck time.Duration) (s *Stream, theirIn, theirOut *os.File, broke chan error) {
	t.Helper()
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	broke = make(chan error, 10)
	s = New(in, out, stuck, func(err error) { broke <- err })
	t.Cleanup(func() {
		s.Close()
		for _, f := range []*os.File{theirIn, theirOut, out} {
			f.Close()
		}
	})
	return s, theirIn, theirOut, broke
}

func message(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

func TestReadMessage(t *testing.T) {
	for _, c := range []struct{ in, want, err string }{
		{message(`{}`), `{}`, ""},
		{"content-length:2\n\n{}", `{}`, ""},
		{"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}", `{}`, ""},
		{message(``), ``, ""},
		{"", "", "EOF"},
		{"Content-Length: 9", "", "printed what is no message of a language server: Content-Length: 9"},
		{"Content-Length: 9\r\n\r\n{}", "", "broke off in a message, after 2 of 9 bytes"},
		{"Content-Length: -1\r\n\r\n", "", "no message"},
		{"Content-Length: 67108865\r\n\r\n", "", "announced a message of 67108865 bytes, more than 64 MiB"},
		{"Content-Length: 99999999999999999999\r\n\r\n", "", "no message"},
		{"Content-Type: x\r\n\r\n{}", "", "sent a message without its length"},
		{"\r\n\r\n", "", "no message"},
		{"hello\x1b[31m \u202e\xff\nworld\n", "", `printed what is no message of a language server: hello\x1b[31m \u202e` + "\uFFFD" + `\nworld`},
		{"X-Custom: 1\r\nContent-Length: 2\r\n\r\n{}", "", "no message of a language server: X-Custom: 1"},
		{strings.Repeat("x", 1<<20), "", strings.Repeat("x", maxGarbage)},
		{strings.Repeat("Content-Type: x\r\n", 100), "", "no message"},
	} {
		got, err := readMessage(bufio.NewReaderSize(strings.NewReader(c.in), chunk))
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || string(got) != c.want {
			t.Errorf("%.80q: %q, %v", c.in, got, err)
		}
		if err != nil && len(err.Error()) > 2*maxGarbage {
			t.Errorf("%.80q: an error of %d bytes", c.in, len(err.Error()))
		}
	}
}

// Odd messages are set right, or passed over; they don't end the conversation.
func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"a":1},"extra":2}`: `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`,
		`{"id":1}`:                            `{"jsonrpc":"2.0","id":1,"result":null}`,
		`{"id":1,"result":null,"error":null}`: `{"jsonrpc":"2.0","id":1,"result":null}`,
		`{"id":1,"result":1,"error":{"code":-32801,"message":"m","data":[1]}}`: `{"jsonrpc":"2.0","id":1,"error":{"code":-32801,"data":[1],"message":"m"}}`,
		`{"id":1,"error":"no"}`:                 `{"jsonrpc":"2.0","id":1,"error":{"code":0,"data":null,"message":"\"no\""}}`,
		`{"id":1,"error":{"code":1.5}}`:         `{"jsonrpc":"2.0","id":1,"error":{"code":1,"data":null,"message":""}}`,
		`{"method":"m","params":null}`:          `{"jsonrpc":"2.0","method":"m"}`,
		`{"method":"m","id":null,"params":[1]}`: `{"jsonrpc":"2.0","method":"m","params":[1]}`,
		`{"method":"m","id":"a"}`:               `{"jsonrpc":"2.0","method":"m","id":"a"}`,
		`{"method":"m","id":-1}`:                `{"jsonrpc":"2.0","method":"m","id":"\u0000-1"}`,
		`{"method":"m","id":{"a":1}}`:           `{"jsonrpc":"2.0","method":"m","id":"\u0000{\"a\":1}"}`,
		`{"method":"m","id":1,"result":1}`:      `{"jsonrpc":"2.0","method":"m","id":1}`,
		`{"id":-1,"result":1}`:                  "", `{"id":null,"error":{"code":1}}`: "", `{"id":1.5}`: "", `{}`: "", `[]`: "", `7`: "", `null`: "", `{"method":7}`: "",
	} {
		if got, err := plain([]byte(in)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	for _, in := range []string{``, `{`, "{\"a\":\"\x1b[1m", `{}{}`} {
		if _, err := plain([]byte(in)); err == nil || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestAnswerTo(t *testing.T) {
	for _, id := range []string{`1`, `"1"`, `-1`, `1.5`, `{"a":1}`, `true`} {
		var got jsonrpc2.ID
		if err := json.Unmarshal(askedID(json.RawMessage(id)), &got); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if a, err := AnswerTo(got); err != nil || string(a.ID) != id {
			t.Errorf("%s: %s, %v", id, a.ID, err)
		}
	}
}

func TestReadObject(t *testing.T) {
	s, _, theirOut, broke := pipes(t, patience)
	go func() {
		io.WriteString(theirOut, message(`{"odd":1}`)+message(`{"method":"m","params":{"a":1}}`)+"garbage\n")
		theirOut.Close()
	}()
	var req jsonrpc2.Request
	if err := s.ReadObject(&req); err != nil || req.Method != "m" {
		t.Errorf("%+v, %v", req, err)
	}
	if err := s.ReadObject(&req); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	<-s.Ended()
	if err := <-broke; !strings.Contains(err.Error(), "garbage") {
		t.Errorf("%v", err)
	}
}

// Messages are written in order, and whole.
func TestWrite(t *testing.T) {
	s, theirIn, _, _ := pipes(t, patience)
	const count = 100
	go func() {
		for i := range count {
			s.WriteObject([]any{i, strings.Repeat("x", i*1000)})
		}
	}()
	r := bufio.NewReader(theirIn)
	for i := range count {
		body, err := readMessage(r)
		var got []any
		if err == nil {
			err = json.Unmarshal(body, &got)
		}
		if err != nil || got[0] != float64(i) || len(got[1].(string)) != i*1000 {
			t.Fatalf("message %d: %.80s, %v", i, body, err)
		}
	}
	s.Close()
	if _, err := readMessage(r); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	if err := s.WriteObject(1); err == nil {
		t.Error("it writes after its end")
	}
}

// Who writes more than is read is held back, and goes on when there is room.
func TestFull(t *testing.T) {
	s, theirIn, _, _ := pipes(t, patience)
	part := strings.Repeat("x", maxQueue/2)
	for range 2 {
		if err := s.WriteObject(part); err != nil {
			t.Fatal(err)
		}
	}
	full := s.Full()
	if full == nil {
		t.Fatal("there is room")
	}
	go io.Copy(io.Discard, theirIn)
	select {
	case <-full:
	case <-time.After(patience):
		t.Fatal("there is never room")
	}
	for deadline := time.Now().Add(patience); s.Full() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it stays full")
		}
	}
}

// Answers are not held back; one that asks and doesn't read ends the conversation.
func TestTooManyAnswers(t *testing.T) {
	s, _, _, broke := pipes(t, patience)
	part := strings.Repeat("x", maxQueue/4)
	var err error
	for range 8 {
		if err = s.WriteObject(part); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains((<-broke).Error(), "asks and reads no answers") {
		t.Errorf("%v", err)
	}
}

func TestStuck(t *testing.T) {
	s, _, _, broke := pipes(t, 50*time.Millisecond)
	if err := s.WriteObject(strings.Repeat("x", 1<<20)); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-broke:
		if err.Error() != "has read nothing for 50ms" {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("nobody notices")
	}
}

func FuzzReadMessage(f *testing.F) {
	f.Add([]byte(message(`{"id":1,"result":null}`)))
	f.Add([]byte(message(`{"id":-1,"method":"m"}`) + message(`[]`)))
	f.Add([]byte(message(`{"id":-0}`) + message(`{"id":18446744073709551615,"method":"m"}`)))
	f.Add([]byte("Content-Length: 5\n\n\x1b{}"))
	f.Add([]byte("garbage\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bufio.NewReader(strings.NewReader(string(in)))
		for {
			body, err := readMessage(r)
			if err == nil {
				body, err = plain(body)
			}
			if err != nil {
				if strings.ContainsAny(err.Error(), "\x1b\n\u202e") {
					t.Errorf("%q", err)
				}
				return
			}
			if body == nil {
				continue
			}
			var m struct {
				Method *string
			}
			if err := json.Unmarshal(body, &m); err != nil {
				t.Fatalf("%q: %v", body, err)
			}
			if m.Method != nil {
				var req jsonrpc2.Request
				err = json.Unmarshal(body, &req)
			} else {
				var res jsonrpc2.Response
				err = json.Unmarshal(body, &res)
			}
			if err != nil {
				t.Fatalf("jsonrpc2 can't read %q: %v", body, err)
			}
		}
	})
}
