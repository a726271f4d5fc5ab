package lsp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	lsptype "github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/host/lsp/language"
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
	// atOnce is how many files are diagnosed at once: servers have a queue of their
	// own, and this many keeps it filled.
	atOnce = 4
)

// errUnsettled says that what the server found is not of the text that it was sent, or
// that it has not looked yet.
var errUnsettled = errors.New("the server has not said so yet")

// diagnose returns what the server finds in an open file, once it is of the text as it
// was sent. With errUnsettled it is what is known so far.
func (h *Host) diagnose(ctx context.Context, v *service.View, path string) ([]wire.Diagnostic, error) {
	var found []protocol.Diagnostic
	var err error
	switch method(v) {
	case language.Pull:
		found, err = h.pull(ctx, v, path)
	case language.Fence:
		found, err = fence(ctx, v, path)
	default:
		found, err = push(ctx, v, path)
	}
	if err != nil && !errors.Is(err, errUnsettled) {
		return nil, err
	}
	list, convErr := h.diagnostics(v, path, found)
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

// pull asks. What the server takes back in the meantime is asked for again.
func (h *Host) pull(ctx context.Context, v *service.View, path string) ([]protocol.Diagnostic, error) {
	uri := protocol.FromPath(path)
	if v.Server.Check != nil {
		if err := h.check(ctx, v, path); err != nil {
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
			return found, errUnsettled
		}
	}
	for {
		var taken *protocol.Error
		refreshed := v.Refreshes()
		found, err := pullOnce(ctx, v, uri)
		switch {
		case errors.As(err, &taken) && taken.Retrigger():
		case errors.As(err, &taken) && taken.Code != protocol.ContentModified:
			return push(ctx, v, path) // it can't be asked about such files
		case err != nil:
			return nil, err
		case v.Refreshes() == refreshed:
			return h.checkedBy(v, uri, found)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

func pullOnce(ctx context.Context, v *service.View, uri lsptype.DocumentURI) ([]protocol.Diagnostic, error) {
	var report protocol.Report
	params := map[string]any{"textDocument": lsptype.TextDocumentIdentifier{URI: uri}}
	if err := v.Call(ctx, "textDocument/diagnostic", params, &report); err != nil {
		return nil, err
	}
	return report.Items, nil
}

// check lets a server run the project's own compiler, unless it has done so since the
// last change. A file that compiles only by the server's own reckoning is not clean.
func (h *Host) check(ctx context.Context, v *service.View, path string) error {
	h.mu.Lock()
	done := h.checked[v.Client] >= v.Told
	h.mu.Unlock()
	if done {
		return nil
	}
	params := map[string]any{"textDocument": lsptype.TextDocumentIdentifier{URI: protocol.FromPath(path)}}
	if err := v.Progress(ctx, v.Server.Check.Token, func() error { return v.Notify(ctx, v.Server.Check.Method, params) }); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checked[v.Client] = max(h.checked[v.Client], v.Told)
	return nil
}

// checkedBy adds what the project's compiler found. Where it could not look, nothing
// is clean.
func (h *Host) checkedBy(v *service.View, uri lsptype.DocumentURI, found []protocol.Diagnostic) ([]protocol.Diagnostic, error) {
	if v.Server.Check == nil {
		return found, nil
	}
	if p, ok := v.Pushed(uri); ok {
		found = merge(found, p.Diagnostics)
	}
	what, _ := v.Health()
	if !strings.Contains(what, v.Server.Check.Failed) || slices.ContainsFunc(found, func(d protocol.Diagnostic) bool { return d.Severity == lsptype.Error }) {
		return found, nil
	}
	return found, fail.Unavailable("unchecked", "%s has found no error, but the compiler could not look: %s", v.Server.Name, brief(what)).WithHint("cargo check")
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
		return p.Version != nil && *p.Version == sent
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
		return last.Diagnostics, errUnsettled
	}
	return nil, err
}

// severities are those that are told; hints (4) are for editors.
var severities = map[lsptype.DiagnosticSeverity]string{0: "error", lsptype.Error: "error", lsptype.Warning: "warning", lsptype.Information: "information"}

// isFinding reports whether a file with such a diagnostic is not clean. An information
// is advice: that a loop could be written in a newer way.
func isFinding(d wire.Diagnostic) bool { return d.Severity != "information" }

// tags of a diagnostic, by number.
var tags = map[int]string{1: "unnecessary", 2: "deprecated"}

// diagnostics converts what was found in a file.
func (h *Host) diagnostics(v *service.View, path string, found []protocol.Diagnostic) ([]wire.Diagnostic, error) {
	list := []wire.Diagnostic{}
	text, err := v.Text(path)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		severity, ok := severities[d.Severity]
		if !ok {
			continue
		}
		w := wire.Diagnostic{Path: h.show(path), Severity: severity, Source: d.Source, Code: string(d.Code), Message: strings.TrimSpace(string(d.Message)), Range: wireRange(d.Range)}
		w.Line, w.Column = text.FromLSP(d.Range.Start, v.Encoding())
		w.EndLine, w.EndColumn = text.FromLSP(d.Range.End, v.Encoding())
		for _, t := range d.Tags {
			if tags[t] != "" {
				w.Tags = append(w.Tags, tags[t])
			}
		}
		for _, r := range d.Related {
			other, ok := protocol.ToPath(r.Location.URI)
			if !ok {
				continue
			}
			l, err := h.location(v, spot{other, !h.inside(other), r.Location.Range})
			if err != nil {
				return nil, err
			}
			l.Text = r.Message
			w.Related = append(w.Related, l)
		}
		list = append(list, w)
	}
	slices.SortStableFunc(list, func(a, b wire.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(list, func(a, b wire.Diagnostic) bool {
		return *a.Range == *b.Range && a.Message == b.Message && a.Code == b.Code && a.Source == b.Source
	}), nil
}

// everything answers with what the servers of all languages find in all files.
func (h *Host) everything(ctx context.Context, r *request, a *wire.CodeAnswer) error {
	snap, err := h.shared.Scanner.Scan(ctx)
	if err != nil {
		return err
	}
	asOf := snap.At.UTC()
	a.AsOf, a.State = &asOf, wire.CodeClean
	var mu sync.Mutex
	worse := func(state string) {
		if slices.Index(states, state) > slices.Index(states, a.State) {
			a.State = state
		}
	}
	for _, s := range h.used(snap.Paths()) {
		var group sync.WaitGroup
		room := make(chan struct{}, atOnce)
		var down error // nothing of the language can be told
		for _, path := range s.files {
			room <- struct{}{}
			mu.Lock()
			stop := down != nil
			mu.Unlock()
			if stop {
				<-room
				break
			}
			group.Go(func() {
				defer func() { <-room }()
				one, err := h.one(ctx, r, s.Service, path)
				mu.Lock()
				defer mu.Unlock()
				var late *service.Pending
				switch {
				case errors.As(err, &late), errors.Is(err, context.DeadlineExceeded):
					worse(wire.CodePending)
					a.Skipped = append(a.Skipped, wire.CodeSkipped{Language: s.name, Path: h.show(path), State: wire.CodePending, Reason: reason(err)})
				case fail.Exit(err) == fail.ExitUnavailable:
					worse(wire.CodeUnavailable)
					if down == nil {
						down = err
						a.Skipped = append(a.Skipped, wire.CodeSkipped{Language: s.name, State: wire.CodeUnavailable, Reason: reason(err)})
					}
				case fail.Exit(err) == fail.ExitNotFound: // it went in the meantime
				case err != nil:
					worse(wire.CodeUnavailable)
					a.Skipped = append(a.Skipped, wire.CodeSkipped{Language: s.name, Path: h.show(path), State: wire.CodeUnavailable, Reason: reason(err)})
				default:
					worse(one.State)
					a.Diagnostics = append(a.Diagnostics, one.Diagnostics...)
				}
			})
		}
		group.Wait()
		if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
	}
	if len(a.Skipped) > 0 {
		a.Reason = a.Skipped[0].Reason
	}
	slices.SortFunc(a.Skipped, func(x, y wire.CodeSkipped) int {
		return cmp.Or(compareStrings(x.Language, y.Language), compareStrings(x.Path, y.Path))
	})
	slices.SortStableFunc(a.Diagnostics, func(x, y wire.Diagnostic) int { return compareStrings(x.Path, y.Path) })
	cutDiagnostics(&r.query, a)
	return nil
}

func cutDiagnostics(q *wire.CodeQuery, a *wire.CodeAnswer) {
	a.Total = len(a.Diagnostics)
	if most := limit(q.Limit, usualDiagnostics, mostItems); a.Total > most {
		a.Diagnostics, a.Truncated = a.Diagnostics[:most], true
	}
}

// states are those of diagnostics, the best first.
var states = []string{wire.CodeClean, wire.CodeFindings, wire.CodeUnavailable, wire.CodePending}

func reason(err error) string {
	if e := fail.As(err); e != nil {
		return e.Msg
	}
	return err.Error()
}

func compareStrings(a, b string) int { return strings.Compare(a, b) }
