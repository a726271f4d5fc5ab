// Command bench measures how fast kx decides, beside what else decides in Go: a
// plain map, casbin, cedar and OPA, each with the same rules in the same run. It is a
// module of its own, so that the peers are no dependencies of kx.
//
// It exits with 1 if kx is over one of its budgets.
package main

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"text/tabwriter"
	"time"
)

// The budgets of kx.
const (
	decideBudget  = time.Microsecond // at any number of rules, without allocating
	explainBudget = 20 * time.Microsecond
	loadBudget    = time.Second // for the most rules
)

// sizes are how many rules are loaded: one project's, an organisation's, and far
// more than anybody has.
var sizes = []int{10, 1_000, 100_000}

// explained is how many rules an explanation weighs.
const explained = 100

func main() {
	testing.Init()
	flag.Parse()
	if !given("test.benchtime") {
		flag.Set("test.benchtime", "300ms") // enough for two digits, and the whole takes under a minute
	}
	t := &table{w: tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)}
	t.row("", "rules", "kx", "budget", "Go map", "", "casbin", "", "cedar", "", "OPA", "")
	for _, n := range sizes {
		t.measure("decide by name", n, decideBudget, true, func(e engine) func() { return e.decide(n) })
	}
	t.measure("explain a write", explained, explainBudget, false, func(e engine) func() { return e.explain(explained) })
	t.measure("explain a pipeline of bash", explained, explainBudget, false, func(e engine) func() { return e.bash(explained) })
	t.measure("load", sizes[len(sizes)-1], loadBudget, false, func(e engine) func() { return e.load(sizes[len(sizes)-1]) })
	t.w.Flush()
	fmt.Println("\nBeside each peer: how many times as long as kx it takes. kx and cedar load text, casbin and the map values.")
	if t.over {
		fmt.Fprintln(os.Stderr, "bench: kx is over its budget")
		os.Exit(1)
	}
}

func given(name string) bool {
	found := false
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// engine is something that decides. What it has no notion of is nil.
type engine interface {
	decide(n int) func()  // whether a tool may be called, by its name alone
	explain(n int) func() // whether a file may be written, and why
	bash(n int) func()    // what to do with a command line
	load(n int) func()    // n rules
}

// engines are kx and its peers, in the order of the columns.
var engines = []engine{kx{}, goMap{}, casbinEngine{}, cedarEngine{}, opaEngine{}}

type table struct {
	w    *tabwriter.Writer
	over bool
}

func (t *table) row(cells ...any) {
	for _, c := range cells {
		fmt.Fprintf(t.w, "%v\t", c)
	}
	fmt.Fprintln(t.w)
}

// measure prints a row: kx, its budget, and the peers with their ratio to kx.
func (t *table) measure(what string, rules int, budget time.Duration, noAllocs bool, of func(engine) func()) {
	cells := []any{fmt.Sprintf("%-26s", what), rules}
	var own time.Duration
	for i, e := range engines {
		f := of(e)
		if f == nil {
			cells = append(cells, "", "")
			continue
		}
		r := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
		took := r.T / time.Duration(r.N)
		if i > 0 {
			cells = append(cells, short(took), ratio(float64(r.T)/float64(r.N)/float64(own)))
			continue
		}
		own = max(took, 1)
		allowed := short(budget)
		if took > budget || noAllocs && r.AllocsPerOp() > 0 {
			allowed += " OVER"
			t.over = true
		}
		cells = append(cells, short(took), allowed)
	}
	t.row(cells...)
}

// ratio writes how many times as long something takes.
func ratio(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2gx", x)
	}
	return fmt.Sprintf("%.0fx", x)
}

// short writes a duration with three digits.
func short(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return fmt.Sprintf("%.3g %s", float64(d)/float64(unit), map[time.Duration]string{time.Second: "s", time.Millisecond: "ms", time.Microsecond: "µs"}[unit])
		}
	}
	return fmt.Sprintf("%d ns", d)
}
