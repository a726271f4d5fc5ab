package shell

import "strings"

// wrapper describes a program that runs the command in its arguments. The flags
// it may carry are listed; with any other, what it runs can't be told.
type wrapper struct {
	transparent bool     // needs no allow of its own
	flags       []string // flags without a value
	valued      []string // flags with a value, in the next word or attached
	operands    int      // operands in front of the command
	assigns     bool     // NAME=VALUE in front of the command
	more        bool     // it adds arguments of its own (xargs)
	numeric     bool     // -10 is a flag
}

var wrappers = map[string]wrapper{
	"env":     {transparent: true, flags: []string{"-i", "-0", "-v", "--ignore-environment"}, valued: []string{"-u", "--unset"}, assigns: true},
	"command": {transparent: true, flags: []string{"-p"}},
	"time":    {transparent: true, flags: []string{"-p", "-v"}, valued: []string{"-f"}},
	"nice":    {transparent: true, valued: []string{"-n", "--adjustment"}, numeric: true},
	"nohup":   {transparent: true},
	"setsid":  {transparent: true, flags: []string{"-c", "-f", "-w", "--ctty", "--fork", "--wait"}},
	"timeout": {transparent: true, operands: 1, flags: []string{"-v", "--verbose", "--foreground", "--preserve-status"}, valued: []string{"-k", "-s", "--kill-after", "--signal"}},
	"stdbuf":  {transparent: true, valued: []string{"-i", "-o", "-e", "--input", "--output", "--error"}},
	"ionice":  {transparent: true, flags: []string{"-t"}, valued: []string{"-c", "-n", "--class", "--classdata"}},

	"exec":    {flags: []string{"-c", "-l"}, valued: []string{"-a"}},
	"builtin": {},
	"sudo":    {flags: []string{"-n", "-E", "-H", "-S", "-k"}, valued: []string{"-u", "-g", "--user", "--group"}, assigns: true},
	"doas":    {flags: []string{"-n"}, valued: []string{"-u"}},
	"busybox": {},
	"toybox":  {},
	"xargs":   {more: true, flags: []string{"-0", "-r", "-t", "-x", "--null", "--no-run-if-empty"}, valued: []string{"-n", "-L", "-P", "-I", "-d", "-s", "-E", "--max-args", "--max-procs", "--delimiter"}},
}

// inner returns the words of the command that is wrapped: nil if there is none,
// and why if it can't be told.
func (wr wrapper) inner(args []Word) (inner []Word, why string) {
	const lost = "which command it runs can't be told"
	for len(args) > 0 {
		a := args[0]
		switch {
		case !a.Literal:
			// Only the command itself may be computed; that is its own leaf's matter.
			if strings.HasPrefix(a.Text, "-") || wr.operands > 0 {
				return nil, lost
			}
		case a.Text == "--":
			return wr.command(args[1:])
		case a.Text == "-" || !strings.HasPrefix(a.Text, "-"):
			if name, _, ok := strings.Cut(a.Text, "="); ok && wr.assigns {
				if steers(name) {
					return nil, "it sets " + name + ", which can change what a command runs"
				}
				args = args[1:]
				continue
			}
		default:
			n := wr.flag(args)
			if n == 0 || n > len(args) {
				return nil, lost
			}
			args = args[n:]
			continue
		}
		break
	}
	return wr.command(args)
}

// command skips the operands in front of the command.
func (wr wrapper) command(args []Word) ([]Word, string) {
	if len(args) <= wr.operands {
		return nil, ""
	}
	args = args[wr.operands:]
	if wr.more {
		args = append(append([]Word{}, args...), Word{Text: "…"})
	}
	return args, ""
}

// flag returns how many words the flag in front of args takes, 0 if it is not
// known.
func (wr wrapper) flag(args []Word) int {
	text := args[0].Text
	for _, f := range wr.flags {
		if text == f {
			return 1
		}
	}
	for _, f := range wr.valued {
		switch {
		case text == f:
			return 2
		case strings.HasPrefix(f, "--") && strings.HasPrefix(text, f+"="):
			return 1
		case !strings.HasPrefix(f, "--") && strings.HasPrefix(text, f):
			return 1
		}
	}
	if wr.numeric && digits(text[1:]) {
		return 1
	}
	return 0
}
