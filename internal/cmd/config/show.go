package config

import (
	"context"
	"fmt"
	"strings"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/wire"
)

// ShowOptions of kx config show.
type ShowOptions struct {
	App  *app.App
	Load func() (*config.Config, error)
}

// SettingDoc is a setting as kx config show prints it.
type SettingDoc struct {
	Type   string `json:"type"`
	V      int    `json:"v"`
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Source string `json:"source"`
}

// NewShow returns the command; a nil run is the real one.
func NewShow(a *app.App, run func(context.Context, *ShowOptions) error) *app.Command {
	o := &ShowOptions{App: a, Load: func() (*config.Config, error) {
		s := site.Of(a)
		ws, err := s.Workspace()
		if err != nil {
			return nil, err
		}
		return s.Config(ws)
	}}
	if run == nil {
		run = show
	}
	return &app.Command{
		Name:     "show",
		Usage:    "list every setting and where it comes from",
		What:     "Lists every setting with its value in this workspace, and the file and line that it comes from. Flags and environment variables are not weighed in.",
		Examples: []app.Example{{Line: "kx config show"}, {Line: "kx config show -o json | jq '.[] | select(.source != \"built-in\")'"}},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func show(_ context.Context, o *ShowOptions) error {
	c, err := o.Load()
	if err != nil {
		return err
	}
	var docs []SettingDoc
	for _, v := range c.Values {
		docs = append(docs, SettingDoc{Type: "setting", V: wire.Version, Key: v.Key, Value: v.Value, Source: v.Source})
	}
	return out.List(o.App.Printer(), out.Columns[SettingDoc]{
		Header: []string{"KEY", "VALUE", "FROM"},
		Row: func(d SettingDoc) []string {
			value := fmt.Sprint(d.Value)
			if list, ok := d.Value.([]string); ok {
				value = strings.Join(list, " ")
			}
			return []string{d.Key, value, d.Source}
		},
	}, docs)
}
