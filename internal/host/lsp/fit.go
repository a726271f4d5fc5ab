package lsp

import (
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/pkg/wire"
)

// maxAnswer is how long an answer may be, in bytes: a line of the socket, without what
// stands around it there.
const maxAnswer = sock.MaxLine - 4<<10

// fit leaves out the last items of an answer that is too long to be told. A rename is
// told as a whole.
func fit(a *wire.CodeAnswer) error {
	for {
		raw, err := wire.Marshal(a)
		size := len(raw)
		switch {
		case err != nil || size <= maxAnswer:
			return err
		case len(a.Edits) > 0:
			return fail.Limit("too_many_edits", "the rename has %d edits in %d files, more than can be told", a.Total, len(a.Edits)).WithHint("kx lsp references --help")
		}
		if len(a.Locations)+len(a.Symbols)+len(a.Diagnostics)+len(a.Candidates)+len(a.Skipped) == 0 {
			return fail.Limit("too_long", "the answer has %d bytes, more than can be told", size).WithHint("kx lsp status")
		}
		a.Locations, a.Symbols = part(a.Locations, size), part(a.Symbols, size)
		a.Diagnostics, a.Candidates = part(a.Diagnostics, size), part(a.Candidates, size)
		a.Skipped = part(a.Skipped, size)
		a.Truncated = true
		a.Note = notes(a.Note, "what else there is does not fit into one answer")
	}
}

// part is as much of a list as fits where all of it makes an answer of that size: less,
// in any case.
func part[T any](list []T, size int) []T { return list[:len(list)*(maxAnswer/1024)/(size/1024+1)] }
