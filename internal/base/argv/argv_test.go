package argv

import (
	"errors"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kxtools/kx/internal/base/fail"
)

// tree is a small program with every kind of node and flag.
func tree() *Node {
	return &Node{
		Name: "kx",
		Flags: []Flag{
			{Names: []string{"C"}},
			{Names: []string{"output", "o"}},
			{Names: []string{"json"}, Bool: true},
			{Names: []string{"quiet", "q"}, Bool: true},
			{Names: []string{"verbose", "v"}, Bool: true, Repeat: true},
		},
		Nodes: []*Node{
			{Name: "policy", Flags: []Flag{{Names: []string{"file"}}}, Nodes: []*Node{
				{Name: "check", Flags: []Flag{
					{Names: []string{"tool", "t"}},
					{Names: []string{"input"}, Repeat: true},
					{Names: []string{"exit-zero"}, Bool: true},
					{Names: []string{"num", "n"}},
				}},
				{Name: "matrix", Flags: []Flag{{Names: []string{"tool"}}, {Names: []string{"n"}, Bool: true}}},
			}},
			{Name: "approve", Args: true, Nodes: []*Node{{Name: "list"}, {Name: "allow", Flags: []Flag{{Names: []string{"scope"}}}}}},
			{Name: "raw", Raw: true},
			{Name: "__secret"},
		},
	}
}

func TestNormalize(t *testing.T) {
	for line, want := range map[string]string{
		"":                                       "kx",
		"--":                                     "kx",
		"policy check":                           "kx policy check",
		"policy check --tool bash":               "kx policy check --tool=bash",
		"policy check --tool=bash":               "kx policy check --tool=bash",
		"policy check -t bash":                   "kx policy check --tool=bash",
		"policy check -tbash":                    "kx policy check --tool=bash",
		"policy check -t=bash":                   "kx policy check --tool=bash",
		"--tool bash policy check":               "kx policy check --tool=bash",
		"policy --tool bash check x":             "kx policy check --tool=bash -- x",
		"policy check x --json":                  "kx --json policy check -- x",
		"policy check x -qn3 y":                  "kx --quiet policy check --num=3 -- x y",
		"policy check -vvq -v":                   "kx --quiet --verbose --verbose --verbose policy check",
		"policy matrix -qn":                      "kx --quiet policy matrix -n",
		"policy check --file=f":                  "kx policy --file=f check",
		"policy check -C dir":                    "kx -C=dir policy check",
		"policy check -- --json":                 "kx policy check -- --json",
		"policy check - --json":                  "kx --json policy check -- -",
		"policy check -5 -3.5 -.5":               "kx policy check -- -5 -3.5 -.5",
		"policy check -n -5":                     "kx policy check --num=-5",
		"policy check --tool --json":             "kx policy check --tool=--json",
		"policy check --tool=":                   "kx policy check --tool=",
		"policy check --exit-zero=false":         "kx policy check --exit-zero=false",
		"policy check --input a,b --input c":     "kx policy check --input=a,b --input=c",
		"approve":                                "kx approve",
		"approve a3fk":                           "kx approve -- a3fk",
		"approve list":                           "kx approve list",
		"approve -- list":                        "kx approve -- list",
		"approve a3fk list":                      "kx approve -- a3fk list",
		"--scope once approve allow a3fk":        "kx approve allow --scope=once -- a3fk",
		"--json raw --bogus -x -- --help":        "kx --json raw --bogus -x -- --help",
		"raw -h":                                 "kx raw -h",
		"--help":                                 "kx --help",
		"policy check x --help":                  "kx policy check --help",
		"policy -h check x":                      "kx policy check --help",
		"policy check -qh":                       "kx policy check --help",
		"policy check --bogus -h":                "kx policy check --help",
		"policy check --tool --help":             "kx policy check --help",
		"--bogus value policy --help":            "kx policy --help",
		"policy check --json --json --help":      "kx policy check --help",
		"policy check -- --help":                 "kx policy check -- --help",
		"policy check --tool bash --json --help": "kx policy check --help",
	} {
		got, err := Normalize(tree(), strings.Fields(line))
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		if s := strings.Join(got.Argv, " "); s != want {
			t.Errorf("%q:\n got %q\nwant %q", line, s, want)
		}
	}
}

