package policy

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

// linked is a file system in which one name leads out of the workspace.
type linked struct{}

func (linked) Resolve(path string) (string, error) {
	return strings.Replace(filepath.Clean(path), "/ws/.venv/bin/python", "/usr/bin/python", 1), nil
}

func (linked) Glob(string) ([]string, error) { return nil, nil }

// What a person is told of a line: the programs of it that run code of the workspace.
func TestRuns(t *testing.T) {
	const code, hooks = "code from the workspace", "git hooks, if there are any"
	set, err := Compile(nil)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string][]string{
		"npm test": {"npm"}, "npm run build": {"npm"}, "npm ci": {"npm"}, "yarn lint": {"yarn"}, "pnpm build": {"pnpm"},
		"npx eslint .": {"npx", "eslint"}, "make": {"make"}, "make -j8 all": {"make"}, "go test ./...": {"go"}, "go run .": {"go"},
		"go generate ./...": {"go"}, "cargo build": {"cargo"}, "cargo +nightly test": {"cargo"}, "pytest -v": {"pytest"},
		"python -m pytest": {"python"}, "./run.sh": {"./run.sh"}, "tools/x --y": {"tools/x"}, "/ws/run.sh": {"/ws/run.sh"},
		"sh run.sh": {"sh"}, "bash -e tools/run.sh a": {"bash"}, "source env.sh": {"source"}, ". ./env.sh": {"."},
		"python script.py": {"python"}, ".venv/bin/python script.py": {".venv/bin/python"}, "node x.js": {"node"}, "ruby -w x.rb": {"ruby"},
		"bundle exec rake": {"bundle", "rake"}, "mvn verify": {"mvn"}, "./gradlew test": {"./gradlew"}, "java -jar x.jar": {"java"},
		"timeout 5 npm test": {"npm"}, "cd web && npm test": {"npm"}, "env X=1 make": {"make"}, "nohup nice make test &": {"make"},
		"bash -c 'make test'": {"make"}, "ls | xargs ./x": {"./x"}, `find . -exec ./x {} \;`: {"./x"},
		"echo $(make -s version)": {"make"}, "cd ..; make": {"make"}, // a cd that fails leaves the shell here
		"git commit -m x": {"git " + hooks}, "git push": {"git " + hooks}, "git -C . merge x": {"git " + hooks},

		"ls": {}, "go version": {}, "go env": {}, "go build ./...": {}, "npm --version": {}, "npm view x": {}, "cargo --version": {},
		"git status": {}, "git diff": {}, "make --version": {}, "pytest --help": {}, "yarn why x": {}, "cat run.sh": {}, "rm -rf build": {},
		"python -c 'print(1)'": {}, "python --version": {}, "sh -c 'ls'": {}, "node -e 1": {}, "/usr/bin/ls": {}, "sh /opt/x.sh": {}, "../x.sh": {}, "cd .. && make": {},
		"/opt/x/.venv/bin/python x": {"/opt/x/.venv/bin/python"}, ".venv/bin/python --version": {}, "$X test": {}, ">x": {},
		"git -C /opt push": {}, "env -C /opt make": {}, "docker run x npm test": {}, "docker run x ./run.sh": {}, "ssh host make": {}, "echo make": {}, "python $X": {},
	} {
		input, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		env := &Env{Workspace: "/ws", Cwd: "/ws", Home: "/home", Resolver: linked{}}
		d := set.Explain(Call{Tool: "bash", Input: input}, mode.Default, env)
		got := []string{}
		for _, l := range d.Leaves {
			if l.Runs == code {
				got = append(got, l.Argv[0])
			} else if l.Runs != "" {
				got = append(got, l.Argv[0]+" "+l.Runs)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// It changes no decision: outside the workspace the same line is judged the same.
func TestRunsDecidesNothing(t *testing.T) {
	set, err := Compile([]Rule{{Tool: "bash", Command: "make *", Decision: wire.Allow, Scope: User}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		line string
		want wire.Verdict
	}{{"make test", wire.Allow}, {"npm test", wire.Ask}, {"timeout 5 make", wire.Allow}} {
		input, _ := json.Marshal(map[string]string{"command": tt.line})
		for _, ws := range []string{"/ws", "/other"} {
			d := set.Explain(Call{Tool: "bash", Input: input}, mode.Default, &Env{Workspace: ws, Cwd: "/ws", Home: "/home"})
			told := slices.ContainsFunc(d.Leaves, func(l wire.Leaf) bool { return l.Runs != "" })
			if d.Decision != tt.want || told != (ws == "/ws") {
				t.Errorf("%s in %s: %s, told %v", tt.line, ws, d.Decision, told)
			}
		}
	}
}
