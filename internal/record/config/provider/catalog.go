// Package provider owns [providers] and [roles] of config.toml: whom models are
// asked of, with which accounts, what they cost, and which model does what.
//
// It holds names of slots and of variables, never a key: one that is written into
// the file is refused, with the way to keep it, and no message repeats it. A key
// travels only over TLS or to this machine. A project chooses among the models of
// the user and sets nothing else. internal/record/config calls it with the lines of
// a file; internal/model/route decides by what it returns.
package provider

import (
	"slices"
	"strings"

	"github.com/kxtools/kx/pkg/wire"
)

// The kinds of providers: the dialects that they speak.
const (
	Anthropic = "anthropic" // Messages
	OpenAI    = "openai"    // Responses
	Chat      = "chat"      // Chat Completions, which most other servers speak
)

// Kinds are all of them.
var Kinds = []string{Anthropic, OpenAI, Chat}

// Default is the name of the account whose key stands in the provider's own table,
// and of the role of a run that names none.
const Default = "default"

// Catalog is what is configured of models.
type Catalog struct {
	Providers []*Provider
	Roles     []*Role

	at map[string]string // file:line by the path of a key or a table
}

// Provider is a server of models.
type Provider struct {
	Name     string
	Kind     string
	BaseURL  string     // "" for that of the kind
	Accounts []*Account // the default one first, if there is one
	Models   []*Model
}

// Account is one way to pay a provider.
type Account struct {
	Name string
	Slot string // a slot of kx secret, or
	Env  string // a variable; neither for a server that needs no key
}

// Keyed reports whether the account has a key.
func (a *Account) Keyed() bool { return a.Slot != "" || a.Env != "" }

// Model is what is known of a model.
type Model struct {
	Name      string
	Context   int64  // tokens of its window, 0 if that is not known
	MaxOutput int64  // tokens of an answer, 0 if that is not known
	Thinking  int64  // tokens of thinking, 0 for what the model does by itself
	Effort    string // low, medium, high..., "" for what the model does by itself
	Price     *Price
}

// Price is what a model costs. What the cache reads and writes costs as much as input
// where that is not set.
type Price = wire.Price

// Role says which model does a kind of work.
type Role struct {
	Name     string
	Provider string
	Model    string
	Account  string   // the only one, "" for all
	Fallback []string // roles, in order
}

// ID is the model as it is typed.
func (r *Role) ID() string { return r.Provider + "/" + r.Model }

// Provider returns the provider of that name, or nil.
func (c *Catalog) Provider(name string) *Provider {
	return named(c.Providers, name, func(p *Provider) string { return p.Name })
}

// Role returns the role of that name, or nil.
func (c *Catalog) Role(name string) *Role {
	return named(c.Roles, name, func(r *Role) string { return r.Name })
}

// Account returns the account of that name, or nil.
func (p *Provider) Account(name string) *Account {
	return named(p.Accounts, name, func(a *Account) string { return a.Name })
}

// Model returns what is known of the model, or nil.
func (p *Provider) Model(name string) *Model {
	return named(p.Models, name, func(m *Model) string { return m.Name })
}

func named[T any](list []*T, name string, nameOf func(*T) string) *T {
	if i := slices.IndexFunc(list, func(v *T) bool { return nameOf(v) == name }); i >= 0 {
		return list[i]
	}
	return nil
}

// Known is a model that the configuration names.
type Known struct {
	Provider *Provider
	Model    *Model   // only its name where nothing else is known
	Roles    []string // that use it
}

// ID is the model as it is typed.
func (k Known) ID() string { return k.Provider.Name + "/" + k.Model.Name }

// Known returns the models that the tables of providers and of roles name, in the
// order of the file.
func (c *Catalog) Known() []Known {
	var list []Known
	for _, p := range c.Providers {
		for _, m := range p.Models {
			list = append(list, Known{Provider: p, Model: m})
		}
		for _, r := range c.Roles {
			if r.Provider != p.Name {
				continue
			}
			i := slices.IndexFunc(list, func(k Known) bool { return k.Provider == p && k.Model.Name == r.Model })
			if i < 0 {
				i = len(list)
				list = append(list, Known{Provider: p, Model: &Model{Name: r.Model}})
			}
			list[i].Roles = append(list[i].Roles, r.Name)
		}
	}
	return list
}

// Source is the file and line of a key or a table, "" if it is not set.
func (c *Catalog) Source(path ...string) string { return c.at[join(path)] }

func join(path []string) string { return strings.Join(path, "\x00") }
