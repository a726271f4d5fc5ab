package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/host/lsp/language"
	"github.com/kxtools/kx/internal/host/lsp/service"
	"github.com/kxtools/kx/pkg/wire"
)

// status sends the servers that were asked for so far.
func (h *Host) status(send func(any) error) (any, error) {
	h.mu.Lock()
	list := h.services
	h.mu.Unlock()
	count := 0
	for _, s := range list {
		st := s.State()
		if st.State == "" {
			continue
		}
		count++
		doc := wire.LanguageServer{
			Type: "lsp_server", V: wire.Version, Language: st.Language, Name: st.Name, Version: st.Version, State: st.State,
			PID: st.PID, Memory: st.Memory, OpenFiles: st.Open, Reason: st.Reason,
		}
		if !st.Started.IsZero() {
			began := st.Started.UTC()
			doc.Started = &began
		}
		if err := send(doc); err != nil {
			return nil, err
		}
	}
	return map[string]any{"type": "end", "v": wire.Version, "count": count}, nil
}

// doctor starts the server of each language, or of the one that is asked about, and
// sends what came of it: a server is proven by its handshake.
func (h *Host) doctor(ctx context.Context, r *request, send func(any) error) (any, error) {
	snap, err := h.shared.Scanner.Scan(ctx)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	h.mu.Lock()
	langs := h.langs
	h.mu.Unlock()
	for _, path := range snap.Paths() {
		if l, _ := language.ByPath(langs, path); l != nil {
			used[l.Name] = true
		}
	}
	if name := r.query.Name; name != "" {
		l := language.ByName(langs, name)
		if l == nil {
			return nil, noLanguage(name, langs)
		}
		langs = []*language.Language{l}
	}
	for _, l := range langs {
		if err := send(h.examine(ctx, r, l, used[l.Name])); err != nil {
			return nil, err
		}
	}
	return map[string]any{"type": "end", "v": wire.Version, "count": len(langs)}, nil
}

func noLanguage(name string, langs []*language.Language) error {
	var known []string
	for _, l := range langs {
		known = append(known, l.Name)
	}
	msg := fmt.Sprintf("there is no language %.80q", name)
	if near := argv.Nearest(strings.ToLower(name), known); near != "" {
		return fail.NotFound("no_such_language", "%s; did you mean %s?", msg, near).WithHint("kx lsp doctor %s", near)
	}
	return fail.NotFound("no_such_language", "%s", msg).WithHint("kx lsp doctor")
}

// maxShake is how long doctor waits for a server: the handshake of the slowest takes a
// second, and who still loads after this is told of as it is.
const maxShake = 20 * time.Second

// examine finds out about one language.
func (h *Host) examine(ctx context.Context, r *request, l *language.Language, used bool) wire.LanguageCheck {
	doc := wire.LanguageCheck{Type: "lsp_check", V: wire.Version, Language: l.Name, Used: used, State: "ok"}
	s, err := h.shakeHands(ctx, r, l)
	if s == nil {
		doc.State, doc.Reason = "failed", reason(err)
		return doc
	}
	st := s.State()
	var late *service.Pending
	if err == nil || errors.As(err, &late) && st.PID != 0 { // loading goes on, the handshake is done
		doc.Server, doc.Version, doc.Program = st.Server, st.Version, st.Program
		if slices.ContainsFunc(l.Servers, func(s *language.Server) bool { return s.Name == st.Name }) {
			doc.Server = st.Name // basedpyright brings a pyright-langserver along
		}
		if st.Reason != "" {
			doc.Reason = st.Reason
		}
		return doc
	}
	e := fail.As(err)
	doc.Reason, doc.Hint = reason(err), ""
	if e != nil {
		doc.Hint = e.Hint
	}
	why, install := language.Advice(l, r.setup.Env, h.root)
	switch {
	case why != "":
		doc.State, doc.Reason, doc.Hint = "missing", why, install
	case e != nil && (e.Code == "untrusted" || e.Code == "no_walls"):
		doc.State = "untrusted"
	default:
		doc.State = "failed"
		if strings.HasPrefix(doc.Hint, "kx lsp ") && len(l.Servers) > 0 { // it is what they go to
			doc.Hint = l.Servers[0].Install(r.setup.Env)
		}
	}
	return doc
}

// shakeHands starts the server of a language, and returns its service.
func (h *Host) shakeHands(ctx context.Context, r *request, l *language.Language) (s *service.Service, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxShake)
	defer cancel()
	for range maxMoved {
		if s = h.of(l.Name); s == nil {
			return nil, errOver // or another configuration holds now
		}
		err = s.Do(ctx, &r.setup, nil, func(context.Context, *service.View) error { return nil })
		if !errors.Is(err, service.ErrClosed) {
			break
		}
	}
	return s, err
}

// of returns the service of a language.
func (h *Host) of(name string) *service.Service {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.services {
		for _, have := range s.Languages() {
			if have.Name == name {
				return s
			}
		}
	}
	return nil
}
