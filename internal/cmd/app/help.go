package app

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/out"
)

// helpWidth is the width of help: comfortable to read, and safe to print.
const helpWidth = 79

// helpIndent is the column where descriptions begin at the latest; a longer
// name gets a line of its own.
const helpIndent = 26

// Help writes the help of the last command of the path.
func Help(t *out.Text, path []*Command) {
	c, root := path[len(path)-1], path[0]
	t.Printf("%s: %s\n", t.Paint(out.Bold, Words(path)), c.Usage)
	for _, p := range Paragraphs(c.What) {
		t.Printf("\n%s\n", out.Block(wrap(p, 0)))
	}
	section := func(name string) { t.Printf("\n%s\n", t.Paint(out.Bold, name)) }

	section("USAGE")
	for _, line := range Synopsis(path) {
		t.Printf("  %s\n", line)
	}
	if list := c.Visible(); len(list) > 0 {
		section("COMMANDS")
		rows := make([][2]string, len(list))
		for i, s := range list {
			rows[i] = [2]string{s.Name, s.Usage}
		}
		describe(t, rows)
	}
	if c != root && len(c.Flags) > 0 {
		section("FLAGS")
		describe(t, flagRows(c.Flags))
	}
	section("GLOBAL FLAGS")
	if c == root {
		describe(t, append(flagRows(root.Flags), [2]string{"-h, --help", "print the help of the command, wherever it stands"}))
		section("ENVIRONMENT")
		rows := make([][2]string, len(Env))
		for i, e := range Env {
			rows[i] = [2]string{e.Name, e.Help}
		}
		describe(t, rows)
	} else {
		t.Printf("%s\n", out.Block(wrap(globalLine(root)+"\n(kx --help explains them)", 2)))
	}
	section("EXAMPLES")
	for _, e := range c.Examples {
		t.Printf("  %s\n", e.Line)
		if e.Does != "" {
			t.Printf("%s\n", out.Block(wrap(e.Does, 6)))
		}
	}
	section("EXIT STATUS")
	for _, e := range c.AllExits() {
		t.Printf("  %3d  %s\n", e.Status, out.Block(strings.TrimLeft(wrap(e.Means, 7), " ")))
	}
}

// Synopsis are the lines that show how the command is typed.
func Synopsis(path []*Command) []string {
	c := path[len(path)-1]
	words := Words(path)
	var lines []string
	if c.Run != nil {
		line := words
		if len(path) > 1 && len(c.Flags) > 0 {
			line += " [FLAGS]"
		}
		if c.Args != "" {
			line += " " + c.Args
		}
		lines = append(lines, line)
	}
	if len(c.Commands) > 0 {
		lines = append(lines, words+" COMMAND [ARG...]")
	}
	return lines
}

// Visible are the commands below c that are shown.
func (c *Command) Visible() []*Command {
	var list []*Command
	for _, s := range c.Commands {
		if !s.Hidden {
			list = append(list, s)
		}
	}
	return list
}

// FlagWords returns how the flag is typed: "-o, --output FORMAT".
func FlagWords(f cli.Flag) string {
	var short, long []string
	for _, n := range f.Names() {
		if len(n) == 1 {
			short = append(short, "-"+n)
		} else {
			long = append(long, "--"+n)
		}
	}
	words := strings.Join(append(short, long...), ", ")
	if TakesValue(f) {
		value, _ := FlagUsage(f)
		words += " " + value
	}
	return words
}

// FlagUsage returns the name of the flag's value, which its usage has in
// backquotes, and the usage without them.
func FlagUsage(f cli.Flag) (value, usage string) {
	usage = f.(cli.DocGenerationFlag).GetUsage()
	before, rest, ok := strings.Cut(usage, "`")
	if ok {
		if name, after, ok := strings.Cut(rest, "`"); ok {
			return name, before + name + after
		}
	}
	return "VALUE", usage
}

func flagRows(flags []cli.Flag) [][2]string {
	var rows [][2]string
	for _, f := range flags {
		rows = append(rows, [2]string{FlagWords(f), FlagHelp(f)})
	}
	return rows
}

// FlagHelp returns what the help and the manual say of the flag.
func FlagHelp(f cli.Flag) string {
	_, usage := FlagUsage(f)
	if !TakesValue(f) {
		return usage
	}
	if Repeats(f) {
		usage += "; may be repeated"
	}
	switch v := f.(cli.DocGenerationFlag).GetValue(); v {
	case "", "0", "0s", "[]":
		return usage
	default:
		return usage + " (default " + v + ")"
	}
}

// globalLine names the global flags in one line.
func globalLine(root *Command) string {
	words := make([]string, 0, len(root.Flags)+1)
	for _, f := range root.Flags {
		words = append(words, strings.ReplaceAll(FlagWords(f), ", ", "|"))
	}
	return strings.Join(append(words, "-h|--help"), " · ")
}

// describe writes names with what they are beside them.
func describe(t *out.Text, rows [][2]string) {
	indent := 0
	for _, r := range rows {
		if w := len(r[0]) + 4; w <= helpIndent {
			indent = max(indent, w)
		}
	}
	if indent == 0 {
		indent = helpIndent
	}
	for _, r := range rows {
		text := wrap(r[1], indent)
		if len(r[0])+4 > indent {
			t.Printf("  %s\n%s\n", r[0], out.Block(text))
			continue
		}
		t.Printf("  %s%s\n", fmt.Sprintf("%-*s", indent-2, r[0]), out.Block(text[indent:]))
	}
}

// Paragraphs splits text at its empty lines.
func Paragraphs(text string) []string {
	var list []string
	for _, p := range strings.Split(text, "\n\n") {
		if p = strings.TrimSpace(p); p != "" {
			list = append(list, p)
		}
	}
	return list
}

// wrap fills lines of helpWidth with the words of text, behind an indent. The
// line ends of text stay.
func wrap(text string, indent int) string {
	pad := strings.Repeat(" ", indent)
	var b strings.Builder
	col := 0
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
			col = 0
		}
		for _, w := range strings.Fields(line) {
			switch n := len([]rune(w)); {
			case col == 0:
				b.WriteString(pad)
				col = indent
			case col+1+n > helpWidth:
				b.WriteString("\n" + pad)
				col = indent
			default:
				b.WriteByte(' ')
				col++
			}
			b.WriteString(w)
			col += len([]rune(w))
		}
	}
	return b.String()
}
