package judge

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/policy/pattern"
	"github.com/kxtools/kx/pkg/policy/point"
	"github.com/kxtools/kx/pkg/policy/shell"
	"github.com/kxtools/kx/pkg/wire"
)

// tools are the programs that lines may use beside the shims.
var tools = strings.Fields(`env nohup nice timeout stdbuf setsid xargs find sh bash flock awk sed tee touch cp mv ln mkdir rm rmdir unlink dd truncate install chmod
	sort uniq split csplit gzip gunzip tar patch comm paste head tail grep wc cut diff cmp tr od ls stat du sleep`)

// What bash does with a line that is allowed is among what the analysis says of
// it: every program that was started, every file that was changed or read. The
// lines run in kx's own sandbox, in a folder each.
func TestLinesDoWhatIsSaid(t *testing.T) {
	count := 300
	if os.Getenv("KX_STRESS") != "" {
		count = 6000
	}
	seed := uint64(20)
	for done := 0; done < count; done += 300 {
		differ(t, lines{rand.New(rand.NewPCG(seed, uint64(done)))}, min(300, count-done))
	}
}

func differ(t *testing.T, g lines, count int) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(elem ...string) string { return filepath.Join(append([]string{dir}, elem...)...) }
	write := func(mode os.FileMode, text string, elem ...string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at(elem...)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(elem...), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	// A record is the folder, the program, its words and the file that it has as
	// its input, each with \037 behind it, and \036.
	record := "#!/bin/dash\nin=$(/usr/bin/readlink /proc/self/fd/0)\nprintf '%s\\037' \"$PWD\" \"$0\" \"$in\" \"$@\" $(printf '\\036') >>\"${0%/bin/*}/log/$(/usr/bin/basename \"${PWD%%/sub*}\")\"\n"
	for _, name := range shims {
		write(0o755, record, "bin", name)
	}
	write(0o755, record+"exec /bin/cat \"$@\"\n", "bin", "cat")
	for _, name := range tools {
		if where, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(where, at("bin", name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	var list []string
	for i := range count {
		list = append(list, g.line())
		ws := fmt.Sprintf("ws/%d", i)
		write(0o644, list[i], "line", fmt.Sprint(i))
		write(0o644, "a\nb\n", ws, "a")
		write(0o644, "b\n", ws, "b")
		write(0o644, "x\n", ws, "sub", "x")
		if err := os.MkdirAll(at(ws, "sub2"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(at("log"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(0o755, `cd "$1" || exit
export PATH=$1/bin
for line in line/*; do
	i=${line#line/}
	mkdir -p home/$i
	(cd ws/$i && HOME=$1/ws/$i timeout -k 1 4 bash -c "$(<../../line/$i)" </dev/null >/dev/null 2>&1)
done
`, "run")

	before := make([]map[string]string, count)
	decided := make([]*wire.Decision, count)
	points := make([][]point.Point, count)
	leaves := make([][]shell.Leaf, count)
	set := allowed(t)
	for i, line := range list {
		ws := at("ws", fmt.Sprint(i))
		before[i] = tree(t, ws)
		env := &policy.Env{Workspace: ws, Cwd: ws, Home: ws, Resolver: Files{}}
		decided[i] = set.Explain(policy.Call{Tool: "bash", Input: input(t, map[string]string{"command": line})}, mode.Default, env)
		leaves[i] = shell.Analyze(line).Leaves
		for j := range leaves[i] {
			points[i] = append(points[i], env.Bash(&leaves[i][j], nil)...)
		}
	}
	var out bytes.Buffer
	cmd := &exec.Cmd{Env: []string{"LC_ALL=C.UTF-8"}, Stdout: &out, Stderr: &out}
	cell, err := jail.Prepare(cmd, &jail.Plan{
		Kind: jail.Full, Argv: []string{"/bin/bash", at("run"), dir}, Dir: dir, Minimal: os.Getuid() == 0,
		Mounts: []jail.Mount{{Source: at("ws"), Target: at("ws")}, {Source: at("log"), Target: at("log")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Start()
	cell.Started(err)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if r, ok := cell.Report(); !ok || r.Failed != "" {
		t.Fatalf("the sandbox: %+v %s", r, &out)
	}

	allows, events := 0, 0
	for i, line := range list {
		if decided[i].Decision != wire.Allow {
			continue
		}
		allows++
		ws := at("ws", fmt.Sprint(i))
		bad := func(format string, args ...any) {
			t.Errorf("%q\n   allowed, but %s", line, fmt.Sprintf(format, args...))
		}
		after := tree(t, ws)
		for name, state := range after {
			if before[i][name] != state && !covered(points[i], name, "write", before[i][name] == "" && strings.HasPrefix(state, "d")) {
				bad("%s was changed", name)
			}
		}
		for name := range before[i] {
			if after[name] == "" && !covered(points[i], name, "write", false) {
				bad("%s is gone", name)
			}
		}
		log, _ := os.ReadFile(at("log", fmt.Sprint(i)))
		for _, r := range strings.Split(string(log), "\036\037") {
			f := strings.Split(r, "\037")
			if len(f) < 4 {
				continue
			}
			events++
			cwd, name, stdin, args := f[0], filepath.Base(f[1]), f[2], f[3:len(f)-1]
			if !slices.ContainsFunc(leaves[i], func(l shell.Leaf) bool { return runs(&l, name, args) }) {
				bad("%s %q was started", name, args)
			}
			if strings.HasPrefix(stdin, ws) && !covered(points[i], stdin, "read", false) {
				bad("%s was read", stdin)
			}
			if name == "cat" {
				for _, a := range args {
					p := filepath.Join(cwd, a)
					if filepath.IsAbs(a) {
						p = a
					}
					if fi, err := os.Stat(p); err == nil && fi.Mode().IsRegular() && !covered(points[i], p, "read", false) {
						bad("%s was read", p)
					}
				}
			}
		}
	}
	t.Logf("%d of %d allowed, %d programs started", allows, count, events)
	if allows < count/8 || events < allows/4 {
		t.Errorf("too little is allowed or started to prove anything: %d of %d, %d programs", allows, count, events)
	}
}

// allowed are rules that allow every command, and every file of the workspace.
func allowed(t *testing.T) *policy.Set {
	s, err := policy.Compile([]policy.Rule{
		{Tool: "bash", Decision: wire.Allow, Scope: policy.User},
		{Tool: "bash", Effect: "write", Decision: wire.Allow, Scope: policy.User},
		// While a command is denied, what the words don't tell is asked.
		{Tool: "bash", Command: "never *", Decision: wire.Deny, Scope: policy.User},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// covered reports whether a point speaks of a file. A folder that is made may lie
// on the way to one.
func covered(pts []point.Point, name, effect string, made bool) bool {
	for i := range pts {
		p := &pts[i]
		if p.Effect != effect || p.Where == nil {
			continue
		}
		for _, where := range append([]pattern.Place{*p.Where}, p.Below...) {
			for _, have := range []string{where.Written, where.Resolved} {
				if have == name || p.Several && strings.HasPrefix(name, have+"/") || made && strings.HasPrefix(have, name+"/") {
					return true
				}
			}
		}
	}
	return false
}

// runs reports whether a leaf is this program with these words, as far as its
// words are known.
func runs(l *shell.Leaf, name string, args []string) bool {
	words := l.Becomes()
	if len(words) == 0 || !words[0].Literal || filepath.Base(words[0].Text) != name {
		return false
	}
	for i, w := range words[1:] {
		if w.Split {
			return true
		}
		if i >= len(args) || w.Literal && w.Text != args[i] && !strings.HasPrefix(w.Text, "~") {
			return false
		}
	}
	return len(args) == len(words)-1
}

// tree is what lies below a folder: kind, mode, size, time and where links lead.
func tree(t *testing.T, root string) map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == root {
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return nil
		}
		link, _ := os.Readlink(name)
		out[name] = fmt.Sprint(fi.Mode(), link)
		if !d.IsDir() {
			out[name] += fmt.Sprint(fi.Size(), fi.ModTime().UnixNano())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
