package model

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/record/config/provider"
	"github.com/kxtools/kx/pkg/wire"
)

// ListOptions of kx model list.
type ListOptions struct {
	App  *app.App
	Open func() (*Catalog, error)
}

// NewList returns the command; a nil run is the real one.
func NewList(a *app.App, run func(context.Context, *ListOptions) error) *app.Command {
	o := &ListOptions{App: a, Open: func() (*Catalog, error) { return open(a) }}
	if run == nil {
		run = list
	}
	return &app.Command{
		Name:     "list",
		Usage:    "list the models and how their keys stand",
		What:     "Lists the models that the tables of providers and of roles name, with their accounts, the state of each key (set, missing, revoked, unreadable, or none where no key is needed; never the key), the window, the price and the roles that use them.",
		Examples: []app.Example{{Line: "kx model list"}, {Line: "kx model list -o jsonl | jq -r .id"}},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func list(_ context.Context, o *ListOptions) error {
	c, err := o.Open()
	if err != nil {
		return err
	}
	docs := []wire.Model{}
	for _, k := range c.Known() {
		docs = append(docs, describe(c, k))
	}
	return out.List(o.App.Printer(), out.Columns[wire.Model]{
		Header: []string{"MODEL", "KIND", "ACCOUNTS", "WINDOW", "PRICE", "ROLES"},
		Row: func(d wire.Model) []string {
			var accounts []string
			for _, a := range d.Accounts {
				accounts = append(accounts, a.Name+": "+keyText(a))
			}
			return []string{d.ID, d.Kind, strings.Join(accounts, ", "), tokens(d.Context), price(d.Price), strings.Join(d.Roles, " ")}
		},
		Empty: "no models: name a provider in config.toml, see   man kx.toml",
	}, docs)
}

func describe(c *Catalog, k provider.Known) wire.Model {
	d := wire.Model{
		Type: "model", V: wire.Version, ID: k.ID(), Provider: k.Provider.Name, Model: k.Model.Name, Kind: k.Provider.Kind, BaseURL: k.Provider.BaseURL,
		Accounts: []wire.ModelAccount{}, Context: k.Model.Context, MaxOutput: k.Model.MaxOutput, Price: k.Model.Price, Roles: []string{},
	}
	d.Roles = append(d.Roles, k.Roles...)
	for _, a := range k.Provider.Accounts {
		d.Accounts = append(d.Accounts, wire.ModelAccount{Name: a.Name, Key: string(c.State(a)), Slot: a.Slot, Env: a.Env})
	}
	return d
}

// keyText says how a key stands, and where it would be.
func keyText(a wire.ModelAccount) string {
	switch {
	case a.Key == "none":
		return "no key"
	case a.Key == "set":
		return "key set"
	}
	return "key " + a.Key + " (" + a.Slot + a.Env + ")"
}

// tokens writes a number of tokens as models are advertised: 200k.
func tokens(n int64) string {
	switch {
	case n == 0:
		return ""
	case n%1_000_000 == 0:
		return strconv.FormatInt(n/1_000_000, 10) + "M"
	case n%1000 == 0:
		return strconv.FormatInt(n/1000, 10) + "k"
	}
	return strconv.FormatInt(n, 10)
}

func price(p *wire.Price) string {
	switch {
	case p == nil:
		return ""
	case *p == wire.Price{}:
		return "free"
	}
	return fmt.Sprintf("$%g in, $%g out", p.Input, p.Output)
}
