package main

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/internal/record/state"
	"github.com/kxtools/kx/pkg/wire"
)

// rogue is a program of an agent's that does what a shell can't. It says OPEN where
// it got through.
func rogue() {
	verb := rogues[os.Args[1]]
	said, err := verb(os.Args[2:])
	if err != nil {
		fmt.Println(os.Args[1]+":", err)
		os.Exit(1)
	}
	fmt.Println("OPEN", said)
}

var rogues = map[string]func(args []string) (string, error){
	// connect ADDR [TEXT] talks to a socket, of the network or of this machine.
	"connect": func(args []string) (string, error) {
		network := "unix"
		if strings.Contains(args[0], ":") {
			network = "tcp"
		}
		c, err := net.DialTimeout(network, args[0], time.Second)
		if err != nil {
			return "", err
		}
		defer c.Close()
		_, err = io.WriteString(c, strings.Join(args[1:], " ")+"\n")
		return "", err
	},
	// allow STATE ID proves the approver key and allows a request, as a client of
	// its own.
	"allow": func(args []string) (string, error) {
		key, err := keyIn(args[0])
		if err != nil {
			return "", err
		}
		lock, err := os.ReadFile(filepath.Join(args[0], "approvals/host.lock"))
		if err != nil {
			return "", err
		}
		_, path, _ := strings.Cut(strings.TrimSpace(string(lock)), " ")
		c, err := net.DialTimeout("unix", path, time.Second)
		if err != nil {
			return "", err
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		r := bufio.NewReader(c)
		hello, err := r.ReadBytes('\n')
		if err != nil {
			return "", err
		}
		var greeting struct{ Nonce string }
		if err := json.Unmarshal(hello, &greeting); err != nil {
			return "", err
		}
		nonce, err := hex.DecodeString(greeting.Nonce)
		if err != nil {
			return "", err
		}
		mac := hmac.New(sha256.New, key)
		mac.Write(nonce)
		fmt.Fprintf(c, `{"type":"auth","v":1,"key":"approver","mac":"%x"}`+"\n"+`{"id":1,"verb":"allow","args":{"id":%q}}`+"\n", mac.Sum(nil), args[1])
		answer, err := r.ReadString('\n')
		if err == nil && !strings.Contains(answer, `"state":"allowed"`) {
			err = errors.New(answer)
		}
		return answer, err
	},
	// forge STATE ID writes the answer itself, with its seal.
	"forge": func(args []string) (string, error) {
		st, err := state.Open(args[0])
		if err != nil {
			return "", err
		}
		a, err := approval.New(st, time.Now).Decide(args[1], approval.Answer{Allow: true, Scope: approval.Once}, wire.Decider{Kind: "human"})
		if err != nil {
			return "", err
		}
		return a.State, nil
	},
	// attach PID stops a process as a debugger does.
	"attach": func(args []string) (string, error) {
		pid, _ := strconv.Atoi(args[0])
		runtime.LockOSThread()
		if err := unix.PtraceAttach(pid); err != nil {
			return "", err
		}
		_, _ = unix.Wait4(pid, nil, 0, nil)
		return "", unix.PtraceDetach(pid)
	},
	// peek PID prints what a process has on its stack: its arguments and variables.
	"peek": func(args []string) (string, error) {
		pid, _ := strconv.Atoi(args[0])
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			return "", err
		}
		m := regexp.MustCompile(`(?m)^([0-9a-f]+)-([0-9a-f]+) .*\[stack\]$`).FindSubmatch(maps)
		if m == nil {
			return "", errors.New("no stack")
		}
		from, _ := strconv.ParseUint(string(m[1]), 16, 64)
		to, _ := strconv.ParseUint(string(m[2]), 16, 64)
		buf := make([]byte, to-from)
		n, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &buf[0], Len: to - from}}, []unix.RemoteIovec{{Base: uintptr(from), Len: int(to - from)}}, 0)
		if err != nil {
			return "", err
		}
		return string(bytes.ReplaceAll(buf[:n], []byte{0}, nil)), nil
	},
	// tty PATH writes on a terminal, and into its keyboard if it can.
	"tty": func(args []string) (string, error) {
		f, err := os.OpenFile(args[0], os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, _ = unix.Setsid()
		_ = unix.IoctlSetInt(int(f.Fd()), unix.TIOCSCTTY, 0)
		for _, b := range []byte("y\n") {
			_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCSTI, int(b))
		}
		_, err = f.WriteString("Allowed.\r\n")
		return "", err
	},
	// shm ID reads shared memory.
	"shm": func(args []string) (string, error) {
		id, _ := strconv.Atoi(args[0])
		b, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
		if err != nil {
			return "", err
		}
		return string(bytes.TrimRight(b, "\x00")), nil
	},
	// keys takes the keyring of the user by its number and reads what is in it.
	"keys": func([]string) (string, error) {
		list, err := os.ReadFile("/proc/keys")
		if err != nil {
			return "", err
		}
		var said []string
		for _, m := range regexp.MustCompile(`(?m)^([0-9a-f]+) .* keyring +_uid\.`).FindAllSubmatch(list, -1) {
			ring, _ := strconv.ParseInt(string(m[1]), 16, 32)
			if _, err := unix.KeyctlInt(unix.KEYCTL_LINK, int(ring), unix.KEY_SPEC_SESSION_KEYRING, 0, 0); err != nil {
				said = append(said, err.Error())
				continue
			}
			members := make([]byte, 4096)
			n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, int(ring), members, 0)
			if err != nil {
				said = append(said, err.Error())
			}
			for i := 0; i+4 <= min(n, len(members)); i += 4 {
				id := int(members[i]) | int(members[i+1])<<8 | int(members[i+2])<<16 | int(members[i+3])<<24
				value := make([]byte, 4096)
				if n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, value, 0); err == nil {
					return string(value[:min(n, len(value))]), nil
				}
			}
		}
		return "", fmt.Errorf("no key: %v", said)
	},
	// xattr PATH marks a file.
	"xattr": func(args []string) (string, error) {
		if err := unix.Setxattr(args[0], "user.kx", []byte("x"), 0); err != nil {
			return "", err
		}
		return "", unix.Removexattr(args[0], "user.kx")
	},
	// victim is a process of the person's: it keeps a secret in its environment, in
	// the keyring of the user, in shared memory and in a file that has no name. It
	// says the number of the memory, and ends with its input.
	"victim": func(args []string) (string, error) {
		secret := os.Getenv("SECRET")
		if key, err := unix.AddKey("user", "kx-test", []byte(secret), unix.KEY_SPEC_USER_KEYRING); err == nil {
			_, _ = unix.KeyctlInt(unix.KEYCTL_SET_TIMEOUT, key, 120, 0, 0)
		}
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err != nil {
			return "", err
		}
		defer unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		m, err := unix.SysvShmAttach(id, 0, 0)
		if err != nil {
			return "", err
		}
		copy(m, secret)
		f, err := os.Create(filepath.Join(args[0], "unnamed"))
		if err == nil {
			err = errors.Join(os.Remove(f.Name()), unix.Dup3(int(f.Fd()), 9, 0))
		}
		if err != nil {
			return "", err
		}
		defer f.Close()
		fmt.Fprint(f, secret)
		fmt.Println(id)
		_, _ = io.Copy(io.Discard, os.Stdin)
		return "", nil
	},
}

func keyIn(dir string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, "approver.key"))
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(strings.TrimSpace(string(text)))
}
