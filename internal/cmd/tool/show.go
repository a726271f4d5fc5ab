package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/pkg/policy/catalogue"
)

// ShowOptions of kx tool show.
type ShowOptions struct {
	App  *app.App
	Open func() (*surface, error)

	Name string
}

// NewShow returns the command; a nil run is the real one.
func NewShow(a *app.App, run func(context.Context, *ShowOptions) error) *app.Command {
	o := &ShowOptions{App: a, Open: func() (*surface, error) { return open(a) }}
	if run == nil {
		run = show
	}
	return &app.Command{
		Name:     "show",
		Usage:    "show one tool and what it takes",
		What:     "Prints what a tool is for, in the words that a model reads, and the JSON Schema of its input.",
		Args:     "NAME",
		Examples: []app.Example{{Line: "kx tool show edit_file"}, {Line: "kx tool show bash --json | jq .input_schema"}},
		Exits:    []app.Exit{{Status: 8}},
		Complete: map[string]app.Completer{"": app.Values(catalogue.Names()...)},
		Run: func(ctx context.Context, args []string) error {
			o.Name = args[0]
			return run(ctx, o)
		},
	}
}

func show(_ context.Context, o *ShowOptions) error {
	if _, ok := catalogue.Lookup(o.Name); !ok {
		if near := catalogue.Suggest(o.Name); near != "" {
			return fail.NotFound("no_such_tool", "there is no tool %q; did you mean %s?", o.Name, near).WithHint("kx tool show %s", near)
		}
		return fail.NotFound("no_such_tool", "there is no tool %q", o.Name).WithHint("kx tool list")
	}
	s, err := o.Open()
	if err != nil {
		return err
	}
	d := s.describe(o.Name)
	return o.App.Printer().Record(d, func(t *out.Text) {
		t.Printf("%s", t.Paint(out.Bold, d.Name))
		if d.State != "available" {
			t.Printf("  %s: %s\n", d.State, d.Reason)
			return
		}
		t.Printf("  %s · %s · by default %s\n\n%s\n\n", d.Family, strings.Join(append(d.Effects, "no effects")[:max(1, len(d.Effects))], ", "), string(d.Default), out.Block(strings.TrimSpace(d.Description)))
		var schema bytes.Buffer
		if json.Indent(&schema, d.InputSchema, "", "  ") == nil {
			t.Printf("%s\n", out.Block(schema.String()))
		}
	})
}
