// Package tool is kx tool: the surface that agents see.
package tool

import (
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/policy/mode"
	"github.com/kxtools/kx/pkg/wire"
)

// New returns the noun.
func New(a *app.App) *app.Command {
	return &app.Command{
		Name:  "tool",
		Usage: "the tools that agents can use",
		What:  "Lists the tools of the surface and what each takes. A tool that is missing is not shown, unless it is asked for with --all.",
		Examples: []app.Example{
			{Line: "kx tool list"},
			{Line: "kx tool list -o jsonl | kx policy check - --mode plan --exit-zero", Does: "what plan mode lets through"},
		},
		Commands: []*app.Command{NewList(a, nil), NewShow(a, nil)},
	}
}

// surface is the tools of a workspace and what decides about them.
type surface struct {
	judge *judge.Judge
	tools *tool.Registry
}

func open(a *app.App) (*surface, error) {
	s := site.Of(a)
	j, err := s.Judge()
	if err != nil {
		return nil, err
	}
	reg, err := s.Tools(j)
	return &surface{j, reg}, err
}

// describe returns the record of a name of the catalogue or of the surface.
func (s *surface) describe(name string) wire.Tool {
	entry, _ := catalogue.Lookup(name)
	d := wire.Tool{
		Type: "tool", V: wire.Version, Name: name, Effects: append([]string{}, entry.Effects...), Plan: entry.Plan,
		Default: s.judge.Rules.Set.Decide(name, mode.Default), State: "missing", Reason: "this kx does not have it yet",
	}
	if t := s.tools.Get(name); t != nil {
		d.Family, d.TimeoutMS, d.AllowsParallel = t.Family, t.Timeout.Milliseconds(), !t.Serial
		d.State, d.Reason, d.Description, d.InputSchema = "available", "", t.Description, t.Schema
		if t.Off != "" {
			d.State, d.Reason = "off", t.Off
		}
		if most := s.judge.Config.Limits.MaxTimeoutMS; d.TimeoutMS > most {
			d.TimeoutMS = most
		}
	}
	return d
}
