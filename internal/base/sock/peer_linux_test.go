package sock

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestAsClient is no test but a client in a process of its own: it connects, hands
// the connection to a child, and ends; the child speaks.
func TestAsClient(t *testing.T) {
	switch flag.Arg(0) {
	case "connect":
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: flag.Arg(1), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.File()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestAsClient$", "speak")
		cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = os.Stdout, os.Stderr, []*os.File{f}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	case "speak":
		const inherited = 3
		c, err := net.FileConn(os.NewFile(inherited, "connection"))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(c)
		lines.Scan()
		var h Hello
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
			t.Fatal(err)
		}
		nonce, _ := hex.DecodeString(h.Nonce)
		fmt.Fprintf(c, `{"type":"auth","v":1,"key":"host","mac":"%s"}`+"\n"+`{"id":1,"verb":"gone"}`+"\n", mac(keys["host"], nonce))
		lines.Scan()
		fmt.Println(lines.Text())
	}
}

// living tells of the peer; gone waits for its end.
func living(_ context.Context, r *Request, _ func(any) error) (any, error) {
	for end := time.Now().Add(soon); r.Verb == "gone" && r.Alive() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return map[string]any{"alive": r.Alive(), "pid": r.Peer.PID, "exe": r.Peer.Exe}, nil
}

func TestPeer(t *testing.T) {
	path, _ := serve(t, &Server{Handle: living})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := friend(t, path, "host")
	for range 2 {
		p.say(`{"id":1,"verb":"now"}`)
		if got, want := p.line(), fmt.Sprintf(`{"id":1,"result":{"alive":true,"exe":%q,"pid":%d}}`, self, os.Getpid()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Who connected has ended; whoever holds the connection now is somebody else.
func TestPeerThatEnded(t *testing.T) {
	path, _ := serve(t, &Server{Handle: living})
	out, err := exec.Command("/proc/self/exe", "-test.run=^TestAsClient$", "connect", path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `{"id":1,"result":{"alive":false,`) {
		t.Errorf("got %s, %v", out, err)
	}
}

// A server doesn't keep the pidfds of clients that have gone.
func TestNothingIsKept(t *testing.T) {
	path, ended := serve(t, &Server{Handle: living, Idle: 50 * time.Millisecond})
	for range 20 {
		p := friend(t, path, "host")
		p.say(`{"id":1,"verb":"now"}`)
		p.line()
		p.Close()
	}
	ended <- <-ended
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.Contains(to, "pidfd") {
			info, _ := os.ReadFile("/proc/self/fdinfo/" + fd.Name())
			if strings.Contains(string(info), fmt.Sprintf("Pid:\t%d\n", os.Getpid())) {
				t.Errorf("descriptor %s is %s of this process", fd.Name(), to)
			}
		}
	}
}
