package site

import (
	"context"
	"errors"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/internal/model/route"
	"github.com/kxtools/kx/internal/record/config/provider"
	"github.com/kxtools/kx/internal/record/secret"
)

// Keys are the keys of providers' accounts.
type Keys struct {
	site  *Site
	store *secret.Store // to look at
}

// Keys opens them. It makes nothing.
func (s *Site) Keys() (*Keys, error) {
	st, err := s.Peek()
	if err != nil {
		return nil, err
	}
	return &Keys{s, secret.New(st)}, nil
}

// Know lets this process hide the keys that its environment has for accounts, under
// the names of their variables.
func (k *Keys) Know(c *provider.Catalog) error {
	st, err := k.site.State()
	if err != nil {
		return err
	}
	var list []redact.Secret
	for _, p := range c.Providers {
		for _, a := range p.Accounts {
			if key := k.site.app.Getenv(a.Env); a.Env != "" && key != "" {
				list = append(list, redact.Secret{Name: a.Env, Value: key})
			}
		}
	}
	secret.Know(st, list)
	return nil
}

// Unlock asks for the passphrase of the secrets, if they are behind one. Where nobody
// is there to ask, whoever needs a key says so.
func (k *Keys) Unlock(ctx context.Context) error {
	store, err := k.site.Secrets(ctx)
	if err != nil {
		return err
	}
	if locked, err := store.Locked(); !locked || err != nil {
		return err
	}
	if err := store.Unlock(); !errors.Is(err, secret.ErrLocked) {
		return err
	}
	return nil
}

// State says how the key of an account stands, without looking at it.
func (k *Keys) State(a *provider.Account) route.KeyState {
	switch {
	case !a.Keyed():
		return route.KeyNone
	case a.Env != "" && k.site.app.Getenv(a.Env) != "":
		return route.KeySet
	case a.Env != "":
		return route.KeyMissing
	}
	in, err := k.store.Info(a.Slot)
	switch {
	case fail.Exit(err) == fail.ExitNotFound:
		return route.KeyMissing
	case err != nil:
		return route.KeyUnreadable
	case in.State == secret.Revoked:
		return route.KeyRevoked
	}
	return route.KeySet
}

// Get returns the key of an account.
func (k *Keys) Get(ctx context.Context, a *provider.Account) (string, error) {
	if a.Env == "" {
		store, err := k.site.Secrets(ctx)
		if err != nil {
			return "", err
		}
		return store.Get(a.Slot)
	}
	key := k.site.app.Getenv(a.Env)
	if key == "" {
		return "", fail.Unavailable("no_key", "%s is not set, and account %s has its key there", a.Env, a.Name).WithHint("kx model list")
	}
	return key, nil
}
