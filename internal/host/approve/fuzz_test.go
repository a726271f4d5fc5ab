package approve

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/kxtools/kx/pkg/wire"
)

// FuzzHostKey sends whatever to a host with the host key: every answer is a record,
// and nothing is ever decided.
func FuzzHostKey(f *testing.F) {
	h := newHouse(f)
	a := h.park(1, nil)
	key, err := h.st.HostKey()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		`{"id":1,"verb":"list"}` + "\n", `{"id":1,"verb":"show","args":{"id":"` + a.ID + `"}}` + "\n", `{"id":1,"verb":"allow","args":{"id":"` + a.ID + `"}}` + "\n",
		`{"id":1,"verb":"deny","args":{"id":"` + a.ID[:2] + `","note":"x"}}` + "\n", `{"id":1,"verb":"watch"}` + "\n" + `{"id":2,"verb":"wait","args":{"id":"` + a.ID + `"}}` + "\n",
		`{"id":1,"verb":"allow","key":"approver","Key":"approver","args":{"id":"` + a.ID + `"}}` + "\n", "\x00\n{}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: h.socket, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(soon))
		lines := bufio.NewScanner(conn)
		lines.Scan()
		var hello struct{ Nonce string }
		json.Unmarshal(lines.Bytes(), &hello)
		nonce, _ := hex.DecodeString(hello.Nonce)
		mac := hmac.New(sha256.New, key)
		mac.Write(nonce)
		fmt.Fprintf(conn, `{"type":"auth","v":1,"key":"host","mac":"%x"}`+"\n%s\n", mac.Sum(nil), data)
		conn.CloseWrite()
		for lines.Scan() {
			if !json.Valid(lines.Bytes()) {
				t.Fatalf("%q is answered with %q", data, lines.Bytes())
			}
		}
		if got, err := h.store.Get(a.ID); err != nil || got.State != wire.ApprovalPending {
			t.Fatalf("%q: the request is %+v, %v", data, got, err)
		}
	})
}
