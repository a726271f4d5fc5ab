package place

import (
	"regexp"
	"sync"
)

// Act is what is done to a file.
type Act uint8

const (
	Read Act = 1 << iota
	Write
	Remove // deleted, or moved away
	Link   // made to have another name
)

const (
	Change = Write | Remove
	All    = Read | Change | Link
	keep   = Change | Link // it may be read
)

// reach says where in a path the names of a row count.
type reach uint8

const (
	anywhere reach = iota
	below          // below the workspace, or anywhere outside of it
	away           // outside the workspace, or directly in the home
	inside         // below the workspace
	rooted         // from the root of the file system
	atHome         // directly in the home, and nothing below
)

// row is one protection: files that are protected wherever their names stand. A name is
// one or more parts of a path; a * in it stands for any characters of a part.
type row struct {
	name   string
	acts   Act // that are not allowed
	reach  reach
	files  []string // in lower case
	reason string
	token  bool // only a file that has a token in it
}

var rows = []row{
	{name: "credentials", acts: All, reach: anywhere, reason: "credentials are closed to tools", files: []string{
		".ssh", ".gnupg", ".netrc", "_netrc", ".git-credentials", ".pgpass", ".vault-token", ".password-store", "*.p8", "*.p12", "*.pfx",
		"*.keychain", "*.keychain-*", ".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json",
		".gemini/google_accounts.json", ".qwen/oauth_creds.json",
	}},
	{name: "credentials", acts: All, reach: away, reason: "credentials are closed to tools", files: []string{
		".aws", ".azure", ".kube", ".docker", ".npmrc", ".pypirc", ".terraform.d", ".terraformrc", ".s3cfg", ".boto", ".oci", ".fly",
		".claude.json", ".config/gcloud", ".config/gh", ".config/glab-cli", ".config/hub", ".config/op", ".config/rclone", ".config/sops",
		".config/doctl", ".config/containers/auth.json", ".config/github-copilot", ".config/age", ".config/git/credentials",
		".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".m2/settings-security.xml", ".gem/credentials",
		".gradle/gradle.properties", ".local/share/opencode/auth.json", ".local/share/keyrings", "library/keychains", "id_rsa", "id_dsa",
		"id_ecdsa", "id_ed25519",
	}},
	{name: "credentials", acts: All, reach: away, reason: "browser profiles and histories are closed to tools", files: []string{
		".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/bravesoftware", ".config/microsoft-edge",
		".bash_history", ".zsh_history", ".psql_history", ".mysql_history", ".python_history", ".node_repl_history",
	}},
	{name: "credentials", acts: All, reach: rooted, reason: "credentials are closed to tools", files: []string{
		"etc/shadow", "etc/shadow-", "etc/gshadow", "etc/gshadow-", "etc/sudoers", "etc/sudoers.d", "etc/ssh/ssh_host_*",
	}},
	{name: "credentials", acts: Read | Link, reach: inside, reason: "a file with a token in it is closed to tools", files: []string{
		".npmrc", ".pypirc",
	}, token: true},
	{name: "processes", acts: All, reach: rooted, reason: "what other processes hold is closed to tools", files: []string{
		"proc/*/mem", "proc/*/environ", "proc/*/root", "proc/*/cwd", "proc/*/fd", "proc/*/fdinfo", "proc/*/map_files", "proc/*/maps",
		"proc/*/pagemap", "proc/*/auxv", "proc/*/task/*/mem", "proc/*/task/*/environ", "proc/*/task/*/root", "proc/*/task/*/cwd",
		"proc/*/task/*/fd", "proc/*/task/*/maps", "proc/kcore", "dev/stdin", "dev/fd", "dev/mem", "dev/kmem", "dev/port",
	}},
	{name: "devices", acts: All, reach: rooted, reason: "a disk is not read or written past its file system", files: []string{
		"dev/sd*", "dev/hd*", "dev/vd*", "dev/xvd*", "dev/nvme*", "dev/mmcblk*", "dev/dm-*", "dev/md*", "dev/loop*", "dev/mapper",
		"dev/disk", "dev/rdisk*", "dev/disk*",
	}},
	{name: "system", acts: Change, reach: rooted, reason: "system folders are not changed by tools", files: []string{
		"etc", "usr", "bin", "sbin", "lib*", "boot", "var", "sys", "proc", "dev", "system", "library", "private/etc", "private/var",
	}},
	{name: "git", acts: keep, reach: below, reason: "what is in .git is changed by git alone", files: []string{
		".git",
	}},
	{name: "project", acts: keep, reach: below, reason: "what tells kx, MCP and direnv what to do is changed by people", files: []string{
		".kx", ".mcp.json", ".envrc",
	}},
	{name: "clients", acts: keep, reach: below, reason: "settings of agents are changed by people", files: []string{
		".claude", ".codex", ".gemini", ".cursor",
	}},
	{name: "login", acts: keep, reach: away, reason: "files that run at login are changed by people", files: []string{
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile",
		".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc", ".xprofile", ".xsession", ".xsessionrc",
		".xinitrc", ".pam_environment", ".config/fish", ".config/environment.d", ".config/autostart", ".config/systemd", ".config/git",
		".gitconfig", ".tmux.conf", ".vimrc", ".exrc", "library/launchagents",
	}},
	{name: "home", acts: Remove, reach: atHome, reason: "a folder that holds much of a person's is not deleted whole", files: []string{
		".config", ".local", ".local/share", ".local/state", "desktop", "documents", "downloads", "library", "movies", "music",
		"pictures", "videos",
	}},
}

// token finds what logs in: a value that is not taken from the environment.
var token = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^[^#;\n]*(?:_auth|_authtoken|_password|password)["']?\s*[=:]\s*["']?[^\s"'$]`)
})
