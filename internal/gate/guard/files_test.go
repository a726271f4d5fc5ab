package guard

import (
	"encoding/json"
	"strings"
	"testing"
)

// Every tool that names a file is held, wherever in its input the name stands.
func TestFiles(t *testing.T) {
	g, env := house(t)
	for _, tt := range []struct {
		tool, input, want string // the name of the protection, "" if there is none
	}{
		{"read_file", `{"path":"~/.ssh/id"}`, "credentials"}, {"read_file", `{"path":"../../.ssh/id"}`, "credentials"}, {"read_file", `{"path":"keys/id"}`, "credentials"}, {"read_file", `{"path":"up/.ssh/id"}`, "credentials"}, {"read_file", `{"path":"HOME/.aws/x"}`, "credentials"},
		{"read_file", `{"path":"/proc/self/environ"}`, "processes"}, {"read_file", `{"path":"/dev/stdin"}`, "processes"}, {"read_file", `{"path":"/proc/1/fd/3"}`, "processes"}, {"read_file", `{"path":"HOME/.config/kx/policy.toml"}`, "kx"},
		{"read_file", `{"path":"main.go"}`, ""}, {"read_file", `{"path":"/etc/os-release"}`, ""}, {"read_file", `{"path":".git/HEAD"}`, ""}, {"read_file", `{"path":".npmrc"}`, ""}, {"read_file", `{"path":"sub/.npmrc"}`, "credentials"}, {"read_file", `{"path":"HOME/.npmrc"}`, "credentials"}, {"read_file", `{"path":".github/x"}`, ""},
		{"write_file", `{"path":".git/hooks/x","content":""}`, "git"}, {"write_file", `{"path":"g/hooks/x","content":""}`, "git"}, {"write_file", `{"path":"etc/x","content":""}`, "system"}, {"write_file", `{"path":".mcp.json","content":""}`, "project"}, {"write_file", `{"path":".claude/settings.json","content":""}`, "clients"}, {"edit_file", `{"path":"HOME/.bashrc"}`, "login"},
		{"write_file", `{"path":"main.go","content":"~/.ssh/id"}`, ""}, {"write_file", `{"path":".gitignore","content":""}`, ""}, {"write_file", `{"path":".npmrc","content":""}`, ""},
		{"list_files", `{"path":"~/.ssh"}`, "credentials"}, {"list_files", `{}`, ""}, {"grep_search", `{"pattern":".ssh","path":"~"}`, ""}, {"glob_search", `{"pattern":"**","path":"HOME/.gnupg"}`, "credentials"},
		{"apply_patch", `{"patch":"*** Begin Patch\n*** Update File: main.go\n@@\n-a\n+b\n*** Add File: .git/hooks/x\n+x\n*** End Patch"}`, "git"}, {"apply_patch", `{"patch":"*** Begin Patch\n*** Update File: main.go\n*** Move to: .kx/policy.toml\n*** End Patch"}`, "project"}, {"apply_patch", `{"patch":"--- a/.envrc\n+++ b/.envrc\n@@ -1 +1 @@\n-a\n+b\n"}`, "project"}, {"apply_patch", `{"patch":"*** Begin Patch\n*** Update File: main.go\n*** End Patch"}`, ""},
		{"lsp_hover", `{"path":"~/.ssh/id"}`, "credentials"}, {"lsp_rename", `{"path":".git/x"}`, "git"},
		{"mcp__fs__read", `{"path":"HOME/.ssh/id"}`, "credentials"}, {"mcp__fs__read", `{"a":[{"b":["x","~/.netrc"]}]}`, "credentials"}, {"mcp__fs__read", `{"uri":"file://HOME/.ssh/id"}`, "credentials"}, {"mcp__fs__read", `{"uri":"FILE:HOME/%2essh/id"}`, "credentials"}, {"mcp__fs__write", `{"p":".git/hooks/x"}`, "git"}, {"mcp__fs__write", `{"p":"/etc/x"}`, "system"}, {"mcp__fs__write", `{"p":"src/x","q":"see ~/.ssh/config"}`, "credentials"}, {"mcp__fs__write", `{"p":"src/x","q":"see\n~/.ssh/config"}`, ""}, {"mcp__x__y", `{"n":1,"t":"/"}`, ""},
		{"todo_write", `{"items":[{"content":"~/.ssh/id"}]}`, ""}, {"web_fetch", `{"url":"https://x/.ssh/id"}`, ""},
		{"bash", `{"command":"ls","cwd":"~/.ssh"}`, "credentials"}, {"bash", `{"command":"cat id","cwd":"keys"}`, "credentials"}, {"bash", `{"command":"cat x","cwd":"sub"}`, ""}, {"bash", `{"command":"cp x .git/hooks/y","cwd":"sub"}`, "git"}, {"bash", `{"command":"rm -rf *","cwd":"build"}`, ""}, {"bash", `{"command":"rm -rf *","cwd":".."}`, "mass"}, {"bash", `{"command":"rm -rf *","cwd":"~"}`, "mass"}, {"bash", `{"command":"touch x","cwd":".git"}`, "git"}, {"bash", `{"command":"cat HEAD","cwd":".git"}`, ""},
		{"bash", `{"command":7}`, ""}, {"bash", `{"command":"cat ~/.ssh/id","COMMAND":"ls","Cwd":"sub"}`, "credentials"}, {"bash", `{"command":"ls","command":"cat ~/.ssh/id"}`, "credentials"}, {"bash", `[]`, ""}, {"read_file", `7`, ""}, {"read_file", `{"path":["x"]}`, ""}, {"read_file", `{"path":"a\u0000/.ssh/x"}`, "credentials"},
	} {
		input := strings.ReplaceAll(tt.input, "HOME", env.Home)
		f := check(t, g, env, tt.tool, json.RawMessage(input))
		got := ""
		if f.Hit != nil {
			got = f.Hit.Name
		}
		if got != tt.want {
			t.Errorf("%s %s: %v, want %q", tt.tool, tt.input, f.Hit, tt.want)
		}
	}
	if f := check(t, g, env, "read_file", nil); f.Hit != nil {
		t.Error("a call without an input hits")
	}
	for name, may := range map[string]bool{"/main.go": true, "/.git/HEAD": true, "/sub/.npmrc": false, "/.npmrc": true, "/x/.ssh/y": false, "/a.p12": false} {
		if g.MayRead(env.Workspace+name) != may {
			t.Errorf("a walk: %s", name)
		}
	}
}

