package site

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/record/secret"
)

// Secrets opens the secrets. Where they are behind a passphrase, it is asked for on
// the terminal when it is needed.
func (s *Site) Secrets(ctx context.Context) (*secret.Store, error) {
	st, err := s.State()
	if err != nil {
		return nil, err
	}
	store := secret.New(st)
	store.Ask = func(question string) (string, error) {
		typed, err := s.Types(ctx, question)
		if e := fail.As(err); e != nil && e.Code == "human_only" {
			return "", errors.Join(secret.ErrLocked, err)
		}
		return typed, err
	}
	return store, nil
}

// Known returns what knows the secrets, as far as this process may.
func (s *Site) Known() (*redact.Redactor, error) {
	st, err := s.Peek()
	if err != nil {
		return nil, err
	}
	return secret.Redactor(st)
}

// Hide takes known secrets out of all that the command writes. They are read when
// something is written; where that fails it is written as it is, or nobody could be
// told what is wrong with them.
func Hide(a *app.App) {
	look := sync.OnceValues(Of(a).Peek)
	a.IO.Hide(func(b []byte) []byte {
		st := a.State
		if st == nil {
			var err error
			if st, err = look(); err != nil {
				return b
			}
		}
		r, err := secret.Redactor(st)
		if err != nil || r == nil {
			return b
		}
		if len(b) > 0 && strings.IndexByte("{[,", b[0]) >= 0 {
			b = r.JSON(b) // which stays JSON
		}
		return r.Bytes(b)
	})
}
