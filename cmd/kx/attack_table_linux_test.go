package main

import (
	"net"
	"os"
	"time"
)

// attempt is what an agent tries, as a command of bash, and why it gets through
// where it does: behind full walls, behind Landlock alone, without walls, and where
// a rule of the user's lets the command run on the host. "" is closed.
//
// In the command ASK stands for "kx approve" with the person's runtime directory,
// KEY for the approver key, and {word} for a place or a number outside, see settle.
// OPEN in what it says is success; what it reads and changes is seen from outside.
type attempt struct {
	name, do                   string
	full, landlock, none, host string
	read                       string // a path that kx's own file tool is asked for then
	depends                    bool   // whether it is open depends on the machine as well
	during                     func(*siege) func()
}

// Why something is open.
const (
	rights    = "the command has all rights of the user"
	files     = "the command can write the files of kx"
	above     = "the command can end the kx above it, and nobody knows any more from whom it descends"
	sockets   = "Landlock below ABI 9 lets programs connect to sockets that have a path"
	late      = "a socket that is made while the command runs is not masked"
	network   = "the profile has the network, and so what listens on this machine"
	marks     = "Landlock does not guard modes, times and attributes of files"
	terminals = "Landlock opens /dev/pts, and the terminals of a person are there as well"
	ipc       = "Landlock does not guard shared memory"
	inside    = "Landlock can't keep a part of what is writable"
	hardLink  = "a hard link in the workspace is a file of the workspace"
	leaves    = "what the command leaves in the workspace is for a person to look at before it is run"
)

