package advice

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/kxtools/kx/internal/gate/sandbox"
	"github.com/kxtools/kx/pkg/policy/shell"
)

// A command that the walls stop names the rule that opens them, as a policy file
// has it.
func TestAdviceNamesTheRule(t *testing.T) {
	const publickey = "git@example.org: Permission denied (publickey).\nfatal: Could not read from remote repository.\n"
	const busy = "error: could not write config file .git/config: Device or resource busy\n"
	const daemon = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n"
	for _, c := range []struct {
		command, output string
		failed          bool
		rule            string
	}{
		{"git push", publickey, true, "git push *"},
		{"git push origin HEAD 2>&1 | tail -3", publickey, false, "git push *"},
		{"cd sub && timeout 60 git -C x --no-pager push -u origin main || true", publickey, false, "git push *"},
		{"/usr/bin/git push https://example.org/x", "fatal: could not read Username for 'https://example.org': No such device or address\n", true, "git push *"},
		{"git push ssh://example.org/x", "Host key verification failed.\nfatal: Could not read from remote repository.", true, "git push *"},
		{"git push /srv/x.git main", "error: remote unpack failed: unable to create temporary object directory\n", true, "git push *"},
		{"git push -u origin main", "To /w/x\n" + busy, true, "git push *"},
		{"if true; then git fetch --all; fi", publickey, true, "git fetch *"},
		{"git clone git@example.org:x/y", publickey, true, "git clone *"},
		{"git submodule update --init", publickey, true, "git submodule *"},
		{"git remote add origin /srv/x", busy, true, "git remote *"},
		{"git config user.name x", busy, true, "git config *"},
		{"git config --global user.name x", "error: could not lock config file /home/u/.gitconfig: Read-only file system\n", true, "git config *"},
		{"git branch -m main", busy, true, "git branch *"},
		{"git commit -m x", "error: gpg failed to sign the data\nfatal: failed to write commit object\n", true, "git commit *"},
		{"git commit -m x", "error: Load key \"/home/u/.ssh/id_ed25519\": No such file or directory?\n\nfatal: failed to write commit object\n", true, "git commit *"},
		{"git commit -m x", "error: Couldn't load public key /home/u/.ssh/id.pub: No such file or directory?\n\nfatal: failed to write commit object\n", true, "git commit *"},
		{"docker ps", daemon, true, "docker *"},
		{"docker compose up -d; docker ps -q | wc -l", daemon, false, "docker *"},
		{"docker-compose up", "Error while fetching server API version: ('Connection aborted.')", true, "docker-compose *"},
		{"podman run x", "cannot clone: Operation not permitted\nError: cannot re-exec process\n", true, "podman *"},
		{"ssh build uptime", "u@build: Permission denied (publickey,password).", true, "ssh *"},
		{"rsync -a x build:", "u@build: Permission denied (publickey).\nrsync: connection unexpectedly closed", true, "rsync *"},
		{"npm publish --access public", "npm error code ENEEDAUTH\nnpm error need auth This command requires you to be logged in", true, "npm publish *"},
		{"npm --silent publish", "npm ERR! code E401", true, "npm publish *"},
		{"cargo publish", "error: no token found, please run `cargo login`", true, "cargo publish *"},
		{"gh pr create", "To get started with GitHub CLI, please run:  gh auth login", true, "gh *"},
		{"kubectl get pods", "The connection to the server localhost:8080 was refused - did you specify the right host or port?", true, "kubectl *"},
		{"sudo -n make install", `sudo: The "no new privileges" flag is set, which prevents sudo from running as root.`, true, "sudo *"},
		{"apt-get install -y jq", "E: Could not open lock file /var/lib/dpkg/lock - open (30: Read-only file system)", true, "apt-get *"},
		{"systemctl --user status", "Failed to connect to bus: No medium found", true, "systemctl *"},
	} {
		notes := Of(c.command, c.output, sandbox.NetworkEnabled.Name, c.failed)
		if len(notes) != 1 {
			t.Errorf("%s: %q", c.command, notes)
			continue
		}
		_, text, _ := strings.Cut(notes[0], "lets it out:\n")
		var file struct {
			Rule []map[string]string
		}
		if err := toml.Unmarshal([]byte(text), &file); err != nil || len(file.Rule) != 1 {
			t.Errorf("%s: %v in %q", c.command, err, text)
			continue
		}
		r := file.Rule[0]
		if r["tool"] != "bash" || r["command"] != c.rule || r["decision"] != "ask" || r["sandbox"] != "host" || len(r) != 4 {
			t.Errorf("%s: %v, want a rule for %q", c.command, r, c.rule)
		}
		if blocked := Of(c.command, c.output, sandbox.WorkspaceWrite.Name, c.failed); len(blocked) != 1 || !strings.Contains(blocked[0], "max_sandbox") {
			t.Errorf("%s, where max_sandbox is in the way of a rule: %q", c.command, blocked)
		}
	}
}

