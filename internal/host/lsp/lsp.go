// Package lsp is kxd lsp: it answers questions about the code of one workspace, with
// the language servers that it keeps running for it. A server is started when it is
// first asked, is told of every change on disk before each question, and is not asked
// before it has loaded: what is not known is pending, never empty.
//
// It writes nothing and decides nothing: a rename is answered with its edits, and who
// asks was let through by the gate. What servers may see and do comes with every
// question (door.Setup).
package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	lsptype "github.com/sourcegraph/go-lsp"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/host/lsp/client"
	"github.com/kxtools/kx/internal/host/lsp/disk"
	"github.com/kxtools/kx/internal/host/lsp/door"
	"github.com/kxtools/kx/internal/host/lsp/language"
	"github.com/kxtools/kx/internal/host/lsp/protocol"
	"github.com/kxtools/kx/internal/host/lsp/service"
	"github.com/kxtools/kx/pkg/wire"
)

// minWait is what a server that has loaded gets in any case to answer, so that a
// question that does not wait for loading is still answered.
const minWait = 2 * time.Second

// Host answers for one workspace.
type Host struct {
	root   string
	shared *service.Shared
	end    func() // ends the host

	mu       sync.Mutex
	user     []byte // the servers of the user, as the services stand for
	langs    []*language.Language
	services []*service.Service
	checked  map[*client.Client]int64 // up to which change the project's compiler has looked
}

// New returns the host of a workspace. end is called when the workspace is gone.
func New(shared *service.Shared, end func()) *Host {
	return &Host{root: shared.Root, shared: shared, end: end, checked: map[*client.Client]int64{}}
}

// request is a question on its way.
type request struct {
	verb  string
	query wire.CodeQuery
	setup door.Setup
}

// Handle answers one request of a client.
func (h *Host) Handle(ctx context.Context, r *sock.Request, send func(any) error) (any, error) {
	var args door.Args
	if err := json.Unmarshal(r.Args, &args); err != nil {
		return nil, fail.Usage("the arguments of %s are not understood: %v", r.Verb, err)
	}
	q := &request{verb: r.Verb, setup: args.Setup}
	if len(args.Query) > 0 {
		if err := json.Unmarshal(args.Query, &q.query); err != nil {
			return nil, fail.Usage("the question is not understood: %v", err)
		}
	}
	h.adopt(&q.setup)
	switch {
	case r.Verb == "status":
		return h.status(send)
	case r.Verb == "doctor":
		return h.doctor(ctx, q, send)
	case r.Verb == "diagnostics", r.Verb == "symbols", verbs[r.Verb].answer != nil:
		a, err := h.Answer(ctx, q)
		if errors.Is(err, disk.ErrMoved) {
			h.end()
			return nil, moved(h.root)
		}
		return a, err
	}
	return nil, fail.Usage("this host knows no verb %q", r.Verb)
}

// moved is the error where the folder of the host is another one now.
func moved(root string) error {
	return fail.Unavailable(door.Moved, "the workspace %s was moved, deleted or replaced; its language host ends", root).WithHint("ls -ld %s", root)
}

// adopt takes over what the user's configuration has of servers.
func (h *Host) adopt(setup *door.Setup) {
	raw, _ := json.Marshal(setup.Servers) // strings and numbers
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.langs != nil && string(raw) == string(h.user) {
		return
	}
	for _, s := range h.services {
		go s.Close()
	}
	h.user, h.langs, h.services = raw, language.Table(setup.Servers), nil
	for _, l := range h.langs {
		placed := false
		for i, s := range h.services {
			if reflect.DeepEqual(names(s.Languages()[0]), names(l)) {
				h.services[i] = service.New(h.shared, append(s.Languages(), l))
				placed = true
			}
		}
		if !placed {
			h.services = append(h.services, service.New(h.shared, []*language.Language{l}))
		}
	}
}

// names are those of the servers of a language.
func names(l *language.Language) (list []string) {
	for _, s := range l.Servers {
		list = append(list, s.Name)
	}
	return list
}

// Close ends all servers.
func (h *Host) Close() {
	h.mu.Lock()
	list := h.services
	h.services, h.langs = nil, nil
	h.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range list {
		all.Go(s.Close)
	}
	all.Wait()
}

// service returns who serves a file, and the language of it.
func (h *Host) service(path string) (*service.Service, *language.Language) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.services {
		if l, _ := language.ByPath(s.Languages(), path); l != nil {
			return s, l
		}
	}
	return nil, nil
}

// used are the services for which the workspace has files, with these.
func (h *Host) used(files []string) (list []work) {
	h.mu.Lock()
	services := h.services
	h.mu.Unlock()
	for _, s := range services {
		w := work{Service: s, name: s.Languages()[0].Name}
		for _, path := range files {
			if l, _ := language.ByPath(s.Languages(), path); l != nil {
				w.files = append(w.files, path)
			}
		}
		if len(w.files) > 0 {
			list = append(list, w)
		}
	}
	return list
}

// work is a service with the files that there are for it.
type work struct {
	*service.Service
	name  string
	files []string
}

