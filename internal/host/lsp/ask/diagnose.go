package ask

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	lsptype "github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/host/lsp/client"
	"github.com/kxtools/kx/internal/host/lsp/language"
	"github.com/kxtools/kx/internal/host/lsp/position"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
	"github.com/kxtools/kx/internal/host/lsp/service"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// quiet is how long a server that pushes has to say nothing more of the text that
	// it was sent.
	quiet = 150 * time.Millisecond
	// retryPause is between two tries of a question that the server wants asked again.
	retryPause = 20 * time.Millisecond
	// maxMessage is how much of a message is told, in characters: the longest honest ones,
	// of types in types, are cut by their servers at some thousand.
	maxMessage = 2000
)

// ErrUnsettled says that what the server found is not of the text that it was sent, or
// that it has not looked yet.
var ErrUnsettled = errors.New("the server has not said so yet")

// Unlinked is the code of the error where a file belongs to no project, as those of
// other platforms.
const Unlinked = "unlinked"

// Diagnose returns what the server finds in an open file, once it is of the text as it
// was sent. With ErrUnsettled it is what is known so far.
func (w *Workspace) Diagnose(ctx context.Context, v *service.View, path string) ([]wire.Diagnostic, error) {
	var found []protocol.Diagnostic
	var err error
	switch method(v) {
	case language.Pull:
		found, err = w.pull(ctx, v, path)
	case language.Fence:
		found, err = fence(ctx, v, path)
	default:
		if announced(ctx, v, protocol.FromPath(path)) {
			found, err = w.pull(ctx, v, path)
		} else {
			found, err = push(ctx, v, path)
		}
	}
	if err != nil && !errors.Is(err, ErrUnsettled) {
		return nil, err
	}
	list, convErr := w.diagnostics(v, path, found)
	return list, cmp.Or(convErr, err)
}

// method is how the diagnostics of a server are got. One that can be asked is asked.
func method(v *service.View) language.Method {
	if v.Has("textDocument/diagnostic") {
		return language.Pull
	}
	if v.Server.Diagnostics == language.Pull { // it can't after all
		return language.Push
	}
	return v.Server.Diagnostics
}

// announced waits until a server pushes something of a file, or announces that it can be
// asked, which it may do after its first file is open.
func announced(ctx context.Context, v *service.View, uri lsptype.DocumentURI) bool {
	for v.Server.Diagnostics == language.Pull && !v.Has("textDocument/diagnostic") && ctx.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, retryPause)
		_, err := v.WaitPushed(wait, uri, func(protocol.Published) bool { return true })
		cancel()
		if err == nil || errors.Is(err, client.ErrEnded) {
			break
		}
	}
	return v.Has("textDocument/diagnostic")
}

