package approve_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"strings"

	"github.com/kxtools/kx/pkg/approve"
)

// request is what a client asks.
type request struct {
	ID   int64
	Verb string
	Args struct{ ID, Note string }
}

// fakeHost is an approval host for examples and tests: say answers a request with
// any number of lines, where %d stands for its id; "end" is the end of the host.
type fakeHost struct {
	hello string // instead of the real one
	say   func(r request) []string
}

// options connect a client to the host, without a socket.
func (h fakeHost) options() approve.Options {
	return approve.Options{
		Socket: "approve.sock", KeyName: "approver", Key: []byte("a secret"),
		Dial: func(context.Context, string) (net.Conn, error) {
			client, server := net.Pipe()
			go h.serve(server)
			return client, nil
		},
	}
}

func (h fakeHost) serve(conn net.Conn) {
	defer conn.Close()
	const nonce = "000102030405060708090a0b0c0d0e0f"
	if h.hello == "" {
		h.hello = `{"type":"hello","v":1,"name":"approve","version":"1.2.3","nonce":"` + nonce + `"}`
	}
	fmt.Fprintln(conn, h.hello)
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 2<<20)
	if !lines.Scan() {
		return
	}
	mac := hmac.New(sha256.New, []byte("a secret"))
	raw, _ := hex.DecodeString(nonce)
	mac.Write(raw)
	if want := fmt.Sprintf(`{"key":"approver","mac":"%x","type":"auth","v":1}`, mac.Sum(nil)); lines.Text() != want {
		fmt.Fprintln(conn, `{"id":0,"error":{"code":"bad_key","exit":3,"message":"that key does not open this socket"}}`)
		return
	}
	for lines.Scan() {
		var r request
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			return
		}
		for _, line := range h.say(r) {
			if line == "end" {
				return
			}
			fmt.Fprintln(conn, strings.ReplaceAll(line, "%d", fmt.Sprint(r.ID)))
		}
	}
}

// pending is a line with a request that waits.
func pending(id, tool, input string) string {
	return `{"id":%d,"result":{"type":"approval","v":1,"id":"` + id + `","kind":"call","tool":"` + tool + `","input":` + input + `,"session":"a3fk","caller":"agent","state":"pending"}}`
}
