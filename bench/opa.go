package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/rego"
)

// mostOPA is the largest policy that is given to OPA: it compiles 100,000 rules for
// minutes.
const mostOPA = 1_000

type opaEngine struct{}

// query prepares a policy in Rego for decisions.
func query(text string) rego.PreparedEvalQuery {
	q, err := rego.New(rego.Query("data.kx.allow"), rego.Module("kx.rego", "package kx\n\ndefault allow := false\n\n"+text)).PrepareForEval(context.Background())
	must(true, err)
	return q
}

func eval(q rego.PreparedEvalQuery, input map[string]any, want bool) func() {
	return func() {
		got, err := q.Eval(context.Background(), rego.EvalInput(input))
		must(got.Allowed() == want, err)
	}
}

func named(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "allow if input.tool == %q\n", tool(i))
	}
	return b.String()
}

func (opaEngine) decide(n int) func() {
	if n > mostOPA {
		return nil
	}
	return eval(query(named(n)), map[string]any{"tool": tool(n / 2)}, true)
}

func (opaEngine) explain(n int) func() {
	var b strings.Builder
	b.WriteString("allow if not denied\n\n")
	for i := range n {
		fmt.Fprintf(&b, "denied if startswith(input.path, \"dir%d/\")\n", i)
	}
	return eval(query(b.String()), map[string]any{"path": fmt.Sprintf("dir%d/a.go", n/2)}, false)
}

func (opaEngine) bash(int) func() { return nil }
func (opaEngine) load(int) func() { return nil }