// What else the walls do is said without a rule.
func TestAdvice(t *testing.T) {
	for _, c := range []struct{ command, output, label, want string }{
		{"go install ./...", "go: mkdir /home/u/go: read-only file system\n", "network_enabled", "[sandbox]\nwritable = "},
		{"npm install -g x", "npm error code EROFS\nnpm error rofs EROFS: read-only file system, mkdir '/usr/lib/x'", "network_enabled", "[sandbox]\nwritable = "},
		{"pip install --user x", "ERROR: Could not install packages due to an OSError: [Errno 30] Read-only file system: '/home/u/.local/lib'", "network_enabled", "[sandbox]\nwritable = "},
		{"git clone x ../y", "fatal: could not create work tree dir '../y': Read-only file system", "network_enabled", "[sandbox]\nwritable = "},
		{"rm -rf .git/hooks", "rm: cannot remove '.git/hooks/x.sample': Read-only file system\n", "network_enabled", "only people change them"},
		{"mv .git g", "mv: cannot move '.git' to 'g': Device or resource busy\n", "network_enabled", "only people change them"},
		{"npm install", "husky - git command failed\nerror: could not write config file .git/config: Device or resource busy", "network_enabled", "only people change them"},
		{"echo x > .envrc", "/bin/bash: line 1: .envrc: Read-only file system\n", "network_enabled", "only people change them"},
		{"git commit -m x", "fatal: Unable to create '/w/.git/index.lock': Read-only file system\n", "read_only", `config.toml is "read_only"`},
		{"npm install", "npm error code EAI_AGAIN", "workspace_write", `no network here: max_sandbox under [limits] of the user's config.toml is "workspace_write"`},
		{"cargo build", "error: rustup could not choose a version of cargo to run, because one wasn't specified explicitly, and no default is configured.", "network_enabled", "env = [\"RUSTUP_HOME\"]"},
		{"cargo build", "error: could not create home directory: '/home/u/.rustup': Read-only file system (os error 30)", "network_enabled", "env = [\"RUSTUP_HOME\"]"},
		{"psql", "psql: error: connection to server on socket \"/var/run/postgresql/.s.PGSQL.5432\" failed: Connection refused", "network_enabled", "sockets = [\"/var/run/postgresql/.s.PGSQL.5432\"]"},
	} {
		if notes := Of(c.command, c.output, c.label, true); len(notes) != 1 || !strings.Contains(notes[0], c.want) {
			t.Errorf("%s: %q, want %q", c.command, notes, c.want)
		}
	}
}

// What has nothing to do with the walls is left alone.
func TestAdviceKeepsQuiet(t *testing.T) {
	for _, c := range []struct {
		command, output string
		failed          bool
	}{
		{"false", "", true},
		{"go test ./...", "--- FAIL: TestX\nFAIL\n", true},
		{"git push", "To /srv/x\n ! [rejected] main -> main (fetch first)\nerror: failed to push some refs", true},
		{"git push", "fatal: No configured push destination.\nuse\n    git remote add <name> <url>\n", true},
		{"git fetch /nope", "fatal: '/nope' does not appear to be a git repository\nfatal: Could not read from remote repository.\n", true},
		{"git push", "remote: error: GH006: Protected branch update failed\n", true},
		{"git branch -d x", "Deleted branch x\nerror: could not write config file .git/config: Device or resource busy\nwarning: Update of config-file failed\n", false},
		{`echo "git push" && false`, "Permission denied (publickey", true},
		{"grep -r 'docker ps' .; false", "docs/x: cannot connect to the docker daemon\n", true},
		{"cat <<E\ngit push\nE\nfalse", "git push: Permission denied (publickey).\n", true},
		{"cat docker.md; exit 3", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock\n", true},
		{"grep -rn 'Read-only file system' src", "src/x.c: Read-only file system\n", false},
		{"docker ps", "CONTAINER ID   IMAGE\n", false},
		{"docker run x", "exit status 3\n", true},
		{"sudo -n true", "sudo: a password is required\n", true},
		{"ssh host", "ssh: connect to host host port 22: Connection refused\n", true},
		{"cat x", "cat: x: Permission denied\n", true},
		{"cargo publish", "error: crate version `1.0.0` is already uploaded\n", true},
		{"kubectl get x", "Error from server (NotFound): x not found\n", true},
		{"npm install", "npm error code EAI_AGAIN", true},
		{"curl http://127.0.0.1:1", "curl: (7) Failed to connect: Connection refused\n", true},
		{"git push 'unclosed", "Permission denied (publickey).", true},
		{"git " + strings.Repeat("x", shell.MaxLength), "", true},
	} {
		if notes := Of(c.command, c.output, sandbox.NetworkEnabled.Name, c.failed); notes != nil {
			t.Errorf("%.60s: %q", c.command, notes)
		}
	}
}
