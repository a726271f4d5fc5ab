// Package advice tells what the walls of internal/gate/sandbox have to do with a command
// that failed, and what the user writes to open them. It knows programs by what they
// say; internal/tools/shell calls it.
package advice

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/pkg/policy/shell"
)

// What programs say, in small letters, when the walls are why they fail.
var (
	gitKeys   = []string{"permission denied (publickey", "host key verification failed", "could not read username for", "could not read password for", "terminal prompts disabled", "authentication failed for"}
	gitConfig = []string{"could not lock config file", "could not write config file"}
	signing   = []string{"gpg failed to sign", "error: load key \"", "couldn't load public key", "no private key found for", "couldn't find key in agent", "couldn't get agent socket"}
	sshKeys   = []string{"permission denied (", "host key verification failed"}
	readOnly  = []string{"read-only file system"}
	npmLogin  = []string{"eneedauth", "e401", "need auth", "not logged in"}
)

const (
	keys   = "it needs keys that programs here don't see"
	token  = "it needs a token that programs here don't see"
	frozen = "the configuration of git stays as it is"
	signed = "it signs with keys that programs here don't see, unless it is told not to (git commit --no-gpg-sign)"
	system = "the system stays as it is"
	rights = "nothing gains rights in here"
	docker = "whoever reaches Docker reaches the whole machine"
	nested = "it can't make containers in here"
	bus    = "programs here don't reach the system's services"
)

// advices are commands that can't work behind the walls: the program with its
// first words, what it says then, and why. The more exact ones come first.
var advices = []struct {
	command string
	output  []string
	why     string
	sure    bool // what it says tells enough, even if the whole line went well: git push | tail
}{
	{"git push", gitKeys, keys, true},
	{"git push", []string{"unable to create temporary object directory", "read-only file system"}, "the other repository lies where nothing can be written", true},
	{"git push", gitConfig, frozen, false},
	{"git pull", gitKeys, keys, true},
	{"git fetch", gitKeys, keys, true},
	{"git clone", gitKeys, keys, true},
	{"git ls-remote", gitKeys, keys, true},
	{"git remote", gitKeys, keys, true},
	{"git submodule", gitKeys, keys, true},
	{"git lfs", gitKeys, keys, true},
	{"git config", append(gitConfig, readOnly...), frozen, false},
	{"git remote", gitConfig, frozen, false},
	{"git submodule", gitConfig, frozen, false},
	{"git branch", gitConfig, frozen, false},
	{"git checkout", gitConfig, frozen, false},
	{"git switch", gitConfig, frozen, false},
	{"git sparse-checkout", gitConfig, frozen, false},
	{"git lfs", gitConfig, frozen, false},
	{"git maintenance", gitConfig, frozen, false},
	{"git commit", signing, signed, false},
	{"git tag", signing, signed, false},
	{"git merge", signing, signed, false},
	{"git rebase", signing, signed, false},
	{"git cherry-pick", signing, signed, false},
	{"git revert", signing, signed, false},
	{"gpg", []string{"no secret key", "can't create directory", "no agent running"}, keys, false},

	{"ssh", sshKeys, keys, true},
	{"scp", sshKeys, keys, true},
	{"sftp", sshKeys, keys, true},
	{"rsync", sshKeys, keys, true},
	{"ssh-add", []string{"connection to your authentication agent", "error connecting to agent"}, keys, true},

	{"docker", []string{"docker daemon", "docker.sock"}, docker, true},
	{"docker-compose", []string{"docker daemon", "docker.sock", "error while fetching server api version"}, docker, true},
	{"podman", []string{"newuidmap", "user namespace", "cannot re-exec", "operation not permitted", "read-only file system", "podman.sock"}, nested, false},
	{"buildah", []string{"newuidmap", "user namespace", "operation not permitted", "read-only file system"}, nested, false},

	{"kubectl", []string{"no configuration has been provided", "localhost:8080"}, keys, true},
	{"helm", []string{"kubernetes cluster unreachable", "localhost:8080"}, keys, true},
	{"gh", []string{"gh auth login", "http 401"}, token, true},
	{"glab", []string{"glab auth login", "401 unauthorized"}, token, true},
	{"aws", []string{"unable to locate credentials", "the config profile"}, keys, true},
	{"gcloud", []string{"gcloud auth login", "active account selected", "read-only file system"}, keys, true},
	{"az", []string{"az login"}, keys, true},
	{"npm publish", npmLogin, token, true},
	{"pnpm publish", npmLogin, token, true},
	{"yarn publish", npmLogin, token, true},
	{"yarn npm", []string{"no authentication configured", "invalid authentication"}, token, true},
	{"cargo publish", []string{"no token found", "cargo login"}, token, true},
	{"twine upload", []string{"enter your username", "enter your api token", "eoferror"}, token, true},

	{"sudo", []string{"no new privileges", "effective uid is not 0"}, rights, true},
	{"doas", []string{"not installed setuid", "operation not permitted"}, rights, true},
	{"pkexec", []string{"must be setuid root"}, rights, true},
	{"su", []string{"cannot set groups", "must be suid"}, rights, true},
	{"apt-get", readOnly, system, false},
	{"apt", readOnly, system, false},
	{"dpkg", readOnly, system, false},
	{"dnf", readOnly, system, false},
	{"apk", readOnly, system, false},
	{"systemctl", []string{"failed to connect to bus", "failed to connect to system scope bus", "failed to connect to user scope bus"}, bus, true},
	{"loginctl", []string{"failed to connect to bus"}, bus, true},
	{"snap", []string{"cannot communicate with server"}, bus, true},
	{"crontab", readOnly, system, false},
}

