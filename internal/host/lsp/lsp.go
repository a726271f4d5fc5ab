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
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/sock"
	"github.com/kxtools/kx/internal/host/lsp/ask"
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

// maxMoved is how often a question is asked whose symbol moves, or whose servers are
// replaced, while it is asked.
const maxMoved = 5

// tooMany is why not all files of a workspace are looked at.
var tooMany = fmt.Sprintf("the workspace has more than %d folders or %d files", disk.MaxFolders, disk.MaxFiles)

// Host answers for one workspace.
type Host struct {
	root   string
	code   *ask.Workspace
	shared *service.Shared
	sight  sight
	end    func() // ends the host

	mu       sync.Mutex
	user     []byte // the servers of the user, as the services stand for
	langs    []*language.Language
	services []*service.Service
	over     bool // no servers are started any more
}

// New returns the host of a workspace. end is called when the workspace is gone.
func New(shared *service.Shared, end func()) *Host {
	return &Host{root: shared.Root, code: ask.In(shared.Root), shared: shared, end: end}
}

// request is a question on its way.
type request struct {
	verb  string
	query wire.CodeQuery
	setup door.Setup
}

// Handle answers one request of a client.
func (h *Host) Handle(ctx context.Context, r *sock.Request, send func(any) error) (doc any, err error) {
	defer h.shared.Caught(&err)
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
	if err := h.adopt(&q.setup); err != nil {
		return nil, err
	}
	switch {
	case r.Verb == "status":
		return h.status(send)
	case r.Verb == "doctor":
		doc, err = h.doctor(ctx, q, send)
	case r.Verb == "diagnostics", r.Verb == "symbols", ask.Knows(r.Verb):
		doc, err = h.Answer(ctx, q)
	default:
		return nil, fail.Usage("this host knows no verb %q", r.Verb)
	}
	if errors.Is(err, disk.ErrMoved) {
		h.end()
		return nil, moved(h.root)
	}
	return doc, err
}

// moved is the error where the folder of the host is another one now.
func moved(root string) error {
	return fail.Unavailable(door.Moved, "the workspace %s was moved, deleted or replaced; its language host ends", root).WithHint("ls -ld %s", root)
}

// adopt takes over what the user's configuration has of servers. It fails once the host
// ends.
func (h *Host) adopt(setup *door.Setup) error {
	raw, _ := json.Marshal(setup.Servers) // strings and numbers
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.over:
		return errOver
	case h.langs != nil && string(raw) == string(h.user):
		return nil
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
	return nil
}

// errOver is the answer of a host that ends.
var errOver = fail.Unavailable("host_ends", "the language host ends").WithHint("kx host list")

// names are those of the servers of a language.
func names(l *language.Language) (list []string) {
	for _, s := range l.Servers {
		list = append(list, s.Name)
	}
	return list
}

// ends reports whether it ends.
func (h *Host) ends() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over
}

