package program

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/kxtools/kx/pkg/policy/shell/effect"
	"github.com/kxtools/kx/pkg/policy/shell/language"
)

// show writes effects as words: <read >written <>both, with * for a folder as a
// whole; @address ?operand $run !why, and !project for code of the folder.
func show(e effect.Effects) string {
	var out []string
	for _, f := range e.Files {
		mark := "<"
		if f.Write {
			mark = ">"
		}
		if f.Both {
			mark = "<>"
		}
		if f.Path.Tree {
			mark += "*"
		}
		out = append(out, mark+f.Path.Text)
	}
	for _, w := range e.URLs {
		out = append(out, "@"+w.Text)
	}
	for _, w := range e.Operands {
		out = append(out, "?"+w.Text)
	}
	for _, r := range e.Runs {
		text := "$input"
		if r.Code != nil {
			text = "${" + r.Code.Text + "}"
		} else if r.Argv != nil {
			text = "$(" + effect.Join(r.Argv).Text + ")"
		}
		out = append(out, text)
	}
	for text, on := range map[string]bool{"!neutral": e.Neutral, "!through": e.Through, "!opaque": e.Opaque != "", "!unknown": e.Unknown != "", "!project": e.Project != ""} {
		if on {
			out = append(out, text)
		}
	}
	return strings.Join(sorted(out), " ")
}

func sorted(list []string) []string {
	for i := range list {
		for j := i; j > 0 && list[j] < list[j-1]; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	return list
}

func words(text string) []effect.Word {
	var out []effect.Word
	for _, t := range strings.Fields(text) {
		out = append(out, effect.Word{Text: t, Literal: !strings.ContainsAny(t, "$*"), Glob: strings.Contains(t, "*"), Split: strings.ContainsAny(t, "$*")})
	}
	return out
}

// Each line of testdata/programs.txt is a command and, behind =>, what it does.
// Every row of the table has a line at least.
func TestPrograms(t *testing.T) {
	b, err := os.ReadFile("testdata/programs.txt")
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	row := func(name string) string { // what is said of it
		rest, _ := find(name)
		return rest
	}
	for line := range strings.Lines(string(b)) {
		command, want, ok := strings.Cut(strings.TrimSpace(line), "=>")
		if !ok {
			continue
		}
		argv := words(command)
		name := argv[0].Text
		covered[row(name)] = true
		for _, a := range argv[1:] {
			covered[row(name+" "+a.Text)] = true
		}
		if got := show(Describe(name, argv[1:])); strings.Join(sorted(strings.Fields(got)), " ") != strings.Join(sorted(strings.Fields(want)), " ") {
			t.Errorf("%s=> %s\n   want %s", command, got, want)
		}
	}
	for _, name := range sorted(Names()) {
		if !covered[row(name)] && !language.Has(name) {
			t.Errorf("no line tests the row of %s", name)
			covered[row(name)] = true
		}
	}
}

// The text and the index of the table say the same.
func TestIndex(t *testing.T) {
	names := append(Names(), "", "nonesuch", "gi", "it", "git stat", "r,w", "git|x", "#")
	for _, name := range names {
		a, ok := find(name)
		b, has := index()[name]
		if ok != has || a != b {
			t.Errorf("%q: %v %q in the text, %v %q in the index", name, ok, a, has, b)
		}
	}
}

// A row is made of roles and marks that are known, and a program has one row.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(table) {
		names, rest, ok := strings.Cut(line, " | ")
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		if !ok || strings.Count(rest, "|") < 1 {
			t.Errorf("not a row: %s", line)
			continue
		}
		for name := range strings.SplitSeq(names, ",") {
			if seen[name] {
				t.Errorf("%s has two rows", name)
			}
			seen[name] = true
		}
		r := parse(rest)
		for _, role := range string(r.front) + string(r.star) + string(r.back) {
			if role != 0 && !strings.ContainsRune("-rwbBtWdDunfcsSx?@hHkNP", role) {
				t.Errorf("%s: no role %c", names, role)
			}
		}
		for _, f := range r.flags {
			if f.role != 0 && !strings.ContainsRune("-rwbtWdDunfcs?@hHkP", rune(f.role)) || !effect.In("tree inplace skip quiet code far lost here away dirs", f.does) && f.does != "" {
				t.Errorf("%s: %+v", names, f)
			}
		}
		for _, m := range r.marks {
			if strings.HasPrefix(m, project+":") || strings.HasPrefix(m, project+"~") {
				m = project
			}
			if !effect.In("project closed first long through assigns dash plus more num bare here neutral none code stdin far file names lost packs", m) {
				t.Errorf("%s: no mark %s", names, m)
			}
		}
	}
}

// However the words of a program are put together, it is described.
func TestAnyWords(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pool := words("- -- -a -c -C -d -e -f -i -I -o -r -s -t -x -n5 -of -- --output --output=f --file f a=b = : h:p @f f * $x -$x --x=$y ; + {} ! ( ) . / ~ run exec foreach set 1p w s/a/b/w ''")
	names := append(Names(), "find", "nothing")
	for range 200_000 {
		name := names[random.IntN(len(names))]
		args := make([]effect.Word, 0, 6)
		if program, sub, ok := strings.Cut(name, " "); ok {
			name, args = program, append(args, effect.Word{Text: sub, Literal: true})
		}
		for range random.IntN(6) {
			args = append(args, pool[random.IntN(len(pool))])
		}
		Describe(name, args)
	}
}
