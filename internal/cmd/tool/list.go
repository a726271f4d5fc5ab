package tool

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/pkg/policy/catalogue"
	"github.com/kxtools/kx/pkg/wire"
)

// ListOptions of kx tool list.
type ListOptions struct {
	App  *app.App
	Open func() (*surface, error)

	All bool
}

// NewList returns the command; a nil run is the real one.
func NewList(a *app.App, run func(context.Context, *ListOptions) error) *app.Command {
	o := &ListOptions{App: a, Open: func() (*surface, error) { return open(a) }}
	if run == nil {
		run = list
	}
	return &app.Command{
		Name:  "list",
		Usage: "list the tools",
		What:  "Lists the tools that calls can use here, in the order of their names, with what the rules without conditions say of each.",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "also the names that are known but missing", Destination: &o.All}},
		Examples: []app.Example{
			{Line: "kx tool list"},
			{Line: "kx tool list --all -o jsonl | jq -r 'select(.state==\"missing\").name'"},
		},
		Run: func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func list(_ context.Context, o *ListOptions) error {
	s, err := o.Open()
	if err != nil {
		return err
	}
	names := s.tools.Names()
	if o.All {
		names = catalogue.Names()
	}
	docs := make([]wire.Tool, 0, len(names))
	for _, n := range names {
		if d := s.describe(n); o.All || d.State == "available" {
			docs = append(docs, d)
		}
	}
	return out.List(o.App.Printer(), out.Columns[wire.Tool]{
		Header: []string{"TOOL", "FAMILY", "EFFECTS", "DEFAULT", "STATE", "WHAT"},
		Row: func(d wire.Tool) []string {
			what := firstSentence(d.Description)
			if what == "" {
				what = d.Reason
			}
			return []string{d.Name, d.Family, strings.Join(d.Effects, " "), string(d.Default), d.State, what}
		},
		Empty: "no tools",
	}, docs)
}

func firstSentence(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return s
}