func TestNormalizeComplaints(t *testing.T) {
	for line, want := range map[string][2]string{
		"aprove":                       {`unknown command "aprove"; did you mean approve?`, "kx approve"},
		"polcy check --tool 'x":        {`unknown command "polcy"; did you mean policy?`, `kx policy check --tool ''\''x'`},
		"policy chekc":                 {`unknown command "policy chekc"; did you mean check?`, "kx policy check"},
		"matrix":                       {`unknown command "matrix"; did you mean policy matrix?`, "kx policy matrix"},
		"mat":                          {`unknown command "mat"`, "kx --help"},
		"xyzzy":                        {`unknown command "xyzzy"`, "kx --help"},
		"policy xyzzy":                 {`unknown command "policy xyzzy"`, "kx policy --help"},
		"policy help":                  {`unknown command "policy help"`, "kx policy --help"},
		"__secre":                      {`unknown command "__secre"`, "kx --help"},
		"policy check --tol bash":      {"unknown flag --tol; did you mean --tool?", "kx policy check --tool bash"},
		"policy check --tol=bash":      {"unknown flag --tol; did you mean --tool?", "kx policy check --tool=bash"},
		"policy check -json":           {"unknown flag -json; did you mean --json?", "kx policy check --json"},
		"--jsn policy check":           {"unknown flag --jsn; did you mean --json?", "kx --json policy check"},
		"policy check --scope once":    {"unknown flag --scope", "kx policy check --help"},
		"policy check -x":              {"unknown flag -x", "kx policy check --help"},
		"policy check --t x":           {"unknown flag --t", "kx policy check --help"},
		"--xyzzy nothing":              {"unknown flag --xyzzy", "kx --help"},
		"-n policy check":              {"unknown flag -n", "kx --help"}, // a number for check, a switch for matrix
		"policy check --json --json":   {"--json was given twice", "kx policy check --help"},
		"policy check -t a --tool b":   {"--tool was given twice", "kx policy check --help"},
		"-o json policy -o md check":   {"-o was given twice", "kx policy check --help"},
		"policy check --tool":          {"--tool needs a value", "kx policy check --help"},
		"policy check --tool -- x":     {"--tool needs a value", "kx policy check --help"},
		"policy check -o":              {"-o needs a value", "kx policy check --help"},
		"policy check --json=perhaps":  {"--json takes no value", "kx policy check --json"},
		"policy -- check":              {"kx policy needs a command before --", "kx policy --help"},
		"policy check --tool\x1b x":    {"unknown flag --tool\x1b; did you mean --tool?", "kx policy check --tool x"},
		"policy check --tol \x1b[31mx": {"unknown flag --tol; did you mean --tool?", "kx policy check --help"},
	} {
		_, err := Normalize(tree(), strings.Fields(line))
		var e *fail.Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %v is no *fail.Error", line, err)
			continue
		}
		if diff := cmp.Diff(want, [2]string{e.Msg, e.Hint}); diff != "" || e.Exit != fail.ExitUsage {
			t.Errorf("%q: exit %d, -want +got:\n%s", line, e.Exit, diff)
		}
	}
}

// TestAnyOrder puts the flags of a line anywhere between its words and expects
// the same canonical line, which is its own canonical line.
func TestAnyOrder(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	lines := []struct{ words, flags []string }{
		{[]string{"policy", "check", "one", "-", "-7"}, []string{"--json", "-o=md", "--tool|bash", "-n|3", "--input=z", "-v", "-q", "--exit-zero", "-C|d", "--file|f"}},
		{[]string{"approve", "allow", "a3fk"}, []string{"--scope|once", "-vv", "--output|jsonl"}},
		{[]string{"approve", "a3fk"}, []string{"--quiet", "-C=x y"}},
		{[]string{"policy", "matrix"}, []string{"--tool=x", "-v"}},
	}
	for _, l := range lines {
		var want []string
		for i := range 2000 {
			line := slices.Clone(l.words)
			for _, k := range r.Perm(len(l.flags)) {
				at := r.Intn(len(line) + 1)
				for at > 0 && at < len(line) && strings.HasSuffix(line[at-1], "|") {
					at++ // not between a flag and its value
				}
				line = slices.Insert(line, at, l.flags[k])
			}
			var split []string
			for _, w := range line {
				split = append(split, strings.Split(w, "|")...)
			}
			got, err := Normalize(tree(), split)
			if err != nil {
				if strings.Contains(err.Error(), "unknown flag -n") {
					continue // ambiguous before the word that settles it
				}
				t.Fatalf("%q: %v", split, err)
			}
			if i == 0 || want == nil {
				want = got.Argv
			}
			if !slices.Equal(got.Argv, want) {
				t.Fatalf("%q:\n got %q\nwant %q", split, got.Argv, want)
			}
			again, err := Normalize(tree(), got.Argv[1:])
			if err != nil || !slices.Equal(again.Argv, got.Argv) {
				t.Fatalf("%q is not canonical: %v %v", got.Argv, again, err)
			}
		}
		if want == nil {
			t.Fatalf("%q was never understood", l.words)
		}
	}
}

