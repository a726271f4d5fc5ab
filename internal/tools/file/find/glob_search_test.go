package find

import (
	"os"
	"strings"
	"testing"
)

func TestGlobSearch(t *testing.T) {
	for _, programs := range [][]string{nil, {"git"}} {
		tr := newTree(t, programs...)
		tr.put("main.go", "", "a-b/x.go", "", "a/x.go", "", "a/b/y.go", "", "a/b/y_test.go", "", ".github/ci.yml", "", "a/b/z.txt", "")
		if len(programs) > 0 {
			tr.git("init", "-q")
			tr.git("add", "main.go")
		}
		for _, c := range []struct{ pattern, path, want string }{
			{"*.go", "", "main.go"},
			{"**/*.go", "", "a-b/x.go a/b/y.go a/b/y_test.go a/x.go main.go"},
			{"**/*_test.go", "", "a/b/y_test.go"},
			{"a/*", "", "a/x.go"},
			{"a/**", "", "a/b/y.go a/b/y_test.go a/b/z.txt a/x.go"},
			{"**/{y,z}.*", "", "a/b/y.go a/b/z.txt"},
			{"**/[x-z].go", "a", "a/b/y.go a/x.go"},
			{"*.go", "a/b", "a/b/y.go a/b/y_test.go"},
			{"**/?.go", "", "a-b/x.go a/b/y.go a/x.go"},
			{".github/*", "", ".github/ci.yml"},
			{"**/nonesuch", "", ""},
		} {
			if got := tr.files(c.pattern, c.path); got != c.want {
				t.Errorf("%v: %s in %q: %q, want %q", programs, c.pattern, c.path, got, c.want)
			}
		}
	}
}

func TestGlobSearchRefuses(t *testing.T) {
	tr := newTree(t)
	tr.put("f", "", ".git/config", "", "sub/.git/hooks/x", "")
	for _, p := range []string{"[", "{a", "a/[z-a", "\\"} {
		tr.fails(p, "glob_search", map[string]any{"pattern": p}, "bad_pattern", 2, "not a glob pattern")
	}
	for _, p := range []string{"../*", "a/../../b", "/etc/*", ".."} {
		tr.fails(p, "glob_search", map[string]any{"pattern": p}, "bad_pattern", 2, "leads out")
	}
	tr.fails("empty", "glob_search", map[string]any{"pattern": ""}, "invalid_input", 2, "")
	tr.fails("long", "glob_search", map[string]any{"pattern": strings.Repeat("é", 600)}, "bad_pattern", 2, "1200 bytes")
	tr.fails("a file", "glob_search", map[string]any{"pattern": "*", "path": "f"}, "not_a_folder", 1, "f is not a folder")
	tr.fails("missing", "glob_search", map[string]any{"pattern": "*", "path": "x"}, "no_such_file", 8, "x does not exist")
	tr.fails("git's own", "glob_search", map[string]any{"pattern": "*", "path": ".git"}, "invalid_input", 2, "git's own files")
	tr.fails("git's own below", "grep_search", map[string]any{"pattern": "x", "path": "sub/.git/hooks"}, "invalid_input", 2, "git's own files")
	if got := tr.files("**", ""); got != "f" {
		t.Errorf("git's own files: %q", got)
	}
}

// What git ignores is left out, whether it is asked at the top, in a folder
// below, or in a repository of its own further down.
func TestWalkAsksGit(t *testing.T) {
	tr := newTree(t, "git")
	tr.put(".gitignore", "build/\n*.log\n", "a.go", "", "a.log", "", "build/out.go", "", "sub/b.go", "", "sub/b.log", "",
		"sub/.gitignore", "local.go\n", "sub/local.go", "", "tracked.log", "", "gone.go", "")
	tr.git("init", "-q")
	tr.git("add", "-f", "tracked.log", "gone.go")
	tr.must(os.Remove(tr.path("gone.go")))
	tr.put("nested/.gitignore", "*.tmp\n", "nested/n.go", "", "nested/n.tmp", "")
	tr.git("init", "-q", "nested")
	for _, c := range []struct{ path, want string }{
		{"", ".gitignore a.go nested/.gitignore nested/n.go sub/.gitignore sub/b.go tracked.log"},
		{"sub", "sub/.gitignore sub/b.go"},
		{"nested", "nested/.gitignore nested/n.go"},
		{"build", "build/out.go"}, // ignored, but asked for
	} {
		if got := tr.files("**", c.path); got != c.want {
			t.Errorf("%q: %q, want %q", c.path, got, c.want)
		}
	}
	tr.use()
	want := ".gitignore a.go a.log build/out.go nested/.gitignore nested/n.go nested/n.tmp sub/.gitignore sub/b.go sub/b.log sub/local.go tracked.log"
	if got := tr.files("**", ""); got != want {
		t.Errorf("without git: %q, want %q", got, want)
	}
	// A folder of repositories is none itself.
	many := newTree(t, "git")
	many.put("one/.gitignore", "x\n", "one/x", "", "one/y", "", "two/x", "")
	many.git("init", "-q", "one")
	if got := many.files("**", ""); got != "one/.gitignore one/y two/x" {
		t.Errorf("a folder of repositories: %q", got)
	}
}

