package sandbox

import (
	"bytes"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kxtools/kx/internal/base/paths"
)

// cache is what builds need and nobody else trusts: a folder of the home, and the
// variables that name another one.
type cache struct {
	name, path string
	env        []string
}

var caches = []cache{
	{"cache", ".cache", []string{"XDG_CACHE_HOME"}},
	{"npm", ".npm", []string{"npm_config_cache"}},
	{"go", "go/pkg", []string{"GOMODCACHE"}},
	{"cargo", ".cargo", []string{"CARGO_HOME"}},
	{"gradle", ".gradle", []string{"GRADLE_USER_HOME"}},
	{"maven", ".m2/repository", []string{"MAVEN_ARGS=-Dmaven.repo.local"}},
	{"pnpm", ".local/share/pnpm", nil},
	{"bun", ".bun/install/cache", []string{"BUN_INSTALL_CACHE_DIR"}},
	{"nuget", ".nuget/packages", []string{"NUGET_PACKAGES"}},
	{"dotnet", ".dotnet", []string{"DOTNET_CLI_HOME"}},
	{"yarn", ".yarn/berry", []string{"YARN_GLOBAL_FOLDER"}},
	{"bundle", ".bundle", []string{"BUNDLE_USER_HOME"}},
	{"pipenv", ".local/share/virtualenvs", []string{"WORKON_HOME"}},
	{"mix", ".mix", []string{"MIX_HOME"}},
	{"hex", ".hex", []string{"HEX_HOME"}},
	{"stack", ".stack", []string{"STACK_ROOT"}},
	{"cabal", ".cabal", []string{"CABAL_DIR"}},
}

// The lists below are masked where they exist. They may have the patterns of
// filepath.Glob.

// services are folders and sockets of the system through which a program could
// have something done outside.
var services = []string{
	"/run/dbus", "/run/systemd/private", "/run/systemd/notify", "/run/systemd/machine", "/run/systemd/io.*", "/run/systemd/userdb", "/run/systemd/journal",
	"/run/docker.sock", "/run/docker", "/run/podman", "/run/containerd", "/run/crio", "/run/libvirt", "/run/snapd*.socket",
	"/run/screen", "/run/screens", "/run/tmux", "/run/acpid.socket", "/run/cups", "/run/pcscd", "/run/avahi-daemon",
	"/var/lib/lxd", "/var/lib/incus", "/var/snap/lxd", "/var/spool/cron", "/var/spool/at",
}

// helpers are sockets of the user's own programs in the home.
var helpers = []string{
	".docker/run", ".docker/desktop", ".colima", ".lima", ".rd", ".orbstack/run", ".screen", ".tmux*", ".local/share/keyrings", ".emacs.d/server", ".vscode-server/data/*.sock",
	".local/share/containers/podman", ".gnupg",
}

// credentials lie in the home and open something elsewhere. ~/.npmrc is one if it
// has a token in it, see npmToken.
var credentials = []string{
	".ssh", ".aws", ".azure", ".kube", ".docker/config.json", ".netrc", "_netrc", ".git-credentials", ".pypirc",
	".config/gcloud", ".config/gh", ".config/glab-cli", ".config/op", ".config/rclone", ".config/containers/auth.json", ".config/sops",
	".config/git/credentials", ".config/age", ".config/hub", ".config/doctl", ".config/heroku", ".config/fly",
	".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
	".terraform.d", ".terraformrc", ".password-store", ".vault-token", ".oci", ".s3cfg", ".boto", ".pgpass", ".my.cnf", ".mylogin.cnf",
	".composer/auth.json", ".config/composer/auth.json", ".gem/credentials", ".nuget/NuGet/NuGet.Config", ".subversion/auth", ".fly",
	".claude*", ".codex", ".gemini", ".qwen", ".cursor", ".config/github-copilot", ".config/goose", ".config/opencode", ".local/share/opencode", ".aider*", ".continue",
	".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera",
	".config/Signal", ".config/Slack", ".config/discord", ".config/1Password", ".config/Bitwarden", ".config/keepassxc", ".local/share/kwalletd",
	".bash_history", ".zsh_history", ".zhistory", ".local/share/fish/fish_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history",
	".sqlite_history", ".rediscli_history", ".lesshst", ".viminfo", ".local/share/recently-used.xbel",
}

// secretsOfRoot are files of the system that the superuser reads without any
// capability, being their owner.
var secretsOfRoot = []string{
	"/etc/shadow*", "/etc/gshadow*", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh/ssh_host_*_key", "/etc/ssl/private", "/etc/wireguard", "/etc/NetworkManager/system-connections",
	"/etc/krb5.keytab", "/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet", "/etc/kubernetes", "/etc/rancher", "/home/*/.ssh", "/home/*/.gnupg", "/home/*/.aws", "/home/*/.kube",
	"/boot", "/var/log/journal", "/var/lib/systemd/random-seed",
}

// Passwd is the home that the system has on record for the user, for Sandbox.
func Passwd() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.HomeDir
}

// harmless are sockets that the name service needs.
var harmless = []string{"/run/nscd", "/var/run/nscd", "/run/systemd/resolve", "/run/avahi-daemon/socket"}

// masked expands the lists for this user.
func (b *build) masked() []string {
	var list []string
	add := func(base string, patterns []string) {
		pattern := escape.Replace(base)
		for _, p := range patterns {
			if !strings.Contains(p, "*") {
				list = append(list, filepath.Join(base, p)) // passed over where it is not there
				continue
			}
			found, _ := filepath.Glob(filepath.Join(pattern, p)) // the patterns are ours
			list = append(list, found...)
		}
	}
	if x := b.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(x) {
		list = append(list, filepath.Clean(x))
	}
	list = append(list, filepath.Join("/run/user", strconv.Itoa(b.Dirs.UID)))
	add("/", services)
	homes := []string{b.Dirs.Home}
	if other := b.Passwd(); filepath.IsAbs(other) && filepath.Clean(other) != b.Dirs.Home {
		homes = append(homes, filepath.Clean(other)) // ssh looks there, whatever HOME says
	}
	for _, home := range homes {
		add(home, helpers)
		add(home, credentials)
		if rc := filepath.Join(home, ".npmrc"); npmToken(rc) {
			list = append(list, rc)
		}
	}
	if b.Dirs.UID == 0 {
		add("/", secretsOfRoot)
	}
	return slices.DeleteFunc(list, func(m string) bool {
		return paths.Inside(m, b.place.Workspace) || inside(b.place.Sockets, m)
	})
}

// escape writes a path as a pattern that matches it alone.
var escape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// maxRC is the longest .npmrc that is looked at; a longer one is taken for one
// with a token.
const maxRC = 1 << 20

// npmToken reports whether a file of npm has something to authenticate with.
func npmToken(path string) bool {
	fi, err := os.Stat(path)
	if err != nil {
		return false
	}
	text, err := os.ReadFile(path)
	if err != nil || fi.Size() > maxRC {
		return true
	}
	return slices.ContainsFunc([]string{"_authtoken", "_auth", "_password", "keyfile"}, func(word string) bool {
		return bytes.Contains(bytes.ToLower(text), []byte(word))
	})
}