// A command that can't be understood is held by the names in it.
func TestUnknown(t *testing.T) {
	g, env := house(t)
	long := strings.Repeat("x", 12_000)
	for _, c := range []string{
		"cat ~/.ssh/id # " + long, "a[b] ; cat ~/.ssh/id", "rm -rf ~ # " + long, "if; rm -rf ~", "cat ~/.ssh/id )", "kx approve allow x )", "mkfs.ext4 x (", "cp x .git/hooks/y \r", "cat ~/.netrc \xff",
		"echo " + long + "; kx approve allow x", strings.Repeat("echo x|sh;", 900), "a=" + strings.Repeat("$a", 2000) + "; cat " + strings.Repeat("$a", 1000),
	} {
		if f := check(t, g, env, "bash", bash(t, c)); f.Hit == nil {
			t.Errorf("not stopped: %.40q", c)
		}
	}
	for _, c := range []string{"echo " + long, "echo )", "cat main.go )", "cat > x <<E\n" + strings.Repeat("see ~/.ssh/config and kx approve\n", 600) + "E", "cat {a,b}" + strings.Repeat("{c,d}", 300), strings.Repeat("sh -c \"", 500), strings.Repeat("eval ", 500) + "ls"} {
		if f := check(t, g, env, "bash", bash(t, c)); f.Hit != nil {
			t.Errorf("stopped: %.40q: %v", c, f.Hit)
		}
	}
}

