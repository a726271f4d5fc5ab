package site

import (
	"context"

	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/gate"
	"github.com/kxtools/kx/internal/gate/hook"
	"github.com/kxtools/kx/internal/host"
	"github.com/kxtools/kx/internal/record/session"
	"github.com/kxtools/kx/pkg/wire"
)

// post sends a document to a server that is a hook. kxd does it, which is larger than
// kx may be; KX_KXD has no say in what a hook runs.
func (s *Site) post(ctx context.Context, url string, doc []byte) ([]byte, error) {
	kxd, err := host.Kxd("", nil)
	if err != nil {
		return nil, err
	}
	in, err := wire.Marshal(hook.Request{URL: url, Body: doc})
	if err != nil {
		return nil, err
	}
	res, err := proc.Run(ctx, proc.Spec{Argv: []string{kxd, "hook"}, Dir: "/", Stdin: in, OutCap: hook.MaxAnswer})
	return hook.Answer(res, err)
}

// keepRules gives the session of a gate rules that hooks made, for its caller.
func keepRules(store *session.Store, g *gate.Gate, list []hook.Rule) error {
	now := g.Now().UTC()
	var lines []session.Rule
	for _, r := range list {
		l := session.Rule{Rule: r.Rule, Hook: r.Hook, At: now}
		if session.Shared(g.Session) {
			until := now.Add(session.SharedLife)
			l.Caller, l.ExpiresAt = g.Caller, &until
		}
		lines = append(lines, l)
	}
	return store.AddRules(g.Session, lines)
}
