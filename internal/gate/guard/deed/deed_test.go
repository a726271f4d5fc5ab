package deed

import (
	"path"
	"strings"
	"testing"
)

// Every row has a command that meets it, and one beside it that doesn't.
var deniedTests = []struct{ meets, spares string }{
	{"mkfs.ext4 x", "mkfs.ext4 --help"},
	{"wipefs -af x", "wipefs x"},
	{"parted x mklabel gpt", "parted -l"},
	{"zpool destroy x", "zpool status x"},
	{"lvremove x", "lvs"},
	{"diskutil eraseDisk x", "diskutil list"},
	{"cryptsetup -q luksFormat x", "cryptsetup open x"},
	{"nvme format x", "nvme list"},
	{"hdparm --security-erase p x", "hdparm -I x"},
	{"shutdown -h now", "shutdown -c"},
	{"reboot", "rebooted"},
	{"init 6", "init x"},
	{"systemctl --user --no-wall poweroff", "systemctl status reboot"},
	{"nvram x=y", "nvram -p"},
	{"security delete-keychain x", "security find-certificate"},
	{"gpg --batch --yes --delete-secret-key x", "gpg --delete-key x"},
	{"terraform -chdir=x destroy", "terraform plan -destroy"},
	{"terraform apply --destroy", "terraform apply"},
	{"terragrunt run-all destroy", "terragrunt run-all plan"},
	{"pulumi -C x destroy", "pulumi up"},
	{"kubectl -n x delete --wait ns y", "kubectl delete pod ns-1"},
	{"kubectl delete pods --all", "kubectl get pods --all-namespaces"},
	{"aws --profile p s3 rb s3://x --force", "aws s3 rb s3://x"},
	{"gcloud -q projects delete x", "gcloud projects list"},
	{"gsutil -m rb gs://x", "gsutil ls"},
	{"az group delete -n x", "az group list"},
	{"gh repo delete x", "gh repo view x"},
	{"heroku pg:reset", "heroku logs"},
	{"docker system prune -fa", "docker system prune -f"},
	{"docker volume prune --all", "docker volume prune"},
	{"podman system reset", "podman system df"},
	{"dropdb -h x y", "dropdb --help"},
	{"mysqladmin -u root drop x", "mysqladmin status"},
	{"psql -c 'drop schema x'", "psql -c 'drop table x'"},
	{"rails db:drop:all", "rails db:migrate"},
	{"git update-ref -d refs/heads/x", "git update-ref refs/heads/x HEAD"},
	{"git branch -D *", "git branch -D x"},
	{"kx --json approve -q allow x", "kx approve list"},
	{"kx approve x", "kx approve show x"},
	{"kx approve --plain", "kx approve stats"},
	{"kx policy add x", "kx policy check --tool x"},
	{"kx policy learn --since 1d --write", "kx policy learn"},
	{"kx trust rm", "kx trust list"},
	{"kx secret set x", "kx secret list"},
	{"kx browse profile x", "kx browse open x"},
	{"kx mcp login x", "kx mcp list"},
	{"kx host stop", "kx host list"},
	{"kxd approve", "kxx approve"},
}

var askedTests = []struct{ meets, spares string }{
	{"git -C x push origin -f", "git push origin main"},
	{"git push origin +main", "git push origin main:x"},
	{"git reset --har", "git reset HEAD x"},
	{"git clean -xfd", "git clean -nfd"},
	{"git stash drop", "git stash"},
	{"git checkout -- x", "git checkout -b x"},
	{"git checkout .", "git checkout main"},
	{"git switch -f x", "git switch x"},
	{"git restore x", "git restore --staged x"},
	{"git restore --staged --worktree x", "git restore -S x"},
	{"git branch -D x", "git branch -d x"},
	{"git reflog expire --all", "git reflog"},
	{"git filter-branch x", "git log"},
	{"sudo ls", "ls"},
	{"kill -9 1", "kill 1"},
	{"kill -s KILL 1", "kill -s HUP 1"},
	{"npm uninstall x", "npm install x"},
	{"brew uninstall x", "brew list"},
	{"cargo publish", "cargo build"},
	{"chmod -R u+w x", "chmod u+w x"},
	{"aws s3 rm s3://x --recursive", "aws s3 rm s3://x/y"},
	{"aws ec2 terminate-instances x", "aws ec2 describe-instances"},
	{"gcloud compute instances delete x", "gcloud compute instances list"},
	{"gsutil rm -r gs://x", "gsutil rm gs://x/y"},
	{"python3 -c x", "python3 x.py -c"},
	{"bash -lc x", "bash x.sh"},
	{"node --eval x", "node x.js --eval"},
	{"deno eval x", "deno run x"},
}

// argv splits at spaces; a quoted end is one word.
func argv(text string) []string {
	text, quoted, ok := strings.Cut(text, " '")
	words := strings.Fields(text)
	if ok {
		words = append(words, strings.TrimSuffix(quoted, "'"))
	}
	return words
}

func TestRows(t *testing.T) {
	try := func(rows []Row, find func([]string) *Row, tests []struct{ meets, spares string }) {
		met := map[*Row]bool{}
		for _, tt := range tests {
			d := find(argv(tt.meets))
			if d == nil {
				t.Errorf("not met: %s", tt.meets)
			} else {
				met[d] = true
			}
			if d := find(argv(tt.spares)); d != nil {
				t.Errorf("met: %s: %s", tt.spares, d.Does)
			}
		}
		for i := range rows {
			if !met[&rows[i]] {
				t.Errorf("no test meets: %s %s %s", rows[i].runs, rows[i].words, rows[i].Does)
			}
		}
	}
	try(denied, func(a []string) *Row { return Denied(path.Base(a[0]), a, nil) }, deniedTests)
	try(asked, func(a []string) *Row { return Asked(path.Base(a[0]), a) }, askedTests)
}

// A program by its beginning is looked for where the name has one of these signs.
func TestLoosePrograms(t *testing.T) {
	for _, name := range Programs() {
		if head, ok := strings.CutSuffix(name, "*"); ok && (!strings.ContainsAny(head, "._") || !Knows(head+"x")) {
			t.Errorf("%s is never found", name)
		}
	}
	if Knows("ls") || Knows("") || !Knows("mkfs") {
		t.Error("which programs stand in the table")
	}
}

// What comes on the input counts for those that read it.
func TestFed(t *testing.T) {
	fed := []string{"x", "DROP DATABASE y;"}
	if Denied("psql", []string{"psql"}, fed) == nil || Denied("cat", []string{"cat"}, fed) != nil || Denied("psql", []string{"psql"}, nil) != nil {
		t.Error("the input is taken for something else")
	}
}

// Flags may stand anywhere, and their values are no operands.
func TestFollows(t *testing.T) {
	for _, tt := range []struct {
		args, words string
		want        int
	}{
		{"a b", "a b", 2}, {"-x a b", "a b", 3}, {"-x v a b", "a b", 4}, {"a -x v b c", "a b", 4}, {"--x=1 a", "a", 2}, {"a", "a b", -1}, {"v a b", "a b", -1}, {"a v b", "a b", -1}, {"-- a b", "a b", 3},
		{"-x a a b", "a b", -1}, {"a c", "a b|c", 2}, {"", "a", -1}, {"a", "", 0},
	} {
		if got := Follows(strings.Fields(tt.args), tt.words); got != tt.want {
			t.Errorf("%s of %s: %d, want %d", tt.words, tt.args, got, tt.want)
		}
	}
}
