package main

import (
	"os"
	"path/filepath"
	"strings"
)

// gitWork is what people do with git all day; what is wrong ends it.
const gitWork = `
git checkout -q -b side; echo b > b; git add b; git commit -qm two
git checkout -q main; echo c > c; git add c; git commit -qm three
git merge -q -m merged side; test "$(git rev-list --count HEAD)" = 4
echo x >> a; git stash -q; git diff --quiet; git stash pop -q; ! git diff --quiet; git checkout -q a
git rebase -q HEAD~1; git tag -a v1 -m one; git branch -D side 2> /dev/null
git worktree add -q wt -b other; (cd wt; echo z > z; git add z; git commit -qm z); git cherry-pick other > /dev/null
git worktree remove wt; git reset -q --hard HEAD~1; git gc -q; git fsck 2> /dev/null
git clone -q . /tmp/clone; test -e /tmp/clone/c; git bundle create -q /tmp/b.bundle main
git apply <<'E'
--- a/a
+++ b/a
@@ -1 +1 @@
-a
+patched
E
git commit -qam patched; test -z "$(git status --porcelain)"`

func buildGit(b *builder, dir string) {
	b.Helper()
	const who = "export GIT_AUTHOR_NAME=T GIT_AUTHOR_EMAIL=t@example.org GIT_COMMITTER_NAME=T GIT_COMMITTER_EMAIL=t@example.org\n"
	me := ""
	if _, err := os.Lstat(filepath.Join(b.home, ".gitconfig")); err != nil {
		me = who
	}
	b.works(dir, "git init -q -b main .; echo a > a; git add a\ngit -c user.name=T -c user.email=t@example.org commit -qm one")
	b.works(dir, me+gitWork)

	// Hooks run, whoever has made them; only the programs behind walls can't.
	b.write("work/git/.git/hooks/pre-commit", "#!/bin/sh\necho the hook ran\n", 0o755)
	if r := b.works(dir, me+"echo h > h; git add h; git commit -qm hooked 2>&1"); !strings.Contains(r.Output.Stdout, "the hook ran") {
		b.Errorf("no hook ran: %s", r.Output.Text)
	}
	b.write("work/spoil.sh", "echo echo >> .git/hooks/pre-commit\n", 0o644)
	if r := b.call(dir, "sh ../spoil.sh", ""); r.Status != "error" || !strings.Contains(r.Output.Text, "only people change them") {
		b.Errorf("a hook was written: %s %s", r.Status, r.Output.Text)
	}

	// A commit that is ended leaves no lock behind.
	b.write("work/git/.git/hooks/pre-commit", "#!/bin/sh\necho > began; sleep 100\n", 0o755)
	if r := b.call(dir, me+"git -c core.hooksPath=.git/hooks commit --allow-empty -m slow", "began"); r.Status != "error" {
		b.Errorf("a commit with a slow hook: %s %s", r.Status, r.Output.Text)
	}
	b.works(dir, me+"test ! -e .git/index.lock; echo k > k; git add k; git commit -qnm after")

	// A linked worktree shares a git directory that lies elsewhere.
	linked := filepath.Join(b.home, "linked")
	b.host(dir, "git worktree add -q ~/linked -b linked")
	b.works(linked, me+"echo l > l; git add l; git commit -qnm linked; git checkout -q -b more; test -z \"$(git status --porcelain)\"; git gc -q")
	b.host(dir, `test "$(git log -1 --format=%s linked)" = linked; git fsck 2> /dev/null`)
}

func buildGo(b *builder, dir string) {
	b.Helper()
	b.write("work/go/p/go.mod", "module example.org/p\n\ngo 1.22\n", 0o644)
	b.write("work/go/p/p.go", "package main\n\nfunc main() { println(double(21)) }\n\nfunc double(n int) int { return 2 * n }\n", 0o644)
	b.write("work/go/p/p_test.go", `package main

import (
	"os"
	"testing"
)

func TestDouble(t *testing.T) {
	if double(2) != 4 || os.WriteFile(t.TempDir()+"/x", nil, 0o600) != nil {
		t.Fail()
	}
}
`, 0o644)
	dir = filepath.Join(dir, "p")
	b.works(dir, "go build ./...; go test -vet=off ./...; go build -o /tmp/p .; test \"$(/tmp/p 2>&1)\" = 42")
	// With -v go names what it compiles: nothing, as the cache was kept.
	if r := b.works(dir, "go build -v ./... 2>&1; go test -vet=off ./... | grep -q cached"); r.Output.Stdout != "" {
		b.Errorf("built once more: %s", r.Output.Stdout)
	}
	if r := b.call(dir, "go install .", ""); r.Status != "error" || !strings.Contains(r.Output.Text, "[sandbox]\nwritable") {
		b.Errorf("go install: %s %s", r.Status, r.Output.Text)
	}
	b.works(dir, "GOBIN=$PWD/bin go install .; bin/p; git init -q; git add .; go build -o q .; ./q")
}