var attempts = []attempt{
	// The verbs that are for people. Their refusal holds on the host as well.
	{name: "allow", do: "ASK allow {id}; ASK allow {id} KEY"},
	{name: "deny", do: "ASK deny {id}; ASK deny {id} KEY"},
	{name: "answer", do: "ASK answer {id} --option 1; ASK answer {id} --option 1 KEY"},
	{name: "allow all", do: "ASK allow-all KEY; for s in $(ls {state}/sessions); do ASK allow-all --session $s KEY; done"},
	{name: "deny all", do: "ASK deny-all KEY; for s in $(ls {state}/sessions); do ASK deny-all --session $s KEY; done"},
	{name: "allow for ever", do: "ASK allow {id} --scope always KEY"},
	{name: "trust add", do: "kx trust add; kx trust add KEY; kx trust add --level code KEY"},
	{name: "trust rm", do: "kx trust rm; kx trust rm KEY"},
	{name: "confirmation typed ahead", do: "printf 'y\\ny\\n' | ASK allow {id}; printf 'y\\n' | XDG_RUNTIME_DIR={run} setsid -w kx approve allow {id}"},
	{name: "cleared environment", do: "env -i HOME={home} PATH=$PATH XDG_RUNTIME_DIR={run} kx approve allow {id} KEY"},
	{name: "session of its own", do: "XDG_RUNTIME_DIR={run} setsid -w kx approve allow {id} KEY"},
	{name: "orphan", do: "( setsid env XDG_RUNTIME_DIR={run} kx approve allow {id} KEY > out 2>&1; echo end >> out ) & disown; for i in $(seq 200); do grep -qs end out && break; sleep 0.01; done; cat out"},
	{name: "double fork", do: "( ( env XDG_RUNTIME_DIR={run} kx approve allow {id} KEY > out 2>&1; echo end >> out ) & ); for i in $(seq 200); do grep -qs end out && break; sleep 0.01; done; cat out"},
	{name: "terminal of its own", do: "printf 'y\\ny\\n' | timeout 5 script -qec 'XDG_RUNTIME_DIR={run} kx approve allow {id}' /dev/null; printf 'y\\ny\\n' | timeout 5 script -qec 'XDG_RUNTIME_DIR={run} kx approve allow {id} KEY' /dev/null"},
	{name: "copy of kx", do: "mkdir d; cp {bin}/kx d/kx; XDG_RUNTIME_DIR={run} d/kx approve allow {id} KEY"},
	{name: "another name of kx", do: "(exec -a kxd {bin}/kx approve allow {id} KEY); XDG_RUNTIME_DIR={run} exec -a kx {bin}/kx approve allow {id} KEY"},
	{name: "client of its own", do: "rogue allow {state} {id}"},
	{name: "client of its own, orphaned", do: "( setsid rogue allow {state} {id} > out 2>&1; echo end >> out ) & disown; for i in $(seq 200); do grep -qs end out && break; sleep 0.01; done; cat out"},
	{name: "made-up key", do: "head -c 32 /dev/zero | od -An -tx1 | tr -d ' \\n' > k; chmod 600 k; ASK allow {id} --key k"},
	{name: "state of its own", do: "export KX_STATE_DIR=$PWD/s KX_CONFIG_DIR=$PWD/c KX_RUNTIME_DIR={run}/kx; kx config path approver-key; kx approve allow {id} --key s/approver.key"},
	{name: "state and keys of its own", do: "mkdir -p s/approvals; cp -r {state}/approvals s/; export KX_STATE_DIR=$PWD/s KX_CONFIG_DIR=$PWD/c KX_RUNTIME_DIR=$PWD/r; kx config path approver-key; kx approve allow {id} --key s/approver.key; cp s/approver.key k; rogue allow s {id}"},
	{name: "home of its own", do: "export HOME=$PWD/h XDG_STATE_HOME=$PWD/h/s XDG_CONFIG_HOME=$PWD/h/c XDG_RUNTIME_DIR={run}; mkdir h; kx config path approver-key; kx approve allow {id} --key h/s/kx/approver.key"},
	{name: "kxd of its own", do: "printf '#!/bin/sh\\necho OPEN\\n' > kxd; chmod +x kxd; KX_KXD=$PWD/kxd XDG_RUNTIME_DIR={run} kx approve wait {id} --timeout 10ms"},
	{name: "namespaces of its own", do: "XDG_RUNTIME_DIR={run} unshare -Urmpf --mount-proc kx approve allow {id} KEY; XDG_RUNTIME_DIR={run} unshare -U kx approve allow {id} KEY"},
	{name: "wait for the next request", do: "( setsid bash -c 'while sleep 0.05; do ASK allow {id} KEY; done' > /dev/null 2>&1 & ) ; true"},

	// The files of kx.
	{name: "forged answer", do: "rogue forge {state} {id}", none: rights, host: files},
	{name: "answer without a seal", do: "mkdir -p {state}/approvals/decided; sed 's/\"pending\"/\"allowed\"/' {state}/approvals/pending/{id}.json > {state}/approvals/decided/{id}.json", none: rights, host: files},
	{name: "approver key", do: "cat {state}/approver.key {state}/host.key", none: rights, host: rights},
	{name: "rules read", do: "cat {config}/policy.toml", none: rights, host: rights},
	{name: "rules written", do: "printf '[[rule]]\\ntool = \"*\"\\ndecision = \"allow\"\\n' >> {config}/policy.toml", none: rights, host: files},
	{name: "configuration replaced", do: "echo 'mode = \"bypassPermissions\"' > c && mv c {config}/config.toml", none: rights, host: files},
	{name: "record of trust", do: "mkdir -p {state}/trust && echo {} > {state}/trust/x.json", none: rights, host: files},
	{name: "rule of a session", do: "for s in {state}/sessions/*; do [ -d $s ] && echo '{}' >> $s/rules.jsonl; done", none: rights, host: files},
	{name: "agent roots removed", do: "rm -f {state}/agentroot/*; ASK allow {id} KEY", none: rights, host: files},
	{name: "state moved into the workspace", do: "mv {state} s && echo OPEN && mv s {state}", none: rights, host: rights},
	{name: "workspace moved", do: "mv {ws} {home}/moved && echo OPEN && mv {home}/moved {ws}", none: rights, host: rights},
	{name: "link to the state", do: "ln -s {state} s; cat s/approver.key", none: rights, host: rights, read: "s/approver.key"},
	{name: "link in the private temp", do: "ln -s {state}/approver.key /tmp/{name}.down; cat /tmp/{name}.down; rm /tmp/{name}.down; rm -f /tmp/{name}.up; ln -s ../../../approver.key /tmp/{name}.up", none: rights, host: rights, read: "/tmp/{name}.up"},
	{name: "way up from the private temp", do: "true", read: "/tmp/../../../approver.key"},
	{name: "hard link to the state", do: "ln {state}/approver.key k && cat k", none: rights, host: rights, read: "k"},
	{name: "program before kx on PATH", do: "mkdir -p {home}/.local/bin; for d in {bin} {home}/bin {home}/.local/bin; do printf '#!/bin/sh\\n' > $d/tool; done", none: rights, host: rights},

	// Processes outside.
	{name: "end a process", do: "kill -9 {pid} && for i in $(seq 300); do grep -q '^State:.[RSDI]' /proc/{pid}/status || break; sleep 0.01; done", none: rights, host: rights},
	{name: "end the approval host", do: "kill -9 {host} && for i in $(seq 300); do grep -q '^State:.[RSDI]' /proc/{host}/status || break; sleep 0.01; done", none: rights, host: rights},
	{name: "end kx", do: "kill -9 {kx}", none: rights, host: rights},
	{name: "end kx, then allow", do: "( setsid bash -c 'kill -9 {kx}; while kill -0 {kx}; do sleep 0.01; done; ASK allow {id} KEY; touch done' > /dev/null 2>&1 & ); for i in $(seq 500); do [ -e done ] && break; sleep 0.01; done", none: rights, host: above},
	{name: "stay in the background", do: "nohup sleep 300 > /dev/null 2>&1 & true"},
	{name: "stay as a daemon", do: "( ( setsid sleep 300 < /dev/null > /dev/null 2>&1 & ) & )"},
	{name: "environment of a process", do: "cat /proc/{pid}/environ", none: rights, host: rights},
	{name: "root of a process", do: "cat /proc/{pid}/root{tmp}", none: rights, host: rights},
	{name: "folder of a process", do: "cat /proc/{pid}/cwd/.ssh/id_ed25519", none: rights, host: rights},
	{name: "files of a process", do: "cat /proc/{pid}/fd/9", none: rights, host: rights},
	{name: "the first process", do: "cat /proc/1/root{state}/approver.key /proc/1/cwd{state}/approver.key; cat /proc/1/environ | grep -a . && echo OPEN; ls /proc/1/fd/ | grep . && cat /proc/1/fd/3"},
	{name: "memory of a process", do: "rogue peek {pid}", none: rights, host: rights, depends: true},
	{name: "debugger", do: "rogue attach {pid}", none: rights, host: rights, depends: true},
	{name: "streams of kx", do: "echo > /proc/{kx}/fd/0 && echo OPEN", none: rights, host: rights, depends: true},
	{name: "inherited files", do: "for f in /proc/$$/fd/*; do case ${f##*/} in 0|1|2|255) ;; *) readlink $f && echo OPEN;; esac; done; cat <&8"},
	{name: "namespaces of a process", do: "nsenter -t {pid} -U --preserve-credentials -m cat {tmp}; nsenter -t {pid} -m cat {tmp}; nsenter -t 1 -m cat {tmp}"},
	{name: "terminal of a person", do: "rogue tty {tty}", landlock: terminals, none: rights, host: rights},
	{name: "multiplexer", do: "tmux -S {tmp}.tmux run-shell 'touch {home}/made'; tmux -S {tmp}.tmux send-keys x Enter", landlock: sockets, none: rights, host: rights},
	{name: "shared memory", do: "rogue shm {shm}", landlock: ipc, none: rights, host: rights},
	{name: "keys of the kernel", do: "rogue keys", host: rights, depends: true},

	// Sockets outside.
	{name: "bus of the session", do: "rogue connect {run}/bus", landlock: sockets, none: rights, host: rights},
	{name: "service manager", do: "rogue connect {run}/systemd/private", landlock: sockets, none: rights, host: rights},
	{name: "docker", do: "rogue connect {home}/.docker/run/docker.sock", landlock: sockets, none: rights, host: rights},
	{name: "socket in the home", do: "rogue connect {home}/some.sock", landlock: sockets, none: rights, host: rights},
	{name: "socket in /tmp", do: "rogue connect {tmp}.sock", landlock: sockets, none: rights, host: rights},
	{name: "socket in /run", do: "rogue connect /run/{name}.sock"},
	{name: "socket of the approval host", do: "rogue connect {run}/kx/approve.sock", landlock: sockets, none: rights, host: rights},
	{name: "socket made meanwhile", do: "touch ready; for i in $(seq 300); do rogue connect {home}/late.sock && break; sleep 0.01; done", full: late, landlock: sockets, none: rights, host: rights, during: lateSocket},
	{name: "abstract socket", do: "rogue connect @{name}", none: rights, host: rights},
	{name: "port of this machine", do: "rogue connect 127.0.0.1:{port}", full: network, landlock: network, none: rights, host: rights},

	// Files outside.
	{name: "start-up file", do: "echo 'kx approve allow' >> {home}/.bashrc", none: rights, host: rights},
	{name: "new file in the home", do: "touch {home}/made", none: rights, host: rights},
	{name: "file renamed", do: "mv {home}/notes {home}/made", none: rights, host: rights},
	{name: "file removed", do: "rm -f {home}/notes", none: rights, host: rights},
	{name: "file cut short", do: "truncate -s 1 {home}/notes", none: rights, host: rights},
	{name: "mode of a file", do: "chmod 666 {home}/notes", landlock: marks, none: rights, host: rights},
	{name: "times of a file", do: "touch -d @1 {home}/notes", landlock: marks, none: rights, host: rights},
	{name: "attribute of a file", do: "rogue xattr {home}/notes", landlock: marks, none: rights, host: rights, depends: true},
	{name: "compiled objects in a cache", do: "echo evil > {home}/.cache/go-build/object", none: rights, host: rights},
	{name: "ssh key", do: "cat {home}/.ssh/id_ed25519", none: rights, host: rights},
	{name: "file in /tmp", do: "cat {tmp}; echo x >> {tmp}", landlock: "the real /tmp can be read", none: rights, host: rights},
	{name: "crontab", do: "touch /var/spool/cron/crontabs/{name} /etc/cron.d/{name} && echo OPEN"},
	{name: "core dumps", do: "echo '|{ws}/x %p' > /proc/sys/kernel/core_pattern"},
	{name: "settings of the kernel", do: "cat /proc/sys/kernel/hostname > h; cat h > /proc/sys/kernel/hostname && echo OPEN"},
	{name: "raw disk", do: "for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem; do head -c 1 $d > /dev/null && echo OPEN; done"},
	{name: "hard link that was there", do: "echo evil >> hard", full: hardLink, landlock: hardLink, none: rights, host: rights},
	{name: "new hard link", do: "ln {home}/notes n && echo evil >> n", none: rights, host: rights},

	// Rights and walls.
	{name: "capabilities", do: "grep -E 'Cap(Prm|Eff|Amb)' /proc/self/status | grep '[1-9a-f][0-9a-f]*$' && echo OPEN"},
	{name: "new privileges", do: "grep -q 'NoNewPrivs:.0' /proc/self/status && echo OPEN", host: rights},
	{name: "su and sudo", do: "su -c 'touch {home}/made' < /dev/null; sudo -n touch {home}/made; pkexec touch {home}/made < /dev/null"},
	{name: "unmount the masks", do: "unshare -Urm sh -c 'umount -l {state} {home}/.ssh {config}'; umount -l {state} {home}/.ssh {config}; cat {state}/approver.key {home}/.ssh/id_ed25519 {config}/policy.toml", none: rights, host: rights},
	{name: "mounts made writable", do: "mount -o remount,rw /; mount -o remount,bind,rw {home}; unshare -Urm mount -o remount,bind,rw {home}; unshare -Urm sh -c 'mount -o remount,rw /; touch {home}/made'; touch {home}/made", none: rights, host: rights},
	{name: "view without the masks", do: "unshare -Urm sh -c 'mkdir /tmp/{name}; mount --bind / /tmp/{name} && cat /tmp/{name}{state}/approver.key; mount --rbind / /tmp/{name} && umount -l /tmp/{name}{state} && cat /tmp/{name}{state}/approver.key'; cat {state}/approver.key", none: rights, host: rights},
	{name: "root of its own", do: "unshare -Ur chroot / cat {state}/approver.key; unshare -Urm sh -c 'mkdir r; mount --bind / r && pivot_root r r/tmp && cat {state}/approver.key'; cat {state}/approver.key", none: rights, host: rights},
	{name: "proc of its own", do: "unshare -Urmpf --mount-proc cat /proc/1/root{state}/approver.key; mount -t proc p /mnt; cat {state}/approver.key", none: rights, host: rights},

	// What a person runs in the workspace later.
	{name: "hook of git", do: "echo evil > .git/hooks/pre-commit; echo evil >> .git/hooks/post-commit", landlock: inside, none: rights, host: rights},
	{name: "folder of hooks", do: "git config core.hooksPath evil", landlock: inside, none: rights, host: rights},
	{name: "configuration of git", do: "printf '[core]\\nfsmonitor = evil\\n' > c && mv c .git/config", landlock: inside, none: rights, host: rights},
	{name: "repository replaced", do: "mv .git .g2 && cp -r .g2 .git && echo evil > .git/hooks/pre-commit", landlock: inside, none: rights, host: rights},
	{name: "repository elsewhere", do: "mkdir evil; echo ../evil > .git/commondir", landlock: inside, none: rights, host: rights},
	{name: "worktree of another repository", do: "for f in commondir gitdir config.worktree; do echo ../../../evil > .git/worktrees/tree/$f; done; mv .git/worktrees .git/w", landlock: inside, none: rights, host: rights},
	{name: "rules of the project", do: "mkdir -p .kx; echo x > .kx/policy.toml; chmod 500 .kx .", landlock: inside, none: rights, host: rights},
	{name: "servers of the project", do: "echo '{\"mcpServers\":{}}' > .mcp.json; rm -f .mcp.json; ln -s evil .mcp.json", landlock: inside, none: rights, host: rights},
	{name: "environment of the project", do: "echo evil > .envrc; chmod 500 .", landlock: inside, none: rights, host: rights},
	{name: "settings of a client", do: "echo evil > .claude/settings.json; mv .claude c; mkdir .claude .codex .gemini .cursor; echo evil > .codex/config.toml", landlock: inside, none: rights, host: rights},
	{name: "settings behind a link", do: "echo evil > linked/settings.json; mv linked l; mkdir linked; rm -f .gemini; ln -s evil .gemini", landlock: inside, none: rights, host: rights},
	{name: "repository in the workspace", do: "git init -q sub && git -C sub config core.fsmonitor evil && echo OPEN", full: leaves, landlock: leaves, none: rights, host: rights},
	{name: "program with the rights of its owner", do: "cp /bin/true t && chmod 4755 t && [ -u t ] && echo OPEN", full: leaves, landlock: leaves, none: rights, host: rights},
}

// lateSocket makes a socket when the command runs.
func lateSocket(s *siege) func() {
	ended, done, path := make(chan struct{}), make(chan struct{}), s.home+"/late.sock"
	go func() {
		defer close(done)
		for {
			select {
			case <-ended: // it was refused
				return
			case <-time.After(2 * time.Millisecond):
			}
			if _, err := os.Lstat(s.ws + "/ready"); err != nil {
				continue
			}
			l, err := net.Listen("unix", path)
			if err == nil {
				err = os.Chmod(path, 0o777)
				<-ended
				l.Close()
			}
			if err != nil {
				s.Error(err)
			}
			return
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}