func TestAt(t *testing.T) {
	type spot struct{ Path, Word, Flag, Prefix, Flags, May string }
	for line, want := range map[string]*spot{
		"|":                      {Path: "kx", May: "command"},
		"pol|":                   {Path: "kx", Word: "pol", May: "command"},
		"policy |":               {Path: "kx policy", May: "command"},
		"policy check |":         {Path: "kx policy check", May: "arg"},
		"approve |":              {Path: "kx approve", May: "command arg"},
		"approve x |":            {Path: "kx approve", May: "arg"},
		"policy check -- --x|":   {Path: "kx policy check", Word: "--x", May: "arg"},
		"raw --x|":               {Path: "kx raw", Word: "--x", May: "arg"},
		"policy check --tool |":  {Path: "kx policy check", Flag: "tool"},
		"policy check -t b|":     {Path: "kx policy check", Flag: "tool", Word: "b"},
		"policy check --tool=b|": {Path: "kx policy check", Flag: "tool", Word: "b", Prefix: "--tool="},
		"policy check -o=j|":     {Path: "kx policy check", Flag: "output", Word: "j", Prefix: "-o="},
		"policy check -oj|":      {Path: "kx policy check", Flag: "output", Word: "j", Prefix: "-o"},
		"policy --json check --tool x -q --|": {
			Path: "kx policy check", Word: "--", Flags: "--input --exit-zero --num --file -C --output --verbose"},
		"approve list -|": {Path: "kx approve list", Word: "-", Flags: "-C --output --json --quiet --verbose"},
		"bogus |":         nil,
		"--bogus |":       nil,
		"--json=x|":       nil,
		"--bogus=x|":      nil,
	} {
		typed := strings.TrimSuffix(line, "|")
		words := append(strings.Fields(typed), "")
		if !strings.HasSuffix(typed, " ") && typed != "" {
			words = strings.Fields(typed)
		}
		s := At(tree(), words)
		var got *spot
		if s != nil {
			got = &spot{Path: Words(s.Path), Word: s.Word, Flag: s.Flag, Prefix: s.Prefix}
			var flags, may []string
			for _, f := range s.Flags {
				flags = append(flags, f.Dashed())
			}
			if s.Commands {
				may = append(may, "command")
			}
			if s.Arg {
				may = append(may, "arg")
			}
			got.Flags, got.May = strings.Join(flags, " "), strings.Join(may, " ")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: -want +got:\n%s", line, diff)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "~": "'~'", "*": "'*'",
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"policy", "approve", "list", "show", "session", "secret"}
	for in, want := range map[string]string{
		"lsit": "list", "pol": "policy", "aprove": "approve", "approev": "approve", "se": "", "sess": "session",
		"s": "", "": "", "xxxx": "", "lost": "list", strings.Repeat("x", 10000): "",
	} {
		if got := Nearest(in, names); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"", "policy check --tool bash", "-qn3", "--=", "-", "--", "-=", "approve -- list", "-\xff", "--tol \x00", "raw -- x", "---"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words := strings.Split(s, " ")
		At(tree(), words)
		line, err := Normalize(tree(), words)
		if err != nil {
			var e *fail.Error
			if !errors.As(err, &e) || e.Exit != fail.ExitUsage || e.Hint == "" {
				t.Fatalf("%q: %#v", words, err)
			}
			return
		}
		again, err := Normalize(tree(), line.Argv[1:])
		if err != nil || !slices.Equal(again.Argv, line.Argv) || !slices.Equal(again.Args, line.Args) {
			t.Fatalf("%q: %q is not canonical: %v, %v", words, line.Argv, again, err)
		}
	})
}
