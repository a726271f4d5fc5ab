package fatigue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kxtools/kx/pkg/wire"
)

func TestCauses(t *testing.T) {
	rule := func(line int, command string) *wire.Rule {
		return &wire.Rule{Tool: "bash", When: map[string]string{"command": command}, Decision: wire.Ask, Scope: "user", Source: fmt.Sprintf("/c/policy.toml:%d", line)}
	}
	builtin := &wire.Rule{Tool: "write_file", Decision: wire.Ask, Scope: "builtin", Source: "built-in"}
	wrote := bash("tee x")
	wrote.Leaves[0].Points = append(wrote.Leaves[0].Points, wire.Point{Effect: "write", Resource: "x", Decision: wire.Ask, Rule: builtin})
	half := bash("make test", "ls")
	half.Leaves[1].Points[0].Decision = wire.Allow
	file := wire.Decision{Tool: "write_file", Points: []wire.Point{{Effect: "write", Resource: "a", Decision: wire.Ask, Rule: builtin}}}
	raised := wire.Decision{Tool: "bash", Reason: "a hook asks", Leaves: []wire.Leaf{{Argv: []string{"ls"}, Points: []wire.Point{{Decision: wire.Allow}}}}}
	for _, tt := range []struct {
		name  string
		calls []wire.Decision
		ends  []string
		want  []string
	}{
		{"equal beginnings are one", []wire.Decision{bash("npm test"), bash("npm test -- --x"), bash("npm run build")}, []string{"allowed", "denied", "pending"},
			[]string{"2 1 1 bash npm test", "1 0 0 bash npm run build"}},
		{"only what asked", []wire.Decision{half}, []string{"allowed"}, []string{"1 1 0 bash make test"}},
		{"a call that asks for two reasons counts at both", []wire.Decision{bash("git push", "rm -r x")}, []string{"denied"}, []string{"1 0 1 bash git push", "1 0 1 bash rm"}},
		{"once for a command, whatever it does", []wire.Decision{wrote}, []string{"allowed"}, []string{"1 1 0 bash tee"}},
		{"other tools", []wire.Decision{file, file}, []string{"allowed", "allowed"}, []string{"2 2 0 write_file"}},
		{"by a rule, wherever it stands by now", []wire.Decision{ruled(rule(3, "go *"), "go test ./..."), ruled(rule(9, "go *"), "go test ."), ruled(rule(4, "go test *"), "go test .")}, []string{"allowed", "expired", "allowed"},
			[]string{"2 1 0 bash go test /c/policy.toml:9", "1 1 0 bash go test /c/policy.toml:4"}},
		{"what no part of it asks for", []wire.Decision{raised}, []string{"denied"}, []string{"1 0 1 bash a hook asks"}},
		{"a redirect alone", []wire.Decision{{Tool: "bash", Leaves: []wire.Leaf{{Points: []wire.Point{{Effect: "write", Decision: wire.Ask}}}}}}, []string{"allowed"}, []string{"1 1 0 bash"}},
	} {
		p := newPast(t)
		for i, d := range tt.calls {
			id := fmt.Sprint("r", i)
			p.asks(id, d)
			if tt.ends[i] != wire.ApprovalPending {
				p.ends(id, tt.ends[i])
			}
		}
		var got []string
		for _, c := range p.read().Causes {
			line := fmt.Sprint(c.Asked, c.Allowed, c.Denied, " ", c.Tool, " ", c.Command, " ", c.Reason)
			if c.Rule != nil {
				line += " " + c.Rule.Source
			}
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		slices.Sort(tt.want)
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestWords(t *testing.T) {
	for line, want := range map[string]string{
		"":                       "",
		"rm -rf build":           "rm",
		"git push origin main":   "git push",
		"git -C x push":          "git",
		"git remote add x y":     "git remote add",
		"npm test":               "npm test",
		"npm run build -- -x":    "npm run build",
		"npm run":                "npm run",
		"/usr/bin/go test ./...": "/usr/bin/go test",
		"python x.py --all":      "python x.py",
		"python -c x":            "python",
		"./run.sh a":             "./run.sh",
		"docker compose up -d":   "docker compose up",
		"cargo test --all":       "cargo test",
		"tee out.log":            "tee",
	} {
		if got := Words(strings.Fields(line)); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
