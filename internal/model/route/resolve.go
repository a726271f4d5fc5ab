// Package route decides which model is asked, and on whose account: Resolve says what
// could be asked, in order, and reserves nothing; Router is a model that asks, waits,
// and goes to the next one where that may help.
//
// These always hold. A model that was named is never replaced by another one; a role
// falls back only to the roles that it names. Nothing is asked again once a part of the
// answer was shown, unless its provider says that this is safe. A key is fetched for
// each request and stands in no error. Whoever listens is told of a failure before
// anything is asked again, and a wait ends at once when its context does.
//
// Every request passes Admit. kxd makes the router of a run; kx model shows what
// Resolve says.
package route

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/record/config/provider"
)

// Ask is what was asked for: a model, or a role; neither is the default role. A model
// that is named wins over that of the role.
type Ask struct {
	Model string `json:"model,omitempty"`
	Role  string `json:"role,omitempty"`
}

// KeyState is how the key of an account stands.
type KeyState string

// The states of keys.
const (
	KeySet     KeyState = "set"
	KeyMissing KeyState = "missing"
	KeyRevoked KeyState = "revoked"
	KeyNone    KeyState = "none" // the server needs none

	KeyUnreadable KeyState = "unreadable" // kx secret list says why
)

// Candidate is a model that can be asked on an account.
type Candidate struct {
	Provider *provider.Provider
	Model    *provider.Model
	Account  *provider.Account
	Role     string   // whose model it is, "" for one that was named
	Via      []string // the roles that led there, the first one was asked for
	Skipped  string   // why it is not asked, "" if it is
}

// ID is the model as it is typed.
func (c Candidate) ID() string { return c.Provider.Name + "/" + c.Model.Name }

// standIn are the roles that do the work of others which are not set: an observer of
// nobody's watches with the model of those who work.
var standIn = map[string]string{"observer": "execution"}

// Resolve returns what can be asked, in order: the model that was named, or that of the
// role and then those of its fallbacks; of each the account that is fixed, or the default
// one and then the others. Those that can't be asked now are there with the reason.
// state says how a key stands; nil leaves keys out.
func Resolve(c *provider.Catalog, ask Ask, state func(*provider.Account) KeyState) ([]Candidate, error) {
	if state == nil {
		state = func(*provider.Account) KeyState { return KeySet }
	}
	w := &walk{catalog: c, state: state, seen: map[string]bool{}}
	role, err := start(c, ask)
	if err != nil {
		return nil, err
	}
	if ask.Model != "" {
		p, m, err := named(c, ask.Model)
		if err != nil {
			return nil, err
		}
		w.add(Candidate{Provider: p, Model: m, Role: ask.Role}, "")
		return w.list, nil
	}
	var via []string
	if role.Name != ask.Role && ask.Role != "" {
		via = []string{ask.Role}
	}
	w.role(role, via)
	return w.list, nil
}

// start returns the role that is asked for, nil if that is a model alone.
func start(c *provider.Catalog, ask Ask) (*provider.Role, error) {
	name := ask.Role
	switch {
	case name == "" && ask.Model != "":
		return nil, nil
	case name == "":
		name = provider.Default
		if c.Role(name) == nil {
			return nil, fail.Unavailable("no_model", "no model is given, and config.toml has no [roles.default]").WithHint("kx model list")
		}
	}
	r := c.Role(name)
	if r == nil {
		r = c.Role(standIn[name])
	}
	if r == nil {
		if better := argv.Nearest(name, c.RoleNames()); better != "" {
			return nil, fail.NotFound("no_such_role", "there is no role %q; did you mean %s?", name, better).WithHint("kx model resolve --role %s", better)
		}
		return nil, fail.NotFound("no_such_role", "there is no role %q in config.toml", name).WithHint("kx model list")
	}
	return r, nil
}

