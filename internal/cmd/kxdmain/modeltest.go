package kxdmain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/handover"
	cmdmodel "github.com/kxtools/kx/internal/cmd/model"
	"github.com/kxtools/kx/internal/model/probe"
	"github.com/kxtools/kx/internal/model/route"
	"github.com/kxtools/kx/pkg/wire"
)

// testModel asks a model one small thing: kx model test becomes this process.
func testModel(ctx context.Context, args []string, s *term.IO, getenv func(string) string, version string) int {
	a, spec := app.New(s, getenv, version), &cmdmodel.Spec{}
	err := handover.Read("model", args, "kx model test", spec)
	return handed(ctx, a, spec.Globals, err, func() error { return test(ctx, a, spec) })
}

func test(ctx context.Context, a *app.App, spec *cmdmodel.Spec) error {
	all, keys, err := resolved(a, spec.Ask)
	if err != nil {
		return err
	}
	ready, none := route.Ready(all)
	if none != nil {
		doc := document(all[0])
		probe.Keyless(&doc, all[0].Skipped, none)
		return errors.Join(none, a.Printer().Record(doc, func(t *out.Text) { show(t, doc) }))
	}
	c := ready[0]
	if c.Account.Slot != "" {
		if err := keys.Unlock(ctx); err != nil {
			return err
		}
	}
	r, err := routerOf(a, ready[:1], keys)
	if err != nil {
		return err
	}
	doc := document(c)
	t, failed := probe.Run(ctx, r, c.Account.Keyed(), a.Now, &doc)
	if e := fail.As(failed); e != nil && strings.HasPrefix(e.Hint, "kx model test ") {
		failed = e.WithHint("kx model list") // this is the test
		doc.Error = fail.As(failed).Wire()
	}
	if t != nil {
		doc.CostUSD, _ = r.Cost(c.ID(), t.Usage)
	}
	if ctx.Err() != nil {
		return errors.Join(failed, r.Close()) // whoever interrupts it wants no result
	}
	return errors.Join(failed, r.Close(), a.Printer().Record(doc, func(t *out.Text) { show(t, doc) }))
}

// document is the test of a candidate before it began.
func document(c route.Candidate) wire.ModelTest {
	return wire.ModelTest{Type: "model_test", V: wire.Version, ID: c.ID(), Provider: c.Provider.Name, Model: c.Model.Name, Account: c.Account.Name}
}

// styles are the looks of the states of a stage.
var styles = map[string]out.Style{"failed": out.Red, "skipped": out.Dim}

// show writes the test for a person.
func show(t *out.Text, d wire.ModelTest) {
	t.Printf("%s  account %s\n", t.Paint(out.Bold, d.ID), d.Account)
	for _, s := range d.Stages {
		took := ""
		if s.DurationMS > 0 {
			took = fmt.Sprintf("%d ms", s.DurationMS)
		}
		t.Printf("  %-11s %-8s %8s  %s\n", s.Stage, t.Paint(styles[s.State], s.State), took, s.Detail)
	}
	if u := d.Usage; u != nil {
		t.Printf("%d tokens in, %d out", u.Input+u.CacheRead+u.CacheWrite, u.Output)
		if d.CostUSD > 0 {
			t.Printf(" · %.6f USD", d.CostUSD)
		}
		t.Printf(" · ")
	}
	if d.LatencyMS > 0 {
		t.Printf("%d ms to the first word · ", d.LatencyMS)
	}
	t.Printf("%d ms in all\n", d.DurationMS)
}
