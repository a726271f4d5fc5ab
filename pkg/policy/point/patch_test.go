package point

import (
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/patch"
)

func patchPoints(t *testing.T, text string) []Point {
	t.Helper()
	entry, _ := catalogue.Lookup("apply_patch")
	input, err := json.Marshal(map[string]string{"patch": text})
	if err != nil {
		t.Fatal(err)
	}
	e := &Env{Workspace: "/ws", Cwd: "/ws/sub", Home: "/home/u"}
	return e.Points(&entry, input)
}

func TestPatchPoints(t *testing.T) {
	for _, c := range []struct {
		what, text string
		want       []string
		known      bool
	}{
		{"envelope", "*** Begin Patch\n*** Update File: a\n*** Move to: ../b\n*** Add File: ~/c\n+x\n*** Delete File: /d\n*** End Patch", []string{"/ws/sub/a", "/ws/b", "/home/u/c", "/d"}, true},
		{"git", "diff --git a/x b/y\nrename from x\nrename to y\n", []string{"/ws/sub/x", "/ws/sub/y"}, true},
		{"quoted", "--- \"a/\\057etc\"\n+++ \"b/\\057etc\"\n@@ -1 +1 @@\n-a\n+b\n", []string{"/etc"}, true},
		{"a name with dots", "--- /dev/null\n+++ b/../../etc/x\n@@ -0,0 +1 @@\n+a\n", []string{"/etc/x"}, true},
		{"names in content are none", "*** Begin Patch\n*** Add File: a\n+*** Add File: /etc/passwd\n+--- /etc/x\n*** End Patch", []string{"/ws/sub/a"}, true},
		{"a counted line is no name", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n--- /etc/x\n+++ /etc/x\n", []string{"/ws/sub/f"}, true},
		{"cut off", "*** Begin Patch\n*** Delete File: a\n", []string{"/ws/sub/a"}, false},
		{"none", "hello", nil, false},
	} {
		var got []string
		known := true
		for _, p := range patchPoints(t, c.text) {
			if p.Effect != catalogue.Write || p.Tool != "apply_patch" {
				t.Errorf("%s: %+v", c.what, p)
			}
			if p.Unknown != "" {
				known = false
			} else {
				got = append(got, p.Where.Resolved)
			}
		}
		if !slices.Equal(got, c.want) || known != c.known {
			t.Errorf("%s: %q, %t", c.what, got, known)
		}
	}
}

// Each file that the tool would change is a point, and there is no patch without one.
func FuzzPatchPoints(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch")
	f.Add("diff --git \"a/\\141\" b/a\nnew mode 100755\n--- a/x\t\n+++ b/x\n@@ -1 +1 @@\n-\n+x")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // JSON has no such text
		}
		pts := patchPoints(t, text)
		if len(pts) == 0 {
			t.Fatal("no point")
		}
		files, err := patch.Parse(text)
		if (err != nil) != slices.ContainsFunc(pts, func(p Point) bool { return p.Where == nil }) {
			t.Fatalf("%v, but %+v", err, pts)
		}
		e := &Env{Workspace: "/ws", Cwd: "/ws/sub", Home: "/home/u"}
		for _, file := range files {
			for _, name := range file.Names() {
				where, err := e.Locate(e.Cwd, name)
				if err != nil || !slices.ContainsFunc(pts, func(p Point) bool { return *p.Where == *where }) {
					t.Fatalf("%q (%v) is no point", name, err)
				}
			}
		}
	})
}
