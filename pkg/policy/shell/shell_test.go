package shell

import (
	"fmt"
	"strings"
	"testing"
)

// show prints an analysis as one line: leaves by ";", each as [kind]argv with
// its marks.
func show(s Script) string {
	if s.Unknown != "" {
		return "unknown"
	}
	var out []string
	for _, l := range s.Leaves {
		t := strings.Join(l.Argv(), " ")
		switch l.Kind {
		case Transparent:
			t = "~" + t
		case Neutral:
			t = "=" + t
		}
		for _, f := range l.Files {
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
			if !f.Path.Literal {
				mark += "?"
			}
			t += " " + mark + f.Path.Text
		}
		for _, u := range l.URLs {
			t += " @" + u.Text
		}
		if l.Opaque != "" {
			t += " !opaque"
		}
		if l.Unknown != "" {
			t += " !unknown"
		}
		if len(l.Dirs) != 1 || l.Dirs[0] != "" {
			t += " in:" + fmt.Sprint(l.Dirs)
		}
		out = append(out, t)
	}
	return strings.Join(out, "; ")
}

func TestAnalyze(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{"ls", "ls <."},
		{"git   status # && touch x", "git status"},
		{"a | b |& c", "a; b; c"},
		{"a && b || c; d & e", "a; b; c; d; e"},
		{"(a; { b; })", "a; b"},
		{"! a", "a"},
		{"echo $(a `b`)", "b; a $(b); echo $(a $(b))"},
		{"echo \"$(a)\"", "a; echo $(a)"},
		{"echo '$(a)'", "echo $(a)"},
		{"cat <(a)", "a; cat <(a)"},
		{"'r'm\\ x \"y z\"", "rm x y z"},
		{"\\rm x", "rm x >x"},
		{"r''m x", "rm x >x"},
		{"/usr/bin/touch x", "/usr/bin/touch x >x"},
		{"echo a > f", "echo a >f"},
		{"echo a >> f 2>&1", "echo a >f"},
		{"echo a &> f", "echo a >f"},
		{"echo a >& f", "echo a >f"},
		{"echo a >&2", "echo a"},
		{"echo a 2>/dev/null", "echo a"},
		{"wc < f", "wc <f"},
		{"a <> f", "a <f >f"},
		{"> f", " >f"},
		{"echo > $x", "echo >?$x"},
		{"echo > /dev/tcp/h/1", "echo !unknown"},
		{"{ a; } > f", "= >f; a"},
		{"cat <<E\n$(a)\nE", "a; cat"},
		{"cat <<'E'\n$(a)\nE", "cat"},
		{"cat <<< $(a)", "a; cat"},
		{"x=1", "=x=1"},
		{"FOO=1 git status", "git status"},
		{"PATH=.:$PATH git status", "git status !unknown"},
		{"LD_PRELOAD=/tmp/x git status", "git status !unknown"},
		{"GIT_PAGER='a' git log", "git log !unknown"},
		{"export PATH=x", "=PATH=x !unknown"},
		{"read PATH", "read PATH !unknown"},
		{"for PATH in a; do b; done", " !unknown; b"},
		{"X=rm; $X x", "=X=rm; $X x !unknown"},
		{"$(echo rm) x", "echo rm; $(echo rm) x !unknown"},
		{"/bin/r? x", "/bin/r? x !unknown"},
		{"env a b", "~env a b; a b"},
		{"env -i -u X A=1 a b", "~env -i -u X A=1 a b; a b"},
		{"env -S 'a b'", "~env -S a b !unknown; a b"},
		{"env PATH=x a", "~env PATH=x a !unknown; a"},
		{"env", "env"},
		{"timeout -k 1 5 a", "~timeout -k 1 5 a; a"},
		{"timeout --signal=KILL 5 a", "~timeout --signal=KILL 5 a; a"},
		{"nice -n 5 a", "~nice -n 5 a; a"},
		{"nice -5 a", "~nice -5 a; a"},
		{"nohup setsid -w stdbuf -oL a", "~nohup setsid -w stdbuf -oL a; ~setsid -w stdbuf -oL a; ~stdbuf -oL a; a"},
		{"time -p a", "a"},
		{"command a", "~command a; a"},
		{"command -v a", "=command -v a"},
		{"sudo -u x a", "sudo -u x a; a"},
		{"sudo --weird a", "sudo --weird a !opaque"},
		{"xargs -n1 rm", "xargs -n1 rm; rm … >?…"},
		{"timeout $X a", "~timeout $X a !unknown; a"},
		{"sh -c 'a'", "sh -c a; a"},
		{"bash -lc 'a'", "bash -lc a; a"},
		{"echo a | sh", "echo a; sh !opaque; a"},
		{"bash <<E\na\nE", "bash; a"},
		{"bash x.sh", "bash x.sh <x.sh"},
		{"python3 -c 'x'", "python3 -c x !opaque"},
		{"python3 x.py", "python3 x.py <x.py"},
		{"eval a", "eval a; a"},
		{". ./x", ". ./x <./x !opaque"},
		{"trap 'a' EXIT", "trap a EXIT; a"},
		{"coproc a", "a"},
		{"if a; then b; elif c; then d; else e; fi", "a; b; c; d; e"},
		{"while a; do b; done < f", "= <f; a; b"},
		{"for f in a b; do echo $f; done", "echo $f"},
		{"case $x in a) b;; esac", "b"},
		{"f(){ a; }; f", "a; f"},
		{"[[ -f x && -n $y ]]", "=[["},
		{"[[ $x -eq 1 ]]", "=[["},
		{"[ -f x ]", "=[ -f x ]"},
		{"[ -v 'a[$(b)]' ]", "=[ -v a[$(b)] ] !unknown"},
		{"echo $((1+2))", "echo $((1 + 2))"},
		{"echo $((x))", "echo $((x))"},
		{"echo ${x@P}", " !unknown; echo ${x@P}"},
		{"echo ${!x}", " !unknown; echo ${!x}"},
		{"declare -i x=a", "=x=a !unknown"},
		{"printf -v 'a[$(b)]' x", "printf -v a[$(b)] x !unknown"},
		{"cp a b", "cp a b <a >b"},
		{"cp -t d a", "cp -t d a <a >d/a >d"},
		{"mv a b", "mv a b <>*a >*b"},
		{"cat $x", "cat $x <?$x"},
		{"grep -r x .", "grep -r x . <*."},
		{"grep -e x f", "grep -e x f <f"},
		{"sort -o f g", "sort -o f g >f <g"},
		{"git log --output=f", "git log --output=f >*f"},
		{"git log $x", "git log $x !unknown"},
		{"git -c alias.x='!a' x", "git -c alias.x=!a x !opaque"},
		{"find . -name q", "find . -name q <*."},
		{"find . -delete", "find . -delete <*. !unknown"},
		{"find . -exec rm {} +", "find . -exec rm {} + <*.; rm {} >?{}"},
		{"find . -fprint f", "find . -fprint f <*. >f"},
		{"find $x", "find $x <*?$x !unknown"},
		{"sed -n 1,5p f", "sed -n 1,5p f <f"},
		{"sed s/a/b/g f", "sed s/a/b/g f <f"},
		{"sed 's/a/b/w g' f", "sed s/a/b/w g f >g <f"},
		{"sed -i s/a/b/ f", "sed -i s/a/b/ f <>f"},
		{"dd if=a of=b", "dd if=a of=b <a >b"},
		{"curl https://x.org", "curl https://x.org @https://x.org"},
		{"curl -o f https://x.org", "curl -o f https://x.org >f @https://x.org"},
		{"docker run x a", "docker run x a !opaque; ~a"},
		{"echo {a,b}", "echo {a,b}"},
		{"cd web && npm test | tee out.log", "=cd web; npm test in:[web]; tee out.log >out.log in:[web]"},
		{"cd web; echo a > f", "=cd web; echo a >f in:[ web]"},
		{"(cd web && a); b", "=cd web; a in:[web]; b"},
		{"cd $x && a", "=cd $x; a in:[]"},
		{"cd /tmp && a > f", "=cd /tmp; a >f in:[/tmp]"},
		{"env cd x && a > f", "~env cd x; =cd x; a >f"},
		{"command cd x && a", "~command cd x; =cd x; a in:[x]"},
		{"cd(){ :; }; cd /x && a", " !unknown; =: in:[]; =cd /x in:[]; a in:[/x]"},
		{"a\r\nb", "unknown"},
		{"echo 'a", "unknown"},
		{"a\x00b", "unknown"},
		{"a \xff", "unknown"},
		{strings.Repeat("x", MaxLength+1), "unknown"},
		{"(( x++ ))", ""},
		{"a ~/x ~bob/y", "a ~/x ~bob/y"},
		{"", ""},
	} {
		if got := show(Analyze(tt.src)); got != tt.want {
			t.Errorf("%q\n got %s\nwant %s", tt.src, got, tt.want)
		}
	}
}

