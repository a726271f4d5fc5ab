package sandbox

import "strings"

// advices tell what to do about a command that the walls made fail: what its
// output says, what the command has, and which rule of the user's opens them.
var advices = []struct {
	command string // a word of the command line, "" for any
	output  []string
	rule    string // the command of the rule
	why     string
}{
	{"git push", []string{"Permission denied (publickey", "Host key verification failed", "could not read Username", "could not read Password", "Authentication failed", "Read-only file system", "Device or resource busy", "Could not read from remote repository", "Could not resolve", "terminal prompts disabled", "could not lock config"}, "git push *", "it needs keys that programs here don't see"},
	{"git pull", []string{"Permission denied (publickey", "Host key verification failed", "could not read Username", "Authentication failed", "Could not read from remote repository"}, "git pull *", "it needs keys that programs here don't see"},
	{"git fetch", []string{"Permission denied (publickey", "Host key verification failed", "could not read Username", "Authentication failed", "Could not read from remote repository"}, "git fetch *", "it needs keys that programs here don't see"},
	{"git clone", []string{"Permission denied (publickey", "Host key verification failed", "could not read Username", "Authentication failed"}, "git clone *", "it needs keys that programs here don't see"},
	{"git config", []string{"Read-only file system", "Device or resource busy", "could not lock config"}, "git config *", "the configuration of git stays as it is"},
	{"git remote", []string{"Read-only file system", "Device or resource busy", "could not lock config"}, "git remote *", "the configuration of git stays as it is"},
	{"git", []string{"could not lock config", "could not write config", ".git/config: Device or resource busy"}, "git *", "the configuration of git stays as it is"},
	{"docker", []string{"docker daemon", "docker.sock", "Cannot connect"}, "docker *", "whoever reaches Docker reaches the whole machine"},
	{"podman", []string{"Error:", "cannot", "newuidmap"}, "podman *", "it can't make containers in here"},
	{"ssh", []string{"Permission denied", "Host key verification failed", "Could not resolve"}, "ssh *", "it needs keys that programs here don't see"},
	{"scp", []string{"Permission denied", "Host key verification failed"}, "scp *", "it needs keys that programs here don't see"},
	{"gh", []string{"gh auth login", "authentication"}, "gh *", "it needs a token that programs here don't see"},
	{"kubectl", []string{"connection refused", "refused", "no configuration"}, "kubectl *", "it needs keys that programs here don't see"},
	{"aws", []string{"credentials", "could not be found"}, "aws *", "it needs keys that programs here don't see"},
	{"gcloud", []string{"credentials", "Read-only"}, "gcloud *", "it needs keys that programs here don't see"},
	{"npm publish", []string{"ENEEDAUTH", "EAUTH", "401", "logged in"}, "npm publish *", "it needs a token that programs here don't see"},
	{"cargo publish", []string{"token", "credentials"}, "cargo publish *", "it needs a token that programs here don't see"},
	{"sudo", []string{"no new privileges", "effective uid", "setuid"}, "sudo *", "nothing gains rights in here"},
	{"systemctl", []string{"Failed to connect", "bus"}, "systemctl *", "programs here don't reach the system"},
}

// Advice says which rule opens the walls to a command that failed for them, and
// where else a failure comes from.
func Advice(command, output string) []string {
	words := " " + strings.Join(strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()`", r) }), " ") + " "
	for _, a := range advices {
		if !strings.Contains(words, " "+a.command+" ") {
			continue
		}
		for _, o := range a.output {
			if strings.Contains(output, o) {
				return []string{"sandbox: " + a.why + `; a rule of the user's own policy.toml lets it out: tool = "bash", command = "` + a.rule + `", decision = "ask", sandbox = "host"`}
			}
		}
	}
	if strings.Contains(output, "Read-only file system") {
		return []string{"sandbox: commands write in the workspace, in /tmp and in what [sandbox] writable of the user's config.toml lists"}
	}
	return nil
}