// Close ends all servers.
func (h *Host) Close() {
	h.mu.Lock()
	list := h.services
	h.services, h.over = nil, true
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

// used are the services for which the workspace has files, with those that they may see.
func (h *Host) used(r *request, files []string) (list []work) {
	h.mu.Lock()
	services := h.services
	h.mu.Unlock()
	files = h.sight.of(h.root, &r.setup, files)
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
	var a *wire.CodeAnswer
	var err error
	for try, again := 0, true; again && try < maxMoved; try++ {
		a = &wire.CodeAnswer{Type: "lsp_" + strings.ReplaceAll(r.verb, "-", "_"), V: wire.Version, State: wire.CodeOK}
		err = h.answer(ctx, r, a)
		replaced := errors.Is(err, service.ErrClosed) // by a change of the configuration
		if again = replaced || errors.Is(err, ask.ErrGone); replaced && h.ends() {
			return nil, errOver
		}
	}
	var late *service.Pending
	var several *ask.Ambiguous
	switch {
	case errors.As(err, &several):
		a.State, a.Candidates = wire.CodeAmbiguous, several.Places
		ask.CutCandidates(a)
	case errors.As(err, &late):
		a.State, a.Reason = wire.CodePending, late.Reason
	case errors.Is(err, context.DeadlineExceeded):
		a.State, a.Reason = wire.CodePending, "the server has not answered yet"
	case errors.Is(err, disk.ErrMoved):
		return nil, err
	case fail.Exit(err) == fail.ExitUnavailable:
		e := fail.As(err)
		a.State, a.Reason, a.Code, a.Hint = wire.CodeUnavailable, e.Msg, e.Code, e.Hint
	case err != nil:
		var refused *protocol.Error
		if errors.As(err, &refused) {
			return nil, refusal(r.verb, a, refused)
		}
		return nil, err
	}
	return a, fit(a)
}

// refusal is the error of a question that a server answers with one. Some say so of every
// place where there is nothing to tell of.
func refusal(verb string, a *wire.CodeAnswer, e *protocol.Error) error {
	who, hint := "the language server", "kx lsp "+verb+" --help"
	if a.Server != nil {
		who = a.Server.Name
	}
	if e.Code == protocol.InternalError {
		hint = "kx lsp status"
	}
	return fail.Failed("server_error", "%s answers with an error: %s", who, e.Message).WithHint("%s", hint)
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
	a.Path = h.code.Show(q.Path)
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
			ask.CutDiagnostics(q, a)
		}
		return err
	}
	more, note, err := h.companions(ctx, r, s, q)
	if err != nil {
		return err
	}
	err = s.Do(ctx, &r.setup, append(more, q.Path), func(ctx context.Context, v *service.View) error {
		h.begin(a, v)
		a.Note = notes(a.Note, note, apart(v, r.verb, q.Path, named(q)))
		if err := v.Open(q.Path); err != nil {
			return err
		}
		if r.verb == "symbols" {
			return h.code.Symbols(ctx, v, q, a)
		}
		p, err := h.code.Locate(v, q)
		if err != nil {
			return err
		}
		return h.code.Ask(ctx, v, r.verb, q, p, a)
	})
	return without(more, err)
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
		means, _ := v.Server.Complain(what)
		a.Note = v.Server.Name + " is not well: " + ask.Brief(means)
	}
	if v.Partial() {
		a.Note = notes(a.Note, "what changes in some of the files is not seen: "+tooMany)
	}
}

// notes are what is to be known of servers, each once.
func notes(list ...string) string {
	var each []string
	for _, n := range list {
		if n != "" && !slices.Contains(each, n) {
			each = append(each, n)
		}
	}
	return strings.Join(each, "; ")
}

// one answers with the diagnostics of one file, all of them.
func (h *Host) one(ctx context.Context, r *request, s *service.Service, path string) (*wire.CodeAnswer, error) {
	a := &wire.CodeAnswer{Type: "lsp_diagnostics", V: wire.Version, Path: h.code.Show(path), State: wire.CodePending}
	err := s.Do(ctx, &r.setup, []string{path}, func(ctx context.Context, v *service.View) error {
		h.begin(a, v)
		if err := v.Open(path); err != nil {
			return err
		}
		found, err := h.code.Diagnose(ctx, v, path)
		a.State, a.Diagnostics = wire.CodePending, found
		if err != nil {
			return err
		}
		if a.State = wire.CodeClean; slices.ContainsFunc(found, ask.IsFinding) {
			a.State = wire.CodeFindings
		}
		return nil
	})
	if errors.Is(err, ask.ErrUnsettled) {
		err = &service.Pending{Reason: a.Server.Name + " has not looked at the file yet"}
	}
	return a, err
}

// checkPath refuses what is no file of the workspace.
func (h *Host) checkPath(path string) error {
	if !filepath.IsAbs(path) || !h.code.Inside(path) {
		return fail.Usage("%s is outside the workspace %s", path, h.root).WithHint("kx -C %s lsp --help", filepath.Dir(path))
	}
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if h.shared.Scanner.Gone() {
			return disk.ErrMoved
		}
		return fail.NotFound("no_such_file", "there is no file %s", h.code.Show(path))
	case err != nil:
		return fail.Failed(service.Unreadable, "%s can't be read: %v", h.code.Show(path), err)
	case fi.IsDir():
		return fail.Usage("%s is a folder, not a file", h.code.Show(path)).WithHint("kx lsp diagnostics")
	case !fi.Mode().IsRegular():
		return fail.Usage("%s is not a regular file", h.code.Show(path))
	}
	return nil
}