func TestWord(t *testing.T) {
	for _, tt := range []struct {
		src           string
		text          string
		literal, glob bool
	}{
		{`ab`, "ab", true, false},
		{`"a b"'c'\d`, "a bcd", true, false},
		{`"a\$b\x"`, `a$b\x`, true, false},
		{`$'a'`, "a", false, false},
		{`$'\x61'`, `a`, false, false},
		{`$x`, "$x", false, false},
		{`*.go`, "*.go", false, true},
		{`'*'.go`, "*.go", true, false},
		{`{a,b}`, "{a,b}", false, false},
		{`~/x`, "~/x", true, false},
		{`~bob`, "~bob", false, false},
		{`x=~/y`, "x=~/y", false, false},
		{"a\\\nb", "ab", true, false},
	} {
		s := Analyze("p " + tt.src)
		if len(s.Leaves) != 1 || len(s.Leaves[0].Words) != 2 {
			t.Errorf("%s: %+v", tt.src, s)
			continue
		}
		w := s.Leaves[0].Words[1]
		if w.Text != tt.text || w.Literal != tt.literal || w.Glob != tt.glob {
			t.Errorf("%s: got %+v", tt.src, w)
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{"a && b", "echo $(a) > x", "x=${y[$((1))]}", "cat <<E\na\nE", "[[ a -eq b ]]", "a() { b; }", "cd x; (cd y)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		s := Analyze(src)
		for _, l := range s.Leaves {
			if len(l.Words) > 0 && l.Words[0].Text == "" && l.Unknown == "" && l.Kind == Command {
				t.Errorf("%q: a command without a name is taken as understood", src)
			}
		}
	})
}

// What a deny has to see although an allow may not count on it.
func TestDollarQuotes(t *testing.T) {
	for src, want := range map[string]string{
		`a $'\x2e\163sh\t\'\\'`: ".ssh\t'\\", `a $'\u00e9\n'`: "é\n", `a $'x\'`: "", `a $'\x'`: "x", `a $'\1x'`: "\x01x", `a $'\q'`: "q",
	} {
		s := Analyze(src)
		if want == "" {
			if s.Unknown == "" {
				t.Errorf("%s is understood", src)
			}
			continue
		}
		if w := s.Leaves[0].Words[1]; w.Text != want || w.Literal {
			t.Errorf("%s: %q %v, want %q", src, w.Text, w.Literal, want)
		}
	}
}

// What variables get, and what is given as input.
func TestValues(t *testing.T) {
	s := Analyze("a=1 b=~/x; export c=$d; for e in f g; do h=(i j); done\ncat <<< k <<L\nm\nL")
	got := ""
	for _, v := range s.Values {
		got += v.Name + "=" + v.Word.Text + " "
	}
	for _, w := range s.Input {
		got += "<" + w.Text
	}
	if want := "a=1 b=~/x c=$d e=f e=g h=i h=j <k<m\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
