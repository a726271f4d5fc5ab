package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
)

// Command describes a command, or a noun that holds commands. Parsing, help,
// the man page and completion are all made from it.
type Command struct {
	Name     string
	Usage    string // one line, lower case, no full stop
	What     string // what it does, in paragraphs
	Args     string // the arguments: "TOOL [JSON|-]", "FILE...", "[ARG...]"
	Flags    []cli.Flag
	Examples []Example
	Exits    []Exit // beside 0 and 2, which all have
	Commands []*Command
	Hidden   bool
	Raw      bool // words after the name are arguments, whatever they look like

	// Complete proposes values: by the name of a flag, or by "" for arguments.
	Complete map[string]Completer

	// Run does the work. A noun without one prints its help.
	Run func(ctx context.Context, args []string) error
}

// Example is a line to type, and what it does.
type Example struct{ Line, Does string }

// Exit is a status that a command exits with. Without Means it has the meaning
// that it has everywhere.
type Exit struct {
	Status int
	Means  string
}

// Status ends a command that has said all there is to say with an exit status
// of its own: a decision that was printed and is "deny", findings that were
// listed.
type Status int

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// exits are the statuses of kx and what they mean everywhere.
var exits = []Exit{
	{fail.ExitOK, "done"},
	{fail.ExitFailed, "the command ran and failed"},
	{fail.ExitUsage, "usage, or an invalid policy or configuration: nothing ran"},
	{fail.ExitDenied, "denied"},
	{fail.ExitPending, "needs an approval or answer that nobody has given"},
	{fail.ExitUnavailable, "a server, program or model is missing or switched off"},
	{fail.ExitLimit, "a limit was exceeded"},
	{fail.ExitConflict, "conflict: somebody else holds it or has decided"},
	{fail.ExitNotFound, "not found"},
	{fail.ExitTimeout, "timeout, or not ready yet"},
	{fail.ExitInterrupted, "interrupted"},
	{fail.ExitTerminated, "terminated"},
}

// AllExits returns the statuses of the command in order, with their meanings.
func (c *Command) AllExits() []Exit {
	var list []Exit
	for _, e := range exits {
		i := slices.IndexFunc(c.Exits, func(own Exit) bool { return own.Status == e.Status })
		switch {
		case i >= 0 && c.Exits[i].Means != "":
			list = append(list, c.Exits[i])
		case i >= 0 || e.Status == fail.ExitOK || e.Status == fail.ExitUsage:
			list = append(list, e)
		}
	}
	return list
}

// Child returns the command of that name below c, or nil.
func (c *Command) Child(name string) *Command {
	i := slices.IndexFunc(c.Commands, func(s *Command) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return c.Commands[i]
}

// Walk calls visit for c and all below it, with the path from c.
func (c *Command) Walk(visit func(path []*Command)) { c.walk(nil, visit) }

func (c *Command) walk(above []*Command, visit func([]*Command)) {
	path := append(slices.Clone(above), c)
	visit(path)
	for _, s := range c.Commands {
		s.walk(path, visit)
	}
}

// Words returns the path as it is typed.
func Words(path []*Command) string {
	names := make([]string, len(path))
	for i, c := range path {
		names[i] = c.Name
	}
	return strings.Join(names, " ")
}

// Node returns the tree as the reader of command lines wants it.
func (c *Command) Node() *argv.Node {
	n := &argv.Node{Name: c.Name, Raw: c.Raw, Args: c.Args != ""}
	n.Later = func() (list []argv.Flag) {
		for _, f := range c.Flags {
			list = append(list, argv.Flag{Names: f.Names(), Bool: !TakesValue(f), Repeat: Repeats(f)})
		}
		return list
	}
	for _, s := range c.Commands {
		n.Nodes = append(n.Nodes, s.Node())
	}
	return n
}

// TakesValue reports whether f needs a value.
func TakesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

// Repeats reports whether f may be given more than once.
func Repeats(f cli.Flag) bool {
	if b, ok := f.(*cli.BoolFlag); ok {
		return b.Count != nil
	}
	s, ok := f.(cli.DocGenerationSliceFlag)
	return ok && s.IsSliceFlag()
}

// CheckArgs says what is wrong with the number of arguments.
func (c *Command) CheckArgs(path string, args []string) error {
	least, most := arity(c.Args)
	switch {
	case len(args) < least:
		return fail.Usage("%s needs %s", path, c.Args).WithHint("%s --help", path)
	case most == 0 && len(args) > 0:
		return fail.Usage("%s takes no arguments, got %q", path, args[0]).WithHint("%s --help", path)
	case most > 0 && len(args) > most:
		return fail.Usage("%s takes %s, got %q too", path, c.Args, args[most]).WithHint("%s --help", path)
	}
	return nil
}

// arity reads from the description of the arguments how many there must and may
// be; most < 0 is any number.
func arity(args string) (least, most int) {
	depth := 0
	for _, w := range strings.Fields(args) {
		if w == "--" {
			continue
		}
		depth += strings.Count(w, "[")
		if depth == 0 {
			least++
		}
		depth -= strings.Count(w, "]")
		if most >= 0 {
			most++
		}
		if strings.Contains(w, "...") {
			most = -1
		}
	}
	return least, most
}
