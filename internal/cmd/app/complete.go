package app

import "context"

// Completer proposes values that begin with word. It must be quick and quiet:
// on trouble it proposes nothing.
type Completer func(ctx context.Context, word string) []Proposal

// Proposal is a value and what it is.
type Proposal struct{ Value, Help string }

// The proposals that leave the rest to the shell.
var (
	AnyFile = Proposal{Value: ":files"}
	AnyDir  = Proposal{Value: ":dirs"}
)

// Files completes names of files.
func Files(context.Context, string) []Proposal { return []Proposal{AnyFile} }

// Dirs completes names of directories.
func Dirs(context.Context, string) []Proposal { return []Proposal{AnyDir} }

// Values completes one of the given values.
func Values(values ...string) Completer {
	return func(context.Context, string) []Proposal {
		list := make([]Proposal, len(values))
		for i, v := range values {
			list[i].Value = v
		}
		return list
	}
}