// noNetwork is what programs say without a network.
var noNetwork = []string{"could not resolve host", "temporary failure in name resolution", "network is unreachable", "eai_again", "enetunreach", "name or service not known", "server misbehaving"}

// socketName is how programs name a socket of the system.
var socketName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:/var)?/run/[\w./-]*(?:\.sock|\.s\.PGSQL\.\d+)\b`) })

// Of says why the walls made a command fail and what opens them, or nothing
// where they are not to blame. label is what the result calls its sandbox.
func Of(command, output, label string, failed bool) []string {
	said := strings.ToLower(output)
	walled := label == sandbox.ReadOnly.Name || label == sandbox.WorkspaceWrite.Name // by max_sandbox, which holds for rules too
	if a := adviceOf(command, said, failed); a >= 0 {
		more := ""
		if walled {
			more = fmt.Sprintf(" once max_sandbox under [limits] of config.toml is not %q", label)
		}
		return []string{fmt.Sprintf("sandbox: %s; a rule in the user's own policy.toml lets it out%s:\n[[rule]]\ntool = \"bash\"\ncommand = %q\ndecision = \"ask\"\nsandbox = \"host\"\n", advices[a].why, more, advices[a].command+" *")}
	}
	if !failed {
		return nil
	}
	socket := socketName().FindString(output)
	switch {
	case label == sandbox.ReadOnly.Name && anyOf(said, readOnly...):
		return []string{fmt.Sprintf("sandbox: commands write in /tmp alone here: max_sandbox under [limits] of the user's config.toml is %q", label)}
	case slices.ContainsFunc(strings.Split(said, "\n"), aboutSteady):
		return []string{"sandbox: .git with its hooks and config, and the settings of agents in the workspace, stay as and where they are; only people change them"}
	case walled && anyOf(said, noNetwork...):
		return []string{fmt.Sprintf("sandbox: commands have no network here: max_sandbox under [limits] of the user's config.toml is %q", label)}
	case anyOf(said, "rustup could not choose a version", "/.rustup'"):
		return []string{"sandbox: commands see RUSTUP_HOME if the user's config.toml passes them on:\n[sandbox]\nenv = [\"RUSTUP_HOME\"]"}
	case anyOf(said, readOnly...):
		return []string{"sandbox: commands write in the workspace, in /tmp, and where the user's config.toml lets them:\n[sandbox]\nwritable = [\"~/FOLDER\"]"}
	case socket != "" && strings.Contains(said, "connection refused") && !anyOf(socket, "docker", "podman", "containerd", "crio"):
		return []string{fmt.Sprintf("sandbox: commands don't reach that socket unless the user's config.toml lets them:\n[sandbox]\nsockets = [%q]", socket)}
	}
	return nil
}

// adviceOf finds the row for a command, or -1.
func adviceOf(command, said string, failed bool) int {
	var leaves [][]string
	for i, a := range advices {
		words := strings.Fields(a.command)
		if !failed && !a.sure || !strings.Contains(command, words[0]) || !anyOf(said, a.output...) {
			continue
		}
		if leaves == nil {
			leaves = commands(command)
		}
		if slices.ContainsFunc(leaves, func(l []string) bool { return len(l) >= len(words) && slices.Equal(l[:len(words)], words) }) {
			return i
		}
	}
	return -1
}

// valued are options in front of a subcommand that have their value in the next word.
var valued = []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--prefix", "-w", "--workspace", "--context", "-H"}

// commands are the simple commands of a line: the program and what comes after it,
// without options.
func commands(line string) [][]string {
	list := [][]string{}
	for _, l := range shell.Analyze(line).Leaves {
		argv := l.Argv()
		if len(argv) == 0 {
			continue
		}
		words := []string{path.Base(argv[0])}
		for i := 1; i < len(argv); i++ {
			switch {
			case slices.Contains(valued, argv[i]):
				i++
			case !strings.HasPrefix(argv[i], "-"):
				words = append(words, argv[i])
			}
		}
		list = append(list, words)
	}
	return list
}

// steady matches what repository and protect keep, in what programs say about it.
var steady = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[\s/'"])(?:\.git(?:$|[\s'":,])|\.git/(?:hooks|config)\b|\.(?:kx|mcp\.json|envrc|claude|codex|gemini|cursor)(?:$|[\s/'":,]))`)
})

func aboutSteady(line string) bool {
	return anyOf(line, "read-only file system", "device or resource busy", "could not write config file") && steady().MatchString(line)
}

func anyOf(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}