// pull asks. What the server takes back in the meantime is asked for again.
func (w *Workspace) pull(ctx context.Context, v *service.View, path string) ([]protocol.Diagnostic, error) {
	uri := protocol.FromPath(path)
	if v.Server.Check != nil {
		if err := w.check(ctx, v); err != nil {
			if ctx.Err() == nil {
				return nil, err
			}
			// What it finds by itself is known, what the compiler says is not.
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			found, pullErr := pullOnce(late, v, uri)
			if pullErr != nil {
				return nil, err
			}
			return found, ErrUnsettled
		}
	}
	for {
		var taken *protocol.Error
		refreshed := v.Refreshes()
		found, err := pullOnce(ctx, v, uri)
		switch {
		case errors.As(err, &taken) && taken.Retrigger():
		case errors.As(err, &taken) && taken.Code != protocol.ContentModified:
			found, err := push(ctx, v, path) // it can't be asked about such files
			if err != nil && ctx.Err() != nil {
				err = &service.Pending{Reason: v.Server.Name + " answers with an error: " + Brief(taken.Message)}
			}
			return found, err
		case err != nil:
			return nil, err
		case v.Refreshes() == refreshed:
			return w.checkedBy(v, uri, found)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

func pullOnce(ctx context.Context, v *service.View, uri lsptype.DocumentURI) ([]protocol.Diagnostic, error) {
	var report *protocol.Report
	params := map[string]any{"textDocument": lsptype.TextDocumentIdentifier{URI: uri}}
	if err := v.Call(ctx, "textDocument/diagnostic", params, &report); err != nil {
		return nil, err
	}
	if report == nil || report.Kind == "unchanged" { // since what was never said
		return nil, ErrUnsettled
	}
	return report.Items, nil
}

// checkedBy adds what the project's compiler found. Where it could not look, nothing
// is clean.
func (w *Workspace) checkedBy(v *service.View, uri lsptype.DocumentURI, found []protocol.Diagnostic) ([]protocol.Diagnostic, error) {
	if v.Server.Check == nil {
		return found, nil
	}
	if p, ok := v.Pushed(uri); ok {
		found = merge(found, p.Diagnostics)
	}
	why := w.failed(v)
	switch {
	case slices.ContainsFunc(found, func(d protocol.Diagnostic) bool { return d.Severity == lsptype.Error }):
		return found, nil
	case v.Server.Unlinked != "" && slices.ContainsFunc(found, func(d protocol.Diagnostic) bool { return string(d.Code) == v.Server.Unlinked }):
		return found, fail.Unavailable(Unlinked, "%s has not looked at it: no crate has the file as a module, at least not on this machine and with these features", v.Server.Name).WithHint("grep -rnw mod --include='*.rs' .")
	case why == "":
		return found, nil
	}
	return found, fail.Unavailable("unchecked", "%s has found no error, but the compiler could not look: %s", v.Server.Name, Brief(why)).WithHint("%s", v.Server.Check.Hint)
}

// Elsewhere are files outside of the workspace in which the project's compiler has
// found errors last, as what a build script wrote, with the first error of each.
func (w *Workspace) Elsewhere(v *service.View) map[string]string {
	found := map[string]string{}
	if v.Server.Check == nil {
		return found
	}
	for _, p := range v.AllPushed() {
		path, ok := protocol.ToPath(p.URI)
		i := slices.IndexFunc(p.Diagnostics, func(d protocol.Diagnostic) bool { return d.Severity == lsptype.Error })
		if ok && i >= 0 && !w.Inside(path) {
			found[path] = Brief(strings.ReplaceAll(string(p.Diagnostics[i].Message), "\n", "; "))
		}
	}
	return found
}

// merge leaves out what both say: the compiler repeats what the server found.
func merge(a, b []protocol.Diagnostic) []protocol.Diagnostic {
	type twin struct {
		at   lsptype.Range
		code protocol.Word
	}
	have := map[twin]bool{}
	for _, d := range a {
		have[twin{d.Range, d.Code}] = true
	}
	for _, d := range b {
		if d.Code == "" || !have[twin{d.Range, d.Code}] {
			a = append(a, d)
		}
	}
	return a
}

// fence asks tsserver itself, behind typescript-language-server: its answers are of
// the text that was sent, while what the latter pushes comes without a version.
func fence(ctx context.Context, v *service.View, path string) ([]protocol.Diagnostic, error) {
	var all []protocol.Diagnostic
	for _, command := range []string{"syntacticDiagnosticsSync", "semanticDiagnosticsSync"} {
		var found protocol.TSServer
		params := map[string]any{"command": "typescript.tsserverRequest", "arguments": []any{command, map[string]any{"file": path}}}
		if err := v.Call(ctx, "workspace/executeCommand", params, &found); err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// push waits for what the server says by itself of the version that it was sent. From
// one that names no version nothing is known for sure.
func push(ctx context.Context, v *service.View, path string) ([]protocol.Diagnostic, error) {
	uri, sent := protocol.FromPath(path), v.Sent(path)
	p, err := v.WaitPushed(ctx, uri, func(p protocol.Published) bool {
		return p.Version != nil && *p.Version >= sent // of a newer text: then the question is asked again
	})
	for err == nil {
		seq := p.Seq
		wait, cancel := context.WithTimeout(ctx, quiet)
		next, late := v.WaitPushed(wait, uri, func(p protocol.Published) bool { return p.Seq > seq })
		cancel()
		if late != nil {
			return p.Diagnostics, ctx.Err()
		}
		p = next
	}
	if last, ok := v.Pushed(uri); ok && ctx.Err() != nil {
		return last.Diagnostics, ErrUnsettled
	}
	return nil, err
}

// severities are those that are told; hints (4) are for editors.
var severities = map[lsptype.DiagnosticSeverity]string{0: "error", lsptype.Error: "error", lsptype.Warning: "warning", lsptype.Information: "information"}

// IsFinding reports whether a file with such a diagnostic is not clean. An information
// is advice: that a loop could be written in a newer way.
func IsFinding(d wire.Diagnostic) bool { return d.Severity != "information" }

// tags of a diagnostic, by number.
var tags = map[int]string{1: "unnecessary", 2: "deprecated"}

// diagnostics converts what was found in a file.
func (w *Workspace) diagnostics(v *service.View, path string, found []protocol.Diagnostic) ([]wire.Diagnostic, error) {
	list := []wire.Diagnostic{}
	text, err := v.Text(path)
	if err != nil {
		return nil, err
	}
	if v.Server.UTF8 {
		found = append(slices.Clip(found), notUTF8(text, v.Encoding())...)
	}
	for _, d := range found {
		severity, ok := severities[d.Severity]
		if !ok {
			continue
		}
		one := wire.Diagnostic{Path: w.Show(path), Severity: severity, Source: d.Source, Code: string(d.Code), Message: shorten(strings.TrimSpace(string(d.Message)), maxMessage), Range: wireRange(d.Range)}
		one.Line, one.Column = text.FromLSP(d.Range.Start, v.Encoding())
		one.EndLine, one.EndColumn = text.FromLSP(d.Range.End, v.Encoding())
		for _, t := range d.Tags {
			if tags[t] != "" {
				one.Tags = append(one.Tags, tags[t])
			}
		}
		for _, r := range d.Related {
			other, ok := protocol.ToPath(r.Location.URI)
			if !ok {
				continue
			}
			l, err := w.location(v, spot{other, !w.Inside(other), r.Location.Range})
			if err != nil {
				return nil, err
			}
			l.Text = r.Message
			one.Related = append(one.Related, l)
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b wire.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(list, func(a, b wire.Diagnostic) bool {
		return *a.Range == *b.Range && a.Message == b.Message && a.Code == b.Code && a.Source == b.Source
	}), nil
}

// notUTF8 says where a text is not UTF-8. A server can't: to it that is U+FFFD.
func notUTF8(text *position.Text, enc position.Encoding) []protocol.Diagnostic {
	for n := 1; n <= text.Lines(); n++ {
		line := text.Line(n)
		for i, r := range line {
			if r != utf8.RuneError || strings.HasPrefix(line[i:], string(utf8.RuneError)) {
				continue
			}
			start, err := text.ToLSP(n, utf8.RuneCountInString(line[:i])+1, enc)
			if err != nil {
				return nil
			}
			end := start
			end.Character++
			return []protocol.Diagnostic{{Range: lsptype.Range{Start: start, End: end}, Severity: lsptype.Error, Source: "kx", Message: "this byte is not UTF-8"}}
		}
	}
	return nil
}

// CutDiagnostics leaves out the diagnostics that were not asked for.
func CutDiagnostics(q *wire.CodeQuery, a *wire.CodeAnswer) {
	a.Total = len(a.Diagnostics)
	if most := limit(q.Limit, usualDiagnostics, mostItems); a.Total > most {
		a.Diagnostics, a.Truncated = a.Diagnostics[:most], true
	}
}
