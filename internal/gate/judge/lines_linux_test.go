package judge

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// lines makes command lines of every kind that the analysis of pkg/policy/shell
// speaks of, out of programs that record how they were started and real ones that
// change files.
type lines struct{ *rand.Rand }

func (g lines) pick(list ...string) string { return list[g.IntN(len(list))] }

// shims only record their words.
var shims = []string{"alpha", "beta", "omega"}

// line is a whole line.
func (g lines) line() string {
	text := g.statement(3)
	for range g.IntN(3) {
		text += g.pick(" && ", " || ", "; ", "\n", " & ", " | ", " |& ") + g.statement(2)
	}
	return g.pick("", "", "", "", "x=omega y=a z=1; ", "set -e; ", "cd sub && ", "cd sub; ", "f() { "+g.statement(1)+"; }; f; ", "# remark\n", "trap '"+g.bare(1)+"' EXIT; ") + text + g.pick("", "", "", " # remark", "; wait")
}

func (g lines) statement(depth int) string {
	if depth == 0 {
		return g.simple(0)
	}
	d := depth - 1
	switch g.IntN(24) {
	case 0:
		return "( " + g.statement(d) + " )"
	case 1:
		return "{ " + g.statement(d) + "; }" + g.redirect(d)
	case 2:
		return "if " + g.statement(d) + "; then " + g.statement(d) + g.pick("", "; else "+g.statement(d)) + "; fi"
	case 3:
		return "for v in " + g.pick("a b", "1 2", "{a,b}", "*", "$(alpha)", "") + "; do " + g.statement(d) + g.pick("", " $v", " \"$v\"") + "; done"
	case 4:
		return g.pick("while ", "until ") + g.statement(d) + "; do " + g.statement(d) + "; break; done" + g.redirect(d)
	case 5:
		return "case " + g.word(d) + " in " + g.pick("a", "*", "o*|b") + ") " + g.statement(d) + g.pick(";;", ";&", "") + " esac"
	case 6:
		return "! " + g.simple(d)
	case 7:
		return g.pick("time ", "time -p ") + g.statement(d)
	case 8:
		return "[[ -n " + g.word(d) + " ]] && " + g.statement(d)
	case 9:
		return "coproc " + g.simple(d) + "; wait"
	case 10:
		return "for ((i=0; i<2; i++)); do " + g.statement(d) + "; done"
	case 11:
		return g.pick("x=", "declare x=", "export x=") + g.word(d) + "; " + g.simple(d) + g.pick("", " $x", " \"$x\"", "; $x a")
	case 12:
		return "echo " + g.pick("'"+g.bare(d)+"'", "\""+g.bare(d)+"\"") + " | " + g.pick("sh", "bash", "bash -s", "xargs", "xargs -n1 beta", "cat", "tee a")
	}
	return g.simple(d)
}

