package lsp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/host/lsp/ask"
	"github.com/kxtools/kx/internal/host/lsp/language"
	"github.com/kxtools/kx/internal/host/lsp/service"
	"github.com/kxtools/kx/pkg/wire"
)

// atOnce is how many files are diagnosed at once: servers have a queue of their own,
// and this many keeps it filled.
const atOnce = 4

// maxSkipped is how many files are named that nothing is known of: they mostly have one
// reason, and a line of the socket does not hold thousands.
const maxSkipped = 100

// everything answers with what the servers of all languages find in all files.
func (h *Host) everything(ctx context.Context, r *request, a *wire.CodeAnswer) error {
	snap, err := h.shared.Scanner.Scan(ctx)
	if err != nil {
		return err
	}
	asOf := snap.At.UTC()
	a.AsOf, a.State = &asOf, wire.CodeClean
	var mu sync.Mutex
	var said []string
	worse := func(state string) {
		if slices.Index(states, state) > slices.Index(states, a.State) {
			a.State = state
		}
	}
	if snap.Partial {
		worse(wire.CodeUnavailable)
		a.Skipped = append(a.Skipped, wire.CodeSkipped{Path: ".", State: wire.CodeUnavailable, Reason: "not all of it was looked at: " + tooMany})
	}
	for _, s := range h.used(r, snap.Paths()) {
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
				one, err := h.oneOf(ctx, r, s.Service, path)
				mu.Lock()
				defer mu.Unlock()
				var late *service.Pending
				switch {
				case errors.Is(err, service.ErrClosed):
					down = err
				case errors.As(err, &late), errors.Is(err, context.DeadlineExceeded):
					worse(wire.CodePending)
					a.Skipped = append(a.Skipped, wire.CodeSkipped{Language: s.name, Path: h.code.Show(path), State: wire.CodePending, Reason: reason(err)})
				case err != nil && fail.As(err).Code == ask.Unlinked: // what is compiled does not have it
					a.Skipped = append(a.Skipped, wire.CodeSkipped{Language: s.name, Path: h.code.Show(path), State: wire.CodeUnavailable, Reason: reason(err)})
				case fail.Exit(err) == fail.ExitUnavailable:
					worse(wire.CodeUnavailable)
					if down == nil {
						down = err
						a.Skipped = append(a.Skipped, wire.CodeSkipped{Language: s.name, State: wire.CodeUnavailable, Reason: reason(err)})
					}
				case fail.Exit(err) == fail.ExitNotFound, service.IsHidden(err): // it went in the meantime, or leads where no server looks
				case err != nil:
					worse(wire.CodeUnavailable)
					a.Skipped = append(a.Skipped, wire.CodeSkipped{Language: s.name, Path: h.code.Show(path), State: wire.CodeUnavailable, Reason: reason(err)})
				default:
					worse(one.State)
					said = append(said, one.Note)
					a.Diagnostics = append(a.Diagnostics, one.Diagnostics...)
				}
			})
		}
		group.Wait()
		elsewhere, hint, err := h.elsewhere(ctx, r, s)
		if err == nil && down == nil && len(elsewhere) > 0 {
			worse(wire.CodeUnavailable)
			a.Skipped, a.Hint = append(a.Skipped, elsewhere...), hint
		}
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			return ctx.Err()
		case errors.Is(down, service.ErrClosed):
			return down
		}
	}
	a.Note = notes(said...)
	a.Skipped = fewer(a.Skipped)
	if i := slices.IndexFunc(a.Skipped, func(s wire.CodeSkipped) bool { return s.State == a.State }); i >= 0 {
		a.Reason = a.Skipped[i].Reason
	}
	if closed := h.sight.of(h.root, &r.setup, snap.Unreadable); len(closed) > 0 { // nor may servers read those
		why := "the folder can't be read"
		if more := len(closed) - 1; more > 0 {
			why += fmt.Sprintf(", like %d more", more)
		}
		a.Skipped = append(a.Skipped, wire.CodeSkipped{Path: h.code.Show(closed[0]), State: wire.CodeUnavailable, Reason: why})
	}
	a.Skipped = append(a.Skipped, h.hidden(r, snap.Paths())...)
	slices.SortStableFunc(a.Diagnostics, func(x, y wire.Diagnostic) int { return strings.Compare(x.Path, y.Path) })
	ask.CutDiagnostics(&r.query, a)
	return nil
}

// hidden counts the files of each language that policy hides from all servers: they are no
// part of what is clean.
func (h *Host) hidden(r *request, files []string) (list []wire.CodeSkipped) {
	seen := h.sight.of(h.root, &r.setup, files)
	if len(seen) == len(files) {
		return nil
	}
	count := map[string]int{}
	for _, path := range files {
		if _, shown := slices.BinarySearch(seen, path); shown {
			continue
		}
		if _, l := h.service(path); l != nil {
			count[l.Name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		files := "1 file"
		if n := count[name]; n > 1 {
			files = fmt.Sprintf("%d files", n)
		}
		list = append(list, wire.CodeSkipped{Language: name, State: wire.CodeUnavailable, Reason: files + " that policy hides"})
	}
	return list
}

// elsewhere are files outside of the workspace that keep it from being clean. What they
// have is not told as a finding: nobody has said that it may be read.
func (h *Host) elsewhere(ctx context.Context, r *request, w work) (list []wire.CodeSkipped, hint string, err error) {
	if !slices.ContainsFunc(w.Languages()[0].Servers, func(s *language.Server) bool { return s.Check != nil }) {
		return nil, "", nil
	}
	err = w.Do(ctx, &r.setup, nil, func(ctx context.Context, v *service.View) error {
		list = nil
		if v.Server.Check != nil {
			hint = v.Server.Check.Hint
		}
		for path, what := range h.code.Elsewhere(v) {
			list = append(list, wire.CodeSkipped{Language: w.name, Path: path, State: wire.CodeUnavailable, Reason: fmt.Sprintf("the compiler finds an error in %s, outside of the workspace: %s", path, what)})
		}
		return nil
	})
	return list, hint, err
}

// fewer sorts what was skipped, and only counts what is more than an answer names.
func fewer(list []wire.CodeSkipped) []wire.CodeSkipped {
	slices.SortFunc(list, func(x, y wire.CodeSkipped) int {
		return cmp.Or(strings.Compare(x.Language, y.Language), strings.Compare(x.Path, y.Path))
	})
	if len(list) <= maxSkipped {
		return list
	}
	type kind struct{ language, state string }
	kept, more := slices.Clone(list[:maxSkipped]), map[kind]int{}
	for _, s := range list[maxSkipped:] {
		more[kind{s.Language, s.State}]++
	}
	for _, s := range list[maxSkipped:] {
		if n := more[kind{s.Language, s.State}]; n > 0 {
			delete(more, kind{s.Language, s.State})
			kept = append(kept, wire.CodeSkipped{Language: s.Language, State: s.State, Reason: fmt.Sprintf("%d more files, %s", n, s.Reason)})
		}
	}
	return kept
}

// oneOf is one where a panic would be nobody's.
func (h *Host) oneOf(ctx context.Context, r *request, s *service.Service, path string) (a *wire.CodeAnswer, err error) {
	defer h.shared.Caught(&err)
	return h.one(ctx, r, s, path)
}

// states are those of diagnostics, the best first.
var states = []string{wire.CodeClean, wire.CodeFindings, wire.CodeUnavailable, wire.CodePending}

func reason(err error) string {
	if e := fail.As(err); e != nil {
		return e.Msg
	}
	return err.Error()
}
