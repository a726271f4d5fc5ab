package provider

import (
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
)

// Read takes over the lines of the user's file.
func Read(file string, lines []Line) (Catalog, error) {
	c := Catalog{at: map[string]string{}}
	r := &reader{&c, file}
	for _, l := range lines {
		if err := r.read(l); err != nil {
			return Catalog{}, err
		}
	}
	for _, p := range c.Providers {
		if err := c.checkProvider(p); err != nil {
			return Catalog{}, err
		}
	}
	return c, c.checkRoles()
}

// Narrow takes over the lines of a project's file: roles, among what the user's file
// names. A role of a name that the user has too replaces that one.
func (c *Catalog) Narrow(file string, lines []Line) error {
	if len(lines) == 0 {
		return nil
	}
	own := Catalog{at: map[string]string{}}
	r := &reader{&own, file}
	for _, l := range lines {
		if l.Path[0] != tableOfRoles {
			return r.at(l, "a project may not set %s: it may choose among the user's models in [roles]", l.Name)
		}
		if err := r.read(l); err != nil {
			return err
		}
	}
	known := c.Known()
	for _, o := range own.Roles {
		if o.Model == "" || c.Provider(o.Provider) == nil {
			continue // said below
		}
		if !slices.ContainsFunc(known, func(k Known) bool { return k.ID() == o.ID() }) {
			return wrong(own.Source(tableOfRoles, o.Name, "model"), "a project may only choose among the user's models, and %s is none of them", o.ID())
		}
	}
	if c.at == nil {
		c.at = map[string]string{}
	}
	for _, o := range own.Roles {
		prefix := join([]string{tableOfRoles, o.Name})
		for at := range c.at {
			if at == prefix || strings.HasPrefix(at, prefix+"\x00") {
				delete(c.at, at)
			}
		}
		c.Roles = slices.DeleteFunc(c.Roles, func(u *Role) bool { return u.Name == o.Name })
		c.Roles = append(c.Roles, o)
	}
	for at, where := range own.at {
		c.at[at] = where
	}
	return c.checkRoles()
}

// checkProvider looks at what only the whole table shows, and completes it.
func (c *Catalog) checkProvider(p *Provider) error {
	at := func(path ...string) string { return c.Source(append([]string{tableOfProviders, p.Name}, path...)...) }
	switch {
	case p.Kind == "":
		return wrong(at(), "providers.%s has no kind: expected %s", p.Name, strings.Join(Kinds, ", "))
	case p.Kind == Chat && p.BaseURL == "":
		return wrong(at(), `providers.%s has no base_url: a server of kind "chat" needs one, as http://127.0.0.1:11434/v1`, p.Name)
	case at("accounts", Default) != "":
		return wrong(at("accounts", Default), "the key of the default account stands in [providers.%s] itself", p.Name)
	case len(p.Accounts) == 0 && p.BaseURL == "":
		return wrong(at(), "providers.%s needs a key: key_slot = %q, or key_env", p.Name, "model."+p.Name+"."+Default)
	case len(p.Accounts) == 0:
		p.Accounts = []*Account{{Name: Default}}
	}
	for _, a := range p.Accounts {
		path := []string{"accounts", a.Name}
		if a.Name == Default {
			path = nil
		}
		switch {
		case a.Slot != "" && a.Env != "":
			return wrong(at(append(path, "key_env")...), "key_slot and key_env are two keys; give one")
		case !a.Keyed() && path != nil:
			return wrong(at(path...), "account %s has no key: expected key_slot = %q, or key_env", a.Name, "model."+p.Name+"."+a.Name)
		}
	}
	for _, m := range p.Models {
		if m.Price == nil {
			if where := at("models", m.Name, "price"); where != "" {
				return wrong(where, "the price of %s has no input and output", m.Name)
			}
			continue
		}
		path := []string{"models", m.Name, "price"}
		for _, need := range []string{"input", "output"} {
			if at(append(path, need)...) == "" {
				return wrong(at(path...), "the price of %s has no %s", m.Name, need)
			}
		}
		for name, price := range map[string]*float64{"cache_read": &m.Price.CacheRead, "cache_write": &m.Price.CacheWrite} {
			if at(append(path, name)...) == "" {
				*price = m.Price.Input
			}
		}
	}
	return nil
}

// checkRoles looks whether every role leads somewhere.
func (c *Catalog) checkRoles() error {
	for _, o := range c.Roles {
		at := func(path ...string) string { return c.Source(append([]string{tableOfRoles, o.Name}, path...)...) }
		if o.Model == "" {
			return wrong(at(), "roles.%s has no model: expected PROVIDER/MODEL", o.Name)
		}
		p := c.Provider(o.Provider)
		if p == nil {
			return unknown(at("model"), "provider", o.Provider, c.providerNames())
		}
		if o.Account != "" && p.Account(o.Account) == nil {
			return unknown(at("account"), "account of "+p.Name, o.Account, p.AccountNames())
		}
		for _, f := range o.Fallback {
			if c.Role(f) == nil {
				return unknown(at("fallback"), "role", f, c.RoleNames())
			}
		}
	}
	done := map[string]bool{}
	for _, o := range c.Roles {
		if circle := c.circle(o, nil, done); circle != nil {
			return wrong(c.Source(tableOfRoles, circle[0], "fallback"), "the fallbacks lead in a circle: %s", strings.Join(circle, " > "))
		}
	}
	return nil
}

// circle returns the way from o back to a role on it, nil if there is none. What was
// looked at once is done.
func (c *Catalog) circle(o *Role, way []string, done map[string]bool) []string {
	if i := slices.Index(way, o.Name); i >= 0 {
		return append(slices.Clone(way[i:]), o.Name)
	}
	if done[o.Name] {
		return nil
	}
	for _, f := range o.Fallback {
		if circle := c.circle(c.Role(f), append(slices.Clone(way), o.Name), done); circle != nil {
			return circle
		}
	}
	done[o.Name] = true
	return nil
}

func unknown(at, what, name string, known []string) *fail.Error {
	if better := argv.Nearest(name, known); better != "" {
		return wrong(at, "there is no %s %q; did you mean %s?", what, name, better)
	}
	return wrong(at, "there is no %s %q", what, name)
}

func (c *Catalog) providerNames() (list []string) {
	for _, p := range c.Providers {
		list = append(list, p.Name)
	}
	return list
}

// RoleNames are the names of all roles.
func (c *Catalog) RoleNames() (list []string) {
	for _, r := range c.Roles {
		list = append(list, r.Name)
	}
	return list
}

// AccountNames are the names of all accounts of p.
func (p *Provider) AccountNames() (list []string) {
	for _, a := range p.Accounts {
		list = append(list, a.Name)
	}
	return list
}