// named finds the model that somebody typed: PROVIDER/MODEL, or a name that only one
// provider has.
func named(c *provider.Catalog, id string) (*provider.Provider, *provider.Model, error) {
	before, after, ok := strings.Cut(id, "/")
	if p := c.Provider(before); ok && p != nil {
		if why := provider.CheckModel(after); why != "" {
			return nil, nil, fail.Usage("%.200q is no model: %s", id, why).WithHint("kx model list")
		}
		if m := p.Model(after); m != nil {
			return p, m, nil
		}
		return p, &provider.Model{Name: after}, nil
	}
	var found []provider.Known
	var ids []string
	for _, k := range c.Known() {
		ids = append(ids, k.ID(), k.Model.Name)
		if k.Model.Name == id {
			found = append(found, k)
		}
	}
	switch better := argv.Nearest(id, ids); {
	case c.Provider(id) != nil && len(found) == 0:
		return nil, nil, fail.NotFound("no_such_model", "%s is a provider: name a model of it, %s/MODEL", id, id).WithHint("kx model list")
	case len(found) == 1:
		return found[0].Provider, found[0].Model, nil
	case len(found) > 1:
		var of []string
		for _, k := range found {
			of = append(of, k.ID())
		}
		return nil, nil, fail.Usage("%q is ambiguous: %s", id, strings.Join(of, ", ")).WithHint("kx model resolve --model %s", argv.Quote(of[0]))
	case better != "":
		return nil, nil, fail.NotFound("no_such_model", "there is no model %.200q; did you mean %s?", id, better).WithHint("kx model resolve --model %s", argv.Quote(better))
	}
	if ok && before != "" {
		return nil, nil, fail.NotFound("no_such_model", "there is no model %.200q in config.toml, and no provider %.80q", id, before).WithHint("kx model list")
	}
	return nil, nil, fail.NotFound("no_such_model", "there is no model %.200q in config.toml", id).WithHint("kx model list")
}

// walk gathers candidates.
type walk struct {
	catalog *provider.Catalog
	state   func(*provider.Account) KeyState
	seen    map[string]bool // roles, and what was added
	list    []Candidate
}

func (w *walk) role(r *provider.Role, via []string) {
	if w.seen[r.Name] {
		return
	}
	w.seen[r.Name] = true
	via = append(slices.Clone(via), r.Name)
	p := w.catalog.Provider(r.Provider)
	m := p.Model(r.Model)
	if m == nil {
		m = &provider.Model{Name: r.Model}
	}
	w.add(Candidate{Provider: p, Model: m, Role: r.Name, Via: via}, r.Account)
	for _, f := range r.Fallback {
		w.role(w.catalog.Role(f), via)
	}
}

// add adds a model with every account that may pay for it.
func (w *walk) add(c Candidate, fixed string) {
	for _, a := range c.Provider.Accounts {
		key := c.ID() + "\x00" + a.Name
		if fixed != "" && a.Name != fixed || w.seen[key] {
			continue
		}
		w.seen[key] = true
		c.Account, c.Skipped = a, lacks(a, w.state(a))
		w.list = append(w.list, c)
	}
}

// lacks says what is wrong with the key of an account, "" for nothing.
func lacks(a *provider.Account, s KeyState) string {
	switch {
	case s == KeySet || s == KeyNone:
		return ""
	case a.Env != "":
		return a.Env + " is not set"
	case s == KeyRevoked:
		return "the key in slot " + a.Slot + " is revoked"
	case s == KeyUnreadable:
		return "the key in slot " + a.Slot + " can't be read"
	}
	return "there is no key in slot " + a.Slot
}

// Ready returns the candidates that can be asked. It is an error if there is none.
func Ready(all []Candidate) ([]Candidate, error) {
	var ready []Candidate
	var why []string
	for _, c := range all {
		if c.Skipped == "" {
			ready = append(ready, c)
		} else {
			why = append(why, fmt.Sprintf("%s (account %s): %s", c.ID(), c.Account.Name, c.Skipped))
		}
	}
	if len(ready) > 0 {
		return ready, nil
	}
	err := fail.Unavailable("no_key", "no model can be asked: %s", strings.Join(why, "; ")).WithHint("kx model list")
	for _, c := range all {
		switch slot := c.Account.Slot; {
		case slot != "" && strings.HasSuffix(c.Skipped, "can't be read"):
			return nil, err.WithHint("kx secret list")
		case slot != "":
			return nil, err.WithHint("kx secret set %s", slot)
		}
	}
	return nil, err
}
