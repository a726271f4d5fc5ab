package kxdmain

import (
	"context"

	cmdagent "github.com/kxtools/kx/internal/cmd/agent"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/anthropic"
	"github.com/kxtools/kx/internal/model/openai"
	dialect "github.com/kxtools/kx/internal/model/provider"
	"github.com/kxtools/kx/internal/model/route"
	"github.com/kxtools/kx/internal/record/config/provider"
	record "github.com/kxtools/kx/internal/record/model"
	"github.com/kxtools/kx/pkg/wire"
)

// clients make the client of a model, by the kind of its provider.
var clients = map[string]func(dialect.Options) model.Model{
	provider.Anthropic: func(o dialect.Options) model.Model { return anthropic.New(o) },
	provider.OpenAI:    func(o dialect.Options) model.Model { return openai.NewResponses(o) },
	provider.Chat:      func(o dialect.Options) model.Model { return openai.NewChat(o) },
}

// modelName is what the record of a session calls the model: that which is asked
// first.
func modelName(ctx context.Context, a *app.App, setup *cmdagent.Setup) (string, error) {
	if name := setup.Model(); name != "" {
		return name, nil
	}
	ready, _, err := candidates(ctx, a, setup.Ask)
	if err != nil {
		return "", err
	}
	return ready[0].ID(), nil
}

// candidates returns the models that can be asked. Where the key of the first one is
// behind a passphrase that is asked for now: before anything is read that may have a
// secret in it.
func candidates(ctx context.Context, a *app.App, ask route.Ask) ([]route.Candidate, *site.Keys, error) {
	all, keys, err := resolved(a, ask)
	if err != nil {
		return nil, nil, err
	}
	ready, err := route.Ready(all)
	if err == nil && ready[0].Account.Slot != "" {
		err = keys.Unlock(ctx)
	}
	return ready, keys, err
}

// resolved returns the models that would be asked, also those that can't be now.
func resolved(a *app.App, ask route.Ask) ([]route.Candidate, *site.Keys, error) {
	s := site.Of(a)
	catalog, err := s.Models()
	if err != nil {
		return nil, nil, err
	}
	keys, err := s.Keys()
	if err != nil {
		return nil, nil, err
	}
	if err := keys.Know(catalog); err != nil {
		return nil, nil, err
	}
	all, err := route.Resolve(catalog, ask, keys.State)
	return all, keys, err
}

// router makes the router of a run.
func router(ctx context.Context, a *app.App, ask route.Ask) (*route.Router, error) {
	ready, keys, err := candidates(ctx, a, ask)
	if err != nil {
		return nil, err
	}
	return routerOf(a, ready, keys)
}

func routerOf(a *app.App, ready []route.Candidate, keys *site.Keys) (*route.Router, error) {
	st, err := site.Of(a).State()
	if err != nil {
		return nil, err
	}
	history := record.New(st)
	return route.New(route.Options{
		Candidates: ready, Key: keys.Get, Dial: dial, Now: a.Now,
		Resolved: func(c route.Candidate, outcome string) {
			// Where it can't be kept the request goes on: it only shows the way.
			if err := history.Add(wire.ModelResolution{
				At: a.Now(), ID: c.ID(), Provider: c.Provider.Name, Model: c.Model.Name, Account: c.Account.Name, Role: c.Role, Via: c.Via, Outcome: outcome,
			}); err != nil {
				a.Log().Warn().Err(err).Msg("the resolution of a model is not kept")
			}
		},
	}), nil
}

func dial(c route.Candidate, key string) (model.Model, error) {
	return clients[c.Provider.Kind](dialect.Options{
		Provider: c.Provider.Name, Account: c.Account.Name, BaseURL: c.Provider.BaseURL, Key: key, Model: c.Model.Name,
		MaxOutput: int(c.Model.MaxOutput), Thinking: int(c.Model.Thinking), Effort: c.Model.Effort,
	}), nil
}
