package ask

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	lsptype "github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
	"github.com/kxtools/kx/internal/host/lsp/service"
	"github.com/kxtools/kx/pkg/wire"
)

// rename answers with the edits that give what stands at a position a new name. It
// changes nothing.
func (w *Workspace) rename(ctx context.Context, v *service.View, q *wire.CodeQuery, p lsptype.Position, a *wire.CodeAnswer) error {
	var edit protocol.WorkspaceEdit
	params := lsptype.RenameParams{TextDocument: lsptype.TextDocumentIdentifier{URI: protocol.FromPath(q.Path)}, Position: p, NewName: q.NewName}
	err := v.Call(ctx, "textDocument/rename", params, &edit)
	var refused *protocol.Error
	switch {
	case errors.As(err, &refused) && refused.Code != protocol.ContentModified:
		return fail.Failed("rename_refused", "%s refuses: %s", v.Server.Name, refused.Message)
	case err != nil:
		return err
	}
	if len(edit.Unsupported) > 0 {
		return fail.Failed("rename_refused", "the rename would %s a file, which has to be done by hand", edit.Unsupported[0])
	}
	for _, d := range edit.Documents {
		path, ok := protocol.ToPath(d.URI)
		if !ok || !w.Inside(path) {
			return fail.Denied("outside_workspace", "the rename would change %s, which is outside the workspace", path)
		}
		one, err := w.edits(v, path, d.Edits)
		if err != nil {
			return err
		}
		if len(one.Edits) > 0 {
			a.Edits = append(a.Edits, *one)
			a.Total += len(one.Edits)
		}
	}
	slices.SortFunc(a.Edits, func(x, y wire.CodeEdits) int { return strings.Compare(x.Path, y.Path) })
	return nil
}

// edits converts the changes of one file.
func (w *Workspace) edits(v *service.View, path string, edits []lsptype.TextEdit) (*wire.CodeEdits, error) {
	text, err := v.Text(path)
	if err != nil {
		return nil, err
	}
	content, err := v.Content(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	one := &wire.CodeEdits{Path: path, SHA256: hex.EncodeToString(sum[:])}
	for _, e := range edits {
		start, errStart := text.Byte(e.Range.Start, v.Encoding())
		end, errEnd := text.Byte(e.Range.End, v.Encoding())
		if err := cmp.Or(errStart, errEnd); err != nil {
			return nil, fail.Failed("rename_refused", "%s gives an edit of %s at a place that it does not have: %v", v.Server.Name, w.Show(path), err)
		}
		c := wire.CodeEdit{Start: start, End: end, NewText: e.NewText}
		if c.Start > c.End {
			return nil, fail.Failed("rename_refused", "%s gives an edit of %s that ends before it begins", v.Server.Name, w.Show(path))
		}
		if string(content[c.Start:c.End]) != c.NewText {
			one.Edits = append(one.Edits, c)
		}
	}
	slices.SortStableFunc(one.Edits, func(x, y wire.CodeEdit) int { return x.Start - y.Start })
	for i := 1; i < len(one.Edits); i++ {
		if one.Edits[i].Start < one.Edits[i-1].End {
			return nil, fail.Failed("rename_refused", "%s gives edits of %s that overlap", v.Server.Name, w.Show(path))
		}
	}
	return one, nil
}