// Answer answers a question. What can't be told is in the state of the answer; an
// error is the question's own.
func (h *Host) Answer(ctx context.Context, r *request) (*wire.CodeAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, max(minWait, time.Duration(r.query.WaitMS)*time.Millisecond))
	defer cancel()
	a := &wire.CodeAnswer{Type: "lsp_" + strings.ReplaceAll(r.verb, "-", "_"), V: wire.Version, State: wire.CodeOK}
	err := h.answer(ctx, r, a)
	var late *service.Pending
	var several *ambiguous
	switch {
	case errors.As(err, &several):
		a.State, a.Candidates, a.Total = wire.CodeAmbiguous, several.places, len(several.places)
	case errors.As(err, &late):
		a.State, a.Reason = wire.CodePending, late.Reason
	case errors.Is(err, context.DeadlineExceeded):
		a.State, a.Reason = wire.CodePending, "the server has not answered yet"
	case errors.Is(err, disk.ErrMoved):
		return nil, err
	case fail.Exit(err) == fail.ExitUnavailable:
		e := fail.As(err)
		a.State, a.Reason, a.Hint = wire.CodeUnavailable, e.Msg, e.Hint
	case err != nil:
		var refused *protocol.Error
		if errors.As(err, &refused) {
			return nil, fail.Failed("server_error", "the language server answers with an error: %s", refused.Message).WithHint("kx lsp status")
		}
		return nil, err
	}
	return a, nil
}

func (h *Host) answer(ctx context.Context, r *request, a *wire.CodeAnswer) error {
	q := &r.query
	switch {
	case q.Symbol != "":
		return h.named(ctx, r, a)
	case r.verb == "symbols" && q.Query != "":
		return h.search(ctx, r, a)
	case r.verb == "diagnostics" && (q.Path == "" || q.Path == h.root):
		return h.everything(ctx, r, a)
	}
	if err := h.checkPath(q.Path); err != nil {
		return err
	}
	a.Path = h.show(q.Path)
	s, l := h.service(q.Path)
	if s == nil {
		ext := filepath.Ext(q.Path)
		if ext == "" {
			ext = filepath.Base(q.Path)
		}
		return fail.Unavailable("not_registered", "no language server is registered for %s files", ext).WithHint("man kx-lsp")
	}
	a.Language = l.Name
	if r.verb == "diagnostics" {
		one, err := h.one(ctx, r, s, q.Path)
		if one != nil {
			*a = *one
			a.Language = l.Name
		}
		return err
	}
	return s.Do(ctx, &r.setup, []string{q.Path}, func(ctx context.Context, v *service.View) error {
		h.begin(a, v)
		if r.verb == "symbols" {
			return h.symbols(ctx, v, q, a)
		}
		p, err := h.locate(v, q)
		if err != nil {
			return err
		}
		return h.ask(ctx, v, r, q, p, a)
	})
}

// begin fills in what every answer says of its server. What an earlier try has
// answered is dropped.
func (h *Host) begin(a *wire.CodeAnswer, v *service.View) {
	asOf := v.At.UTC()
	*a = wire.CodeAnswer{
		Type: a.Type, V: a.V, Path: a.Path, Language: a.Language, State: wire.CodeOK,
		Server: &wire.CodeServer{Name: v.Name(), Version: v.Version()}, AsOf: &asOf,
	}
	if v.Crash != nil {
		a.Note = v.Server.Name + " was started again: " + v.Crash.Error()
	} else if what, _ := v.Health(); what != "" {
		a.Note = v.Server.Name + " is not well: " + brief(what)
	}
}

// maxNote is how much of what a server says of itself an answer repeats, in bytes.
const maxNote = 300

func brief(text string) string {
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote], "") + "… (kx lsp status has all of it)"
}

// ask asks about a position.
func (h *Host) ask(ctx context.Context, v *service.View, r *request, q *wire.CodeQuery, p lsptype.Position, a *wire.CodeAnswer) error {
	ask := verbs[r.verb]
	if !v.Has(ask.method) {
		return fail.Unavailable("not_supported", "%s does not know of %s", v.Server.Name, ask.what).WithHint("kx lsp references --help")
	}
	return ask.answer(h, ctx, v, q, p, a)
}

// one answers with the diagnostics of one file.
func (h *Host) one(ctx context.Context, r *request, s *service.Service, path string) (*wire.CodeAnswer, error) {
	a := &wire.CodeAnswer{Type: "lsp_diagnostics", V: wire.Version, Path: h.show(path), State: wire.CodePending}
	err := s.Do(ctx, &r.setup, []string{path}, func(ctx context.Context, v *service.View) error {
		h.begin(a, v)
		found, err := h.diagnose(ctx, v, path)
		a.State = wire.CodePending
		a.Diagnostics, a.Total = found, len(found)
		if err != nil {
			return err
		}
		if a.State = wire.CodeClean; slices.ContainsFunc(found, isFinding) {
			a.State = wire.CodeFindings
		}
		cutDiagnostics(&r.query, a)
		return nil
	})
	if errors.Is(err, errUnsettled) {
		err = &service.Pending{Reason: a.Server.Name + " has not looked at the file yet"}
	}
	return a, err
}

// checkPath refuses what is no file of the workspace.
func (h *Host) checkPath(path string) error {
	if !filepath.IsAbs(path) || !h.inside(path) {
		return fail.Usage("%s is outside the workspace %s", path, h.root).WithHint("kx -C %s lsp --help", filepath.Dir(path))
	}
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if _, rootErr := os.Stat(h.root); rootErr != nil {
			return disk.ErrMoved
		}
		return fail.NotFound("no_such_file", "there is no file %s", h.show(path))
	case err != nil:
		return fail.Failed("unreadable", "%s can't be read: %v", h.show(path), err)
	case fi.IsDir():
		return fail.Usage("%s is a folder, not a file", h.show(path)).WithHint("kx lsp diagnostics")
	case !fi.Mode().IsRegular():
		return fail.Usage("%s is not a regular file", h.show(path))
	}
	return nil
}

func (h *Host) inside(path string) bool { return paths.Inside(h.root, path) }

// show is a path as answers have it.
func (h *Host) show(path string) string {
	if rel, err := filepath.Rel(h.root, path); err == nil && h.inside(path) {
		return rel
	}
	return path
}

// abs is the reverse of show.
func (h *Host) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(h.root, path)
}