// What wants a person, and whose leaf it is.
func TestAsks(t *testing.T) {
	g, env := house(t)
	for c, leaf := range map[string]int{
		"git push -f": 0, "ls && git reset --hard": 1, "sudo ls": 0, "sh -c 'git push --force'": 0, "env git clean -fd": 1, "x | python3 -c y": 1, "diff <(ls) y": 0, "git restore .": 0, "find . -exec chmod -R u+w {} +": 0,
		"git push": -1, "git status": -1, "ls": -1, "npm install": -1, "git restore --staged x": -1, "echo git push -f": -1, "kill 1": -1, "chmod +x y": -1, "python3 x.py": -1, "for f in a b; do echo $f; done": -1,
	} {
		f := check(t, g, env, "bash", bash(t, c))
		if f.Hit != nil || (len(f.Asks) > 0) != (leaf >= 0) || leaf >= 0 && f.Asks[0].Leaf != leaf {
			t.Errorf("%s: %+v", c, f)
		}
	}
}

// The calls that a command makes through kx.
func TestCalls(t *testing.T) {
	g, env := house(t)
	for c, want := range map[string]string{
		`kx call read_file '{"path":"x"}'`: `0 read_file {"path":"x"}`, `ls; kx -q call -o json read_file '{"path":"x"}' --wait 5m`: `1 read_file {"path":"x"}`, `kx call list_files`: `0 list_files {}`, `sh -c "kx call list_files"`: `0 list_files {}`, `go run ./cmd/kx call list_files`: `0 list_files {}`,
		`kx call -`: "0  ", `kx call read_file -`: "0 read_file ", `kx call read_file "$x"`: "0  ", `kx call read_file '{}' sub/a*`: "0  ", `kx call $t '{}'`: "0  ", `kx call -C / list_files`: "0  ", `kx --mode plan call list_files`: "0  ", `kx call list_files --state-dir=x`: "0  ", `kx call nope '{}'`: "0  ", `kx call a b c`: "0  ", `kx call`: "0  ",
		`kx tool list`: "", `kx help call`: "", `echo kx call x`: "", `kx policy check --tool call`: "",
	} {
		f := check(t, g, env, "bash", bash(t, c))
		got := ""
		for _, call := range f.Calls {
			got += string(rune('0'+call.Leaf)) + " " + call.Tool + " " + string(call.Input)
		}
		if got != want || f.Hit != nil {
			t.Errorf("%s: %q %v", c, got, f.Hit)
		}
	}
}

// Words that change nothing take no hit away.
func FuzzCommand(f *testing.F) {
	for _, tt := range commands {
		for _, c := range tt.hits {
			f.Add(c)
		}
		for _, c := range tt.free {
			f.Add(c)
		}
	}
	g, env := house(f)
	env.Resolver = still{}
	f.Fuzz(func(t *testing.T, c string) {
		if strings.Contains(c, "\n") || len(c) > 4000 {
			return
		}
		hit := check(t, g, env, "bash", bash(t, c)).Hit
		for _, more := range []string{"true; " + c, "true && " + c, "echo x; " + c} {
			if got := check(t, g, env, "bash", bash(t, more)).Hit; hit != nil && got == nil {
				t.Fatalf("%q: %v, but not %q", c, hit, more)
			}
		}
	})
}

// FuzzInput gives any tool any input.
func FuzzInput(f *testing.F) {
	for _, s := range []string{`{"path":"~/.ssh"}`, `{"patch":"--- a/.git/x"}`, `{"a":["file:///x"]}`, `{"command":"ls","cwd":"~"}`, `{"command":"kx call bash '{\"command\":\"rm -rf ~\"}'"}`, `[`, `{"path":"` + "\x01\x02" + `"}`} {
		f.Add(s)
	}
	g, env := house(f)
	env.Resolver = still{}
	f.Fuzz(func(t *testing.T, input string) {
		for _, tool := range []string{"bash", "read_file", "apply_patch", "mcp__a__b"} {
			if hit := check(t, g, env, tool, json.RawMessage(input)).Hit; hit != nil && (hit.Name == "" || hit.Reason == "") {
				t.Fatalf("%+v", hit)
			}
		}
	})
}

// still is a file system without links.
type still struct{}

func (still) Resolve(path string) (string, error) { return path, nil }
func (still) Glob(string) ([]string, error)       { return nil, nil }