func buildNpm(b *builder, dir string) {
	b.Helper()
	b.write("work/npm/dep/package.json", `{"name":"dep","version":"1.0.0"}`, 0o644)
	b.write("work/npm/dep/index.js", "module.exports = 42\n", 0o644)
	b.write("work/npm/package.json", `{"name":"app","version":"1.0.0","scripts":{"test":"node test.js","postinstall":"node -e 1"},"dependencies":{"packed":"file:dep-1.0.0.tgz","dep":"file:dep"}}`, 0o644)
	b.write("work/npm/test.js", `const assert = require("assert"), fs = require("fs"), os = require("os"), path = require("path");
assert.equal(require("dep") + require("packed"), 84);
fs.mkdtempSync(path.join(os.tmpdir(), "x"));
require("child_process").execFileSync("true");
require("net").createServer().listen(0, "127.0.0.1", function () { console.log("fine"); this.close() });
`, 0o644)
	b.works(dir, "npm pack --silent ./dep; npm install --no-audit --no-fund --offline; npm test")
	r := b.works(dir, "rm -rf node_modules; npm ci --no-audit --no-fund --offline; npm test; ls \"$(npm config get cache)\"")
	if !strings.Contains(r.Output.Stdout, "fine") || !strings.Contains(r.Output.Stdout, "_cacache") {
		b.Errorf("the second time: %s", r.Output.Text)
	}
}

func buildPython(b *builder, dir string) {
	b.Helper()
	b.write("work/python/wheel.py", `import zipfile
with zipfile.ZipFile("small-1-py3-none-any.whl", "w") as z:
    info = "small-1.dist-info/"
    z.writestr("small.py", "N = 42\n")
    z.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1\n")
    z.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr(info + "RECORD", "")
`, 0o644)
	b.works(dir, `python3 -m venv v; v/bin/pip --version; python3 wheel.py
v/bin/pip install --quiet --no-index ./small-1-py3-none-any.whl
test "$(v/bin/python -c 'import small; print(small.N)')" = 42
python3 -c 'import multiprocessing as m; p = m.Pool(2); print(sum(p.map(abs, [-1, -2])))' | grep -qx 3
python3 -c 'import sqlite3; sqlite3.connect("x.db").execute("create table t(a)")'; test -s x.db`)
	b.works(dir, `test "$(v/bin/python -c 'import small; print(small.N)')" = 42`)
}

func buildCargo(b *builder, dir string) {
	b.Helper()
	b.works(dir, "cargo new --quiet hi 2>&1; cd hi; cargo build --quiet; cargo test --quiet; test \"$(target/debug/hi)\" = 'Hello, world!'")
	r := b.works(dir, "cd hi; cargo build 2>&1; cargo install --quiet --offline --path . --root /tmp/r; /tmp/r/bin/hi")
	if strings.Contains(r.Output.Stdout, "Compiling") {
		b.Errorf("built once more: %s", r.Output.Stdout)
	}
}

// machine is what programs expect of any machine; each line must succeed.
const machine = `
f=$(mktemp); d=$(mktemp -d); echo x > "$f"; echo x > /var/tmp/v; test "$(cat /tmp/v)" = x; echo x > /dev/shm/s
diff <(echo a) <(echo a); test "$(cat <<< here)" = here; echo x > /dev/stdout; echo x | tee /dev/stderr > /dev/null
test "$(ps -e -o comm= | grep -c bash)" -ge 1; test "$(id -u)" = "$(stat -c %u .)"; test -n "$(id -un)"
tput -T xterm bold > /dev/null; script -qec tty /dev/null < /dev/null | grep -q '^/dev/pts/'
sleep 60 & kill $!; wait $! || test $? = 143; sleep 0.1 & wait; (trap 'echo got' TERM; kill -TERM $BASHPID) | grep -q got
timeout 0.1 sleep 60 || test $? = 124; bash -c 'kill -TERM $$' || test $? = 143
printf 'all:\n\t@echo made\n' > Makefile; make -s | grep -q made
echo 'int main(void) { return 42; }' > m.c; cc -o m m.c; ./m || test $? = 42; cp m /tmp/m; /tmp/m || test $? = 42
mkfifo q; (echo x > q &); test "$(cat q)" = x; touch l; ln l l2; ln -s l l3; mv l /tmp/; mv /tmp/l .; chmod 750 l; flock lock true
python3 - <<'E'
import os, socket, tarfile, threading, urllib.request, http.server
for name in ("/tmp/s.sock", "s.sock", "\0kx-test-%d" % os.getpid()):
    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen()
    socket.socket(socket.AF_UNIX).connect(name)
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
assert urllib.request.urlopen("http://127.0.0.1:%d/" % s.server_port).status == 200
with tarfile.open("o.tar", "w") as t:
    i = tarfile.TarInfo("other"); i.uid = i.gid = 12345; t.addfile(i)
E
tar xf o.tar; test -e other; seq 300000 | tail -1 | grep -q 300000
! touch ~/x 2> /dev/null; ! tty > /dev/null; ! test -w /etc; ! test -w ~
! grep ' - overlay ' /proc/self/mountinfo | grep -v volatile # the end would wait for the disk`

func tryMachine(b *builder, dir string) {
	b.Helper()
	b.works(dir, machine)
	if r := b.call(dir, "seq 300000; exit 7", ""); r.Error.Message != "the command exited with status 7" || len(r.Output.Stdout) > 70<<10 {
		b.Errorf("%s, %d bytes", r.Error.Message, len(r.Output.Stdout))
	}
	if r := b.call(dir, "kill -TERM $$", ""); !strings.Contains(r.Error.Message, "143") {
		b.Errorf("a command that ends itself: %s", r.Error.Message)
	}
}