func TestWalkAsksGitInMerge(t *testing.T) {
	tr := newTree(t, "git")
	tr.put("f", "base\n")
	tr.git("init", "-q")
	tr.git("add", "f")
	tr.git("commit", "-qm", "base")
	tr.git("checkout", "-qb", "other")
	tr.put("f", "theirs\n")
	tr.git("commit", "-qam", "theirs")
	tr.git("checkout", "-q", "main")
	tr.put("f", "ours\n")
	tr.git("commit", "-qam", "ours")
	tr.git("merge-file", "-p", "f", "f", "f") // git is in order
	tr.git("read-tree", "-m", "main~1", "main", "other")
	if got := tr.files("**", ""); got != "f" {
		t.Errorf("an unmerged file: %q", got)
	}
}

// A hostile repository can't make git run anything, nor a hostile workspace
// bring its own git or rg.
func TestGitAndRgAreKeptShort(t *testing.T) {
	tr := newTree(t, "git", "rg")
	witness := tr.path("ran")
	script := "#!/bin/sh\ntouch " + witness + "\n"
	tr.put("f", "x\n", "evil", script, "bin/git", script, "bin/rg", script, ".gitignore", "*.log\n", "f.log", "x\n")
	for _, f := range []string{"evil", "bin/git", "bin/rg"} {
		tr.must(os.Chmod(tr.path(f), 0o755))
	}
	tr.git("init", "-q")
	for _, kv := range [][2]string{
		{"core.fsmonitor", tr.path("evil")}, {"core.hooksPath", tr.dir}, {"core.pager", tr.path("evil")},
		{"alias.ls-files", "!" + tr.path("evil")}, {"core.untrackedCache", "true"},
	} {
		tr.git("config", kv[0], kv[1])
	}
	tr.git("add", "f")
	tr.git("update-index", "--untracked-cache", "--fsmonitor") // so that ls-files would ask it
	tr.git("status")
	tr.must(os.Remove(witness))
	t.Setenv("RIPGREP_CONFIG_PATH", tr.path("evil"))
	t.Setenv("GIT_DIR", "/nonesuch")
	if got := tr.files("f*", ""); got != "f" {
		t.Errorf("glob: %q (git was not asked)", got)
	}
	if out, err := tr.call("grep_search", map[string]any{"pattern": "x", "glob": "f*"}); err != nil || out.Text() != "f:1:1: x" {
		t.Errorf("grep: %v %v", out, err)
	}
	t.Setenv("PATH", tr.path("bin")+":"+os.Getenv("PATH"))
	if out, err := tr.call("grep_search", map[string]any{"pattern": "x", "glob": "f"}); err != nil || out.Text() != "f:1:1: x" {
		t.Errorf("grep: %v %v", out, err)
	}
	if _, err := os.Lstat(witness); err == nil {
		t.Error("a program of the workspace was run")
	}
}

// No symbolic link is followed, also where git still knows a folder there.
func TestWalkFollowsNoLinks(t *testing.T) {
	outside := newTree(t)
	outside.put("secret", "found\n", "d/secret", "found\n")
	for _, programs := range [][]string{nil, {"git"}, {"git", "rg"}} {
		tr := newTree(t, programs...)
		tr.put("real/secret", "found\n", "was/secret", "found\n", "gone/secret", "found\n")
		if len(programs) > 0 {
			tr.git("init", "-q")
			tr.git("add", ".")
		}
		tr.must(os.RemoveAll(tr.path("was")))
		tr.must(os.RemoveAll(tr.path("gone")))
		tr.link(outside.dir, "was")
		tr.link("real", "gone")
		tr.link("real/secret", "file")
		tr.link(outside.path("secret"), "out")
		tr.link("..", "real/up")
		got, _ := tr.paths("glob_search", map[string]any{"pattern": "**"})
		want := "file symlink, gone symlink, out symlink, real/secret file, real/up symlink, was symlink"
		if strings.Join(got, ", ") != want {
			t.Errorf("%v: glob %q, want %q", programs, got, want)
		}
		out, err := tr.call("grep_search", map[string]any{"pattern": "found"})
		if err != nil || out.Text() != "real/secret:1:1: found" {
			t.Errorf("%v: grep %v %v", programs, out, err)
		}
	}
}

func TestWalkAsksTheGate(t *testing.T) {
	for _, programs := range [][]string{nil, {"git"}, {"git", "rg"}, {"rg"}} {
		tr := newTree(t, programs...)
		tr.put(".env", "KEY\n", "a.txt", "KEY\n", "private/b.txt", "KEY\n", "private/deep/c.txt", "KEY\n", "d/.env", "KEY\n")
		if len(programs) > 0 && programs[0] == "git" {
			tr.git("init", "-q")
		}
		tr.deny = []string{".env", "d/.env", "private"}
		out, err := tr.call("grep_search", map[string]any{"pattern": "KEY"})
		if err != nil || out.Text() != "a.txt:1:1: KEY\n[3 skipped: policy does not allow to read them]" || out["skipped"] != 3 {
			t.Errorf("%v: grep %v %v", programs, out, err)
		}
		found, out := tr.paths("glob_search", map[string]any{"pattern": "**/*.txt"})
		if strings.Join(found, " ") != "a.txt file" || out["skipped"] != 1 {
			t.Errorf("%v: glob %v %v", programs, found, out["skipped"])
		}
	}
}
