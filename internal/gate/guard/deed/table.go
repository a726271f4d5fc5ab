package deed

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// Row is one protection: commands that are not run, or that want a person.
type Row struct {
	Name  string
	Does  string // with the programs as the subject
	runs  string // the programs; a last * stands for any rest
	words string // the operands that it begins with, choices as a|b
	flags string // one of them has to be there
	but   string // with one of these it only tells, or takes less
	last  string // one of these operands has to be somewhere
	input bool   // text in its arguments or input has to match dropped
	test  func(argv []string) bool
}

// The rows of what is never run.
var denied = []Row{
	{Name: "disk", Does: "makes or erases file systems", runs: "mkfs mkfs.* mke2fs mkswap mkdosfs newfs newfs_* blkdiscard badblocks"},
	{Name: "disk", Does: "erases what a disk is", runs: "wipefs", flags: "-a --all -o --offset"},
	{Name: "disk", Does: "changes partitions", runs: "fdisk sfdisk gdisk sgdisk cfdisk parted", but: "-l --list -d --dump -p --print print"},
	{Name: "disk", Does: "erases volumes", runs: "lvremove vgremove pvremove zpool zfs", test: pools},
	{Name: "disk", Does: "erases disks", runs: "diskutil hdiutil", words: "erase*|eraseDisk|eraseVolume|partitionDisk|reformat|secureErase|zeroDisk|apfs"},
	{Name: "disk", Does: "erases disks", runs: "cryptsetup", words: "luksFormat|erase|luksErase|reencrypt"},
	{Name: "disk", Does: "erases disks", runs: "nvme", words: "format|sanitize"},
	{Name: "disk", Does: "erases disks", runs: "hdparm", flags: "--security-erase --security-erase-enhanced --trim-sector-ranges"},
	{Name: "power", Does: "stops the machine", runs: "shutdown", but: "-c"},
	{Name: "power", Does: "stops the machine", runs: "reboot halt poweroff telinit"},
	{Name: "power", Does: "stops the machine", runs: "init", words: "0|6"},
	{Name: "power", Does: "stops the machine", runs: "systemctl loginctl", words: "poweroff|reboot|halt|kexec|soft-reboot|suspend|hibernate|hybrid-sleep|emergency|rescue"},
	{Name: "power", Does: "changes what the machine starts with", runs: "nvram csrutil efibootmgr bootctl", but: "-p status list -v"},
	{Name: "keys", Does: "deletes keys", runs: "security", words: "delete-*"},
	{Name: "keys", Does: "deletes secret keys", runs: "gpg gpg2", flags: "--delete-secret-keys --delete-secret-and-public-keys"},
	{Name: "cloud", Does: "destroys what it has built", runs: "terraform tofu terragrunt", words: "destroy"},
	{Name: "cloud", Does: "destroys what it has built", runs: "terraform tofu terragrunt", words: "apply", flags: "-destroy --destroy"},
	{Name: "cloud", Does: "destroys what it has built", runs: "terragrunt", words: "run-all|run", last: "destroy"},
	{Name: "cloud", Does: "destroys what it has built", runs: "pulumi cdk cdktf serverless sls", words: "destroy|remove"},
	{Name: "cloud", Does: "deletes a namespace", runs: "kubectl oc k3s microk8s", words: "delete", last: "ns namespace namespaces project projects ns/* namespace/* namespaces/*"},
	{Name: "cloud", Does: "deletes everything of a kind", runs: "kubectl oc", words: "delete", flags: "--all -A --all-namespaces"},
	{Name: "cloud", Does: "deletes a bucket with what is in it", runs: "aws", words: "s3 rb", flags: "--force"},
	{Name: "cloud", Does: "deletes a project", runs: "gcloud", words: "projects delete"},
	{Name: "cloud", Does: "deletes all that is in a bucket", runs: "gsutil", words: "rb"},
	{Name: "cloud", Does: "deletes a group with what is in it", runs: "az", words: "group delete"},
	{Name: "cloud", Does: "deletes a repository", runs: "gh glab hub", words: "repo delete"},
	{Name: "cloud", Does: "deletes an application", runs: "heroku", words: "apps:destroy|pg:reset"},
	{Name: "containers", Does: "deletes all that is not in use", runs: "docker podman nerdctl", words: "system prune", flags: "-a --all --volumes"},
	{Name: "containers", Does: "deletes all that is not in use", runs: "docker podman nerdctl", words: "volume prune", flags: "-a --all"},
	{Name: "containers", Does: "deletes everything", runs: "podman", words: "system reset"},
	{Name: "database", Does: "drops databases", runs: "dropdb dropuser"},
	{Name: "database", Does: "drops databases", runs: "mysqladmin mariadb-admin", words: "drop"},
	{Name: "database", Does: "drops or empties databases", runs: "psql mysql mariadb pgcli mycli usql cockroach clickhouse clickhouse-client sqlcmd duckdb mongo mongosh redis-cli valkey-cli keydb-cli", input: true},
	{Name: "database", Does: "drops databases", runs: "rails rake", words: "db:drop|db:drop:*|db:reset|db:purge"},
	{Name: "git", Does: "deletes refs behind git's back", runs: "git", words: "update-ref", flags: "-d --delete --stdin"},
	{Name: "git", Does: "deletes all branches", runs: "git", words: "branch", flags: "-D -d --delete", last: "\\*"},
	{Name: "human", Does: "is for a person in another terminal", runs: "kx", but: "--help", words: "approve allow|deny|answer|allow-all|deny-all"},
	{Name: "human", Does: "is for a person in another terminal", runs: "kx", but: "--help", words: "approve", test: answers},
	{Name: "human", Does: "is for a person in another terminal", runs: "kx", but: "--help", words: "policy add|remove|install|uninstall"},
	{Name: "human", Does: "is for a person in another terminal", runs: "kx", but: "--help", words: "policy import|learn", flags: "--write"},
	{Name: "human", Does: "is for a person in another terminal", runs: "kx", but: "--help", words: "trust add|rm"},
	{Name: "human", Does: "is for a person in another terminal", runs: "kx", but: "--help", words: "secret set|rm"},
	{Name: "human", Does: "is for a person in another terminal", runs: "kx", but: "--help", words: "browse enable|profile"},
	{Name: "human", Does: "is for a person in another terminal", runs: "kx", but: "--help", words: "mcp add|remove|enable|login"},
	{Name: "human", Does: "is for a person in another terminal", runs: "kx", but: "--help", words: "host stop"},
	{Name: "human", Does: "is started by kx alone", runs: "kxd"},
}

