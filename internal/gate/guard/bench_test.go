package guard

import (
	"testing"

	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/shell"
)

// once answers for a path what it said before, as the judge's does for a call.
type once struct {
	files
	seen map[string]string
}

func (o once) Resolve(path string) (string, error) {
	if r, ok := o.seen[path]; ok {
		return r, nil
	}
	r, err := o.files.Resolve(path)
	if err == nil {
		o.seen[path] = r
	}
	return r, err
}

// What a command costs that hits nothing. The judge has resolved its paths
// already.
func BenchmarkCommand(b *testing.B) {
	g, env := house(b)
	env.Resolver = once{seen: map[string]string{}}
	entry, _ := catalogue.Lookup("bash")
	for name, c := range map[string]string{
		"plain":    "go test ./...",
		"pipeline": "git log --oneline main.go | grep -v fix | sort -u | head -20 > build/out && cat sub/a.txt",
	} {
		input := bash(b, c)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if f := g.Check(&entry, input, env); f.Hit != nil {
					b.Fatal(f.Hit)
				}
			}
		})
	}
}

// What a tool that walks pays for each file.
func BenchmarkMayRead(b *testing.B) {
	g, env := house(b)
	for b.Loop() {
		if !g.MayRead(env.Workspace + "/internal/gate/guard/guard.go") {
			b.Fatal("not allowed")
		}
	}
}

// The part of it that takes the command apart, which policy pays for, too.
func BenchmarkAnalyze(b *testing.B) {
	for b.Loop() {
		shell.Analyze("git log --oneline main.go | grep -v fix | sort -u | head -20 > build/out && cat sub/a.txt")
	}
}
