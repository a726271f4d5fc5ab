package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// install puts the programs in one folder, so that kx finds kxd beside itself. It
// lies beside the home, since programs behind walls see another /tmp.
func (s *siege) install(kx string) {
	s.Helper()
	if err := os.Mkdir(s.bin, 0o755); err != nil {
		s.Fatal(err)
	}
	for _, name := range []string{"kx", "kxd", "rogue", "without"} {
		if err := os.Link(kx, filepath.Join(s.bin, name)); err != nil {
			s.Fatal(err)
		}
	}
}

// secret notes down what nobody may read; a file with it is made if there is text.
func (s *siege) secret(name, path, text string) {
	s.Helper()
	if text == "" {
		b, err := os.ReadFile(path)
		if err != nil {
			s.Fatal(err)
		}
		s.secrets[name] = strings.TrimSpace(string(b))
		return
	}
	s.secrets[name] = text
	s.write(path, text+"\n", 0o600)
}

func (s *siege) write(path, text string, mode fs.FileMode) {
	s.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// furnish makes a home with what is worth an attack.
func (s *siege) furnish() {
	s.Helper()
	s.write(s.config+"/policy.toml", "# "+s.canary("rules")+"\n"+s.policy, 0o600)
	s.write(s.config+"/config.toml", "", 0o600)
	s.secret("ssh key", s.home+"/.ssh/id_ed25519", s.canary("ssh key"))
	s.secret("file in /tmp", s.tmp, s.canary("file in /tmp"))
	for name, text := range map[string]string{
		".bashrc": "true\n", "notes": "Dear diary\n", ".cache/go-build/object": "compiled\n", "bin/tool": "#!/bin/sh\n", "fixed/link": "there before\n",
		"ws/.mcp.json": "{}\n", "ws/.claude/settings.json": "{}\n", "ws/README.md": "Hello\n", "ws/linked/settings.json": "{}\n",
	} {
		s.write(filepath.Join(s.home, name), text, 0o600)
	}
	git := "cd $HOME/ws && git init -q -b main . && git config user.name a && git config user.email a@b && git commit -q --allow-empty -m x && git worktree add -q ../tree && echo true > .git/hooks/post-commit"
	for _, d := range []string{s.run, s.run + "/systemd", s.home + "/.docker/run"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			s.Fatal(err)
		}
	}
	if err := errors.Join(os.Link(s.home+"/fixed/link", s.ws+"/hard"), os.Symlink("linked", s.ws+"/.gemini")); err != nil {
		s.Fatal(err)
	}
	s.own()
	cmd := s.command("sh", "-c", git)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("git: %v %s", err, out)
	}
}

// canary is a text that is in no other place.
func (s *siege) canary(name string) string {
	text := "canary-" + rand.Text()
	s.secrets[name] = text
	return text
}

// own gives everything to the user of this machine.
func (s *siege) own() {
	s.Helper()
	if s.uid == os.Getuid() {
		return
	}
	give := func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, s.uid, s.uid)
		}
		return err
	}
	for _, root := range []string{s.home, s.run, s.tmp} {
		if err := filepath.WalkDir(root, give); err != nil {
			s.Fatal(err)
		}
	}
}

// command is a program of the person's.
func (s *siege) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	if !strings.Contains(name, "/") {
		if _, err := os.Stat(filepath.Join(s.bin, name)); err == nil {
			cmd = exec.Command(filepath.Join(s.bin, name), args...)
		}
	}
	cmd.Dir, cmd.Env = s.ws, s.env
	if s.uid != os.Getuid() && name != "without" {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.uid)}}
	}
	return cmd
}

// person is a line that the person types, which has to succeed.
func (s *siege) person(args ...string) string {
	s.Helper()
	var errs bytes.Buffer
	cmd := s.command("kx", args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		s.Fatalf("kx %s: %v\n%s%s", strings.Join(args, " "), err, out, &errs)
	}
	return string(out)
}

// listen makes sockets such as those of programs that do something for others.
func (s *siege) listen() {
	s.Helper()
	names := map[string]string{
		"bus of the session": s.run + "/bus", "service manager": s.run + "/systemd/private", "docker": s.home + "/.docker/run/docker.sock",
		"socket in the home": s.home + "/some.sock", "socket in /tmp": s.tmp + ".sock", "abstract socket": "@" + filepath.Base(s.dir), "local port": "127.0.0.1:0",
	}
	if s.uid == 0 {
		names["socket in /run"] = "/run/" + filepath.Base(s.dir) + ".sock"
	}
	for what, addr := range names {
		l := s.listener(what, addr)
		if _, port, ok := strings.Cut(l.Addr().String(), "127.0.0.1:"); ok {
			s.port = port
		}
	}
}

func (s *siege) listener(what, addr string) net.Listener {
	s.Helper()
	network := "unix"
	if strings.HasPrefix(addr, "127.") {
		network = "tcp"
	}
	l, err := net.Listen(network, addr)
	if err != nil {
		s.Fatal(err)
	}
	if strings.HasPrefix(addr, "/") {
		_ = os.Chmod(addr, 0o777)
	}
	s.Cleanup(func() { l.Close() })
	s.listeners[what] = l.(syscall.Conn)
	return l
}

// terminal gives the person a terminal.
func (s *siege) terminal() {
	s.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		s.Fatal(err)
	}
	s.screen = fd
	s.Cleanup(func() { unix.Close(fd) })
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	s.tty = "/dev/pts/" + strconv.Itoa(n)
	if err == nil {
		err = os.Chown(s.tty, s.uid, -1)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// multiplexer starts a server of terminals.
func (s *siege) multiplexer() {
	s.Helper()
	if out, err := s.command("tmux", "-f", "/dev/null", "-S", s.tmp+".tmux", "new-session", "-d", "cat").CombinedOutput(); err != nil {
		s.Fatalf("tmux: %v %s", err, out)
	}
	s.Cleanup(func() {
		_ = s.command("tmux", "-S", s.tmp+".tmux", "kill-server").Run()
		os.Remove(s.tmp + ".tmux")
	})
}

// victim starts a process of the person's.
func (s *siege) victim() {
	s.Helper()
	text := s.canary("environment of a process")
	s.outside = s.command("rogue", "victim", s.home)
	s.outside.Dir, s.outside.Env = s.home, append(slices.Clone(s.env), "SECRET="+text)
	in, err := s.outside.StdinPipe()
	if err != nil {
		s.Fatal(err)
	}
	out, err := s.outside.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := s.outside.Start(); err != nil {
		s.Fatal(err)
	}
	ended := s.outside
	s.Cleanup(func() { in.Close(); ended.Process.Kill(); ended.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.Fatal(err)
	}
	s.memory = strings.TrimSpace(line)
}