// The rows of what wants a person, or a rule that names a command.
var asked = []Row{
	{Does: "overwrites what others have", runs: "git", words: "push", flags: "-f --force --force-with-lease --force-if-includes --mirror --prune -d --delete"},
	{Does: "overwrites what others have", runs: "git", words: "push", last: "+* :*"},
	{Does: "throws away changes", runs: "git", words: "reset", flags: "--hard --merge --keep"},
	{Does: "deletes files that are not committed", runs: "git", words: "clean", flags: "-f --force", but: "-n --dry-run"},
	{Does: "throws away changes", runs: "git", words: "stash drop|clear"},
	{Does: "throws away changes", runs: "git", words: "checkout", test: overwrites},
	{Does: "throws away changes", runs: "git", words: "switch", flags: "-f --force --discard-changes"},
	{Does: "throws away changes", runs: "git", words: "restore", test: restores},
	{Does: "deletes branches or tags", runs: "git", words: "branch", flags: "-D"},
	{Does: "forgets history", runs: "git", words: "reflog expire|delete"},
	{Does: "rewrites history", runs: "git", words: "filter-branch|filter-repo"},
	{Does: "acts as another user", runs: "sudo doas su pkexec runuser"},
	{Does: "ends processes for good", runs: "kill pkill killall skill", flags: "-9 -KILL -SIGKILL --signal=9 --signal=KILL --signal=SIGKILL"},
	{Does: "ends processes for good", runs: "kill pkill killall", flags: "-s --signal", last: "9 KILL SIGKILL"},
	{Does: "uninstalls or publishes", runs: "npm pnpm yarn bun", words: "uninstall|un|remove|rm|unlink|publish|unpublish|deprecate"},
	{Does: "uninstalls or publishes", runs: "brew apt apt-get dnf yum pacman snap flatpak pip pip3 gem cargo twine", words: "uninstall|remove|purge|autoremove|publish|yank|push|upload"},
	{Does: "changes the rights of whole folders", runs: "chmod chown chgrp", flags: "-R --recursive"},
	{Does: "deletes all that is in a bucket", runs: "aws", words: "s3 rm", flags: "--recursive"},
	{Does: "deletes what it runs", runs: "aws", words: "rds|ec2|cloudformation|dynamodb|organizations|kms|eks", last: "delete-db-instance delete-db-cluster terminate-instances delete-stack delete-table close-account leave-organization schedule-key-deletion delete-cluster"},
	{Does: "deletes what it runs", runs: "gcloud", words: "sql|container|compute|storage|alpha|beta", last: "delete"},
	{Does: "deletes all that is in a bucket", runs: "gsutil", words: "rm", flags: "-r -R -a"},
	{Does: "runs code in its arguments", runs: "sh bash dash ash zsh ksh fish python python2 python3 perl ruby php lua node nodejs deno bun", test: inline},
}

// dropped is text that empties or drops a database.
var dropped = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bdrop(?:\s|/\*.*?\*/)+(?:database|schema|keyspace|owned)\b|\bdropDatabase\s*\(|\b(?:flushall|flushdb)\b`)
})

// pools tells the commands of zpool and zfs that destroy; the others of its row
// do nothing else.
func pools(argv []string) bool {
	switch path.Base(argv[0]) {
	case "zpool", "zfs":
		return follows(argv[1:], [][]string{{"destroy", "labelclear", "rollback"}}) >= 0
	}
	return true
}

// answers tells a bare "kx approve", or one with a request, from those that show.
func answers(argv []string) bool {
	return follows(argv[1:], [][]string{{"approve"}, {"list", "show", "stats", "watch", "wait", "help"}}) < 0
}

// overwrites tells a checkout of files from one of a branch.
func overwrites(argv []string) bool {
	for _, a := range argv[2:] {
		if a == "--" || a == "." || a == ":/" || a == "-f" || a == "--force" {
			return true
		}
	}
	return false
}

// restores tells a restore that changes files from one of the index alone.
func restores(argv []string) bool {
	staged, worktree := false, false
	for _, a := range argv {
		staged = staged || a == "--staged" || a == "-S"
		worktree = worktree || a == "--worktree" || a == "-W" || a == "-SW" || a == "-WS"
	}
	return !staged || worktree
}

// inline tells an interpreter with code in its arguments.
func inline(argv []string) bool {
	for _, a := range argv[1:] {
		switch {
		case a == "--":
			return false
		case strings.HasPrefix(a, "--"):
			if a == "--eval" || a == "--print" || strings.HasPrefix(a, "--eval=") {
				return true
			}
		case len(a) > 1 && a[0] == '-':
			if strings.ContainsAny(a[1:], "ceEr") {
				return true
			}
		default:
			return a == "eval"
		}
	}
	return false
}