// bare is a command without quotes, for inside of quotes.
func (g lines) bare(depth int) string {
	return strings.NewReplacer("'", "", `"`, "", "\n", ";", `\`, "").Replace(g.simple(min(depth, 1)))
}

func (g lines) simple(depth int) string {
	head := g.pick("", "", "", "", "", "A=1 ", "A="+g.word(0)+" ", "LANG=C B=2 ")
	if depth > 0 && g.IntN(3) == 0 {
		return head + g.wrapped(depth)
	}
	if g.IntN(2) == 0 {
		return head + g.files() + g.redirect(depth)
	}
	text := g.name()
	for range g.IntN(3) {
		text += " " + g.word(depth)
	}
	return head + text + g.redirect(depth)
}

func (g lines) name() string {
	s := shims[g.IntN(len(shims))]
	return g.pick(s, s, s, s, "'"+s+"'", `"`+s+`"`, `\`+s, s[:2]+"''"+s[2:], s[:1]+`"`+s[1:]+`"`, "$'"+s+"'", "${q:-"+s+"}", "$(echo "+s+")", "{"+s+",a}", s[:3]+"*", "$x", s[:2]+"\\\n"+s[2:])
}

func (g lines) wrapped(depth int) string {
	d := depth - 1
	in := g.simple(d)
	if strings.HasPrefix(in, "A=") || strings.HasPrefix(in, "LANG") {
		in = g.name() + " a"
	}
	code := g.bare(d)
	return g.pick(
		"env "+in, "env -i PATH=\"$PATH\" "+in, "env -u X Y=1 "+in, "command "+in, "exec "+in, "nohup "+in, "nice -n 1 "+in, "nice -3 "+in,
		"timeout 2 "+in, "timeout -k 1 2 "+in, "stdbuf -oL "+in, "setsid -w "+in, "xargs "+in+" </dev/null", "echo a | xargs "+in, "echo a | xargs -n1 -t "+in,
		"echo a | xargs -I{} "+in+" {}", "find . -maxdepth 1 -name a -exec "+in+" \\;", "find a -exec "+in+" {} +", "find sub -name x -execdir "+in+" \\;",
		"sh -c '"+code+"'", "bash -c '"+code+"'", "bash -ec \""+code+"\"", "bash -c -- '"+code+"'", "sh -c \"sh -c '"+strings.ReplaceAll(code, "$", "")+"'\"", "bash -c '"+code+" \"$@\"' _ a",
		"bash -c '\"$@\"' _ "+in, "eval '"+code+"'", "eval "+in, "bash <<< '"+code+"'", "bash <<E\n"+code+"\nE\n:", "bash <<'E'\n"+code+"\nE\n:", "sh -s <<-E\n\t"+code+"\n\tE\n:", "source /dev/stdin <<< '"+code+"'",
		"cat <<E\n$("+code+")\nE\n:", "alpha \"$("+code+")\"", "alpha `"+code+"`", "alpha <("+code+")", "alpha > >("+code+" >&2)", "alpha $(( $(echo 1) + 2 ))", "alpha ${n:-$("+code+")}", "alpha {b,$("+code+")}",
		"flock a "+in, "env env -i PATH=\"$PATH\" "+in, "command -p true; "+in, "builtin echo; "+in, "trap '"+code+"' EXIT; true", "alias zz='"+code+"'; zz", "time "+in, "awk 'BEGIN{system(\""+strings.ReplaceAll(code, "$", "")+"\")}'",
	)
}

// files are commands that read and change files.
func (g lines) files() string {
	f, h := g.target(), g.target()
	return g.pick(
		"touch "+f, "touch -r a "+f, "touch -- "+f, "cp a "+f, "cp a b sub", "cp -t sub a", "cp -r sub "+f, "cp --target-directory=sub a", "cp a sub/", "cp -rt sub sub2", "mv b "+f, "mv a b sub", "mv -t sub a", "mv sub "+f,
		"ln -s a "+f, "ln a "+f, "ln -s ../a sub/l", "ln -sf a b", "mkdir -p "+f+"/d", "mkdir n m", "rm "+f, "rm -rf sub", "rmdir sub2", "unlink a",
		"tee "+f+" <b", "tee -a "+f+" </dev/null", "dd if=a of="+f+" status=none", "dd of="+f+" <a status=none", "truncate -s 0 "+f, "install a "+f, "install -D a n/m/o", "install -d n/m", "install -t sub a", "chmod +x "+f,
		"sed -i s/a/b/ "+f, "sed -i.bak p "+f, "sed -n -i p "+f, "sed 'w "+h+"' a", "sed -n 's/a/b/w "+h+"' a", "sed -e p -e '1w n' a", "sed 'r b' a", "sed '1e touch e' a", "sed --in-place=.o p "+f, "sed -ni p a", "sed -e '$!d' a", "sed '/a/{p;w n\n}' a",
		"sort -o "+f+" a", "sort a --output="+h, "sort --outp "+h+" a", "sort -uo "+h+" a", "sort a", "uniq a "+h, "awk '{print > \""+h+"\"}' a", "awk '{print \"x\" >> \"n\"}' a", "awk '{print > $1}' a", "awk 1 a", "awk -v f=n '{print > f}' a",
		"split -l 1 a", "split -b 1 a sub/p", "csplit -s -f sub/q a 1", "csplit -s a 1", "gzip "+f, "gzip -k a", "gzip -c a", "gzip b && gunzip b.gz",
		"tar cf "+h+" a", "tar -cf n a b", "tar czf n.tgz sub", "tar -c -f n -C sub x", "tar cf n sub && tar xf n", "tar cf n a && tar xf n -C sub", "tar cf n a && tar tf n", "tar --create --file n a", "tar -cf n --checkpoint=1 --checkpoint-action=exec='touch e' a", "tar cf - a", "tar c a > n",
		"find . -name a -delete", "find . -name a -fprint "+h, "find sub -type f -exec rm {} +", "find . -maxdepth 1 -name b -exec cp {} n \\;", "find . -name a -fls n", "find . -newer a", "find . -exec true \\; -quit",
		"cat a", "cat a b sub/x", "cat < a", "cat *", "cat {a,b}", "cat s*/x", "cat ./sub/../a", "cat -- a", "cat <<< x", "cat ../$PWD/a", "cat \"$PWD/a\"", "cat a > "+f, "cat a >> "+f, "cat >| "+f+" < b",
		"cd sub && touch n", "cd sub && cd .. && touch n", "(cd sub; touch n); touch m", "cd sub || touch n", "cd nowhere; touch n", "cd nowhere && touch n; touch m", "pushd sub >/dev/null; touch n", "cd \"$PWD/sub\"; touch n", "env -C sub touch n", "cd sub; cat x ../a",
		"while read l; do cat $l; done < b", "read v < a; touch \"$v\"", "mapfile v < a", "xargs touch < b", "xargs -a b touch", "echo n | xargs touch", "exec 3> "+h, "exec > "+h, "printf -v w %s n; touch $w", "> "+f, ": > "+f,
		"patch -s a </dev/null", "touch $(echo n)", "touch n{1,2}", "touch n{1..2}", "touch ~/n", "touch a*", "touch 'n m'", "touch n\\ m", "f() { touch \"$1\"; }; f n", "comm a b", "paste a b", "head -1 a", "tail -n +1 a b", "grep x a", "grep -r x .", "wc a b", "cut -c1 a", "diff a b", "cmp a b", "tr a b < a", "od a", "test -f a", "[ -s a ]", "ls", "ls -R", "stat a", "du sub",
	)
}

func (g lines) target() string { return g.pick("a", "n", "sub/n", "./n", "sub/x", "n.txt") }

func (g lines) redirect(depth int) string {
	if g.IntN(4) > 0 {
		return ""
	}
	t := g.target()
	return g.pick(" > "+t, " >> "+t, " 2> "+t, " &> "+t, " >| "+t, " >& "+t, " < a", " 2>/dev/null", " >/dev/null 2>&1", " 2>&1", " <> "+t, " 3> "+t, " <<< x", " > \"n\"", " > $y", " > $(echo n)", " > 'n m'")
}

func (g lines) word(depth int) string {
	if depth > 0 && g.IntN(5) == 0 {
		in := g.simple(depth - 1)
		return g.pick("$("+in+")", "\"$("+in+")\"", "`"+strings.NewReplacer("`", "", `\`, "").Replace(in)+"`", "${u:-$("+g.bare(0)+")}", "<("+in+")")
	}
	return g.pick("a", "b", "sub", "omega", "'a b'", "\"a b\"", `a\ b`, "''", "-x", "--", "$y", "\"$y\"", "${y}", "$z", "*", "a*", "?", "[ab]", "{a,b}", "{1..3}", "~", "$'a\\tb'", "'$(omega)'", "\"\\$(omega)\"", `\;`, "'&&'", "'>'", "$((1+2))", "$((z+1))", "${#y}", "a=b", "é", "#a", "a#b", fmt.Sprint(g.IntN(9)))
}
