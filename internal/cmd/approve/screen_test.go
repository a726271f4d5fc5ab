package approve

import (
	"context"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/term"
	"github.com/kxtools/kx/internal/cmd/app"
)

// Who may, before whether there is a terminal; and what kind of terminal it is.
func TestScreen(t *testing.T) {
	refused := fail.Denied("not_a_person", "no")
	none := fail.Usage("no terminal")
	for _, c := range []struct {
		name             string
		person, terminal error
		key, term        string
		plain            bool
		exit             int
		want             string
	}{
		{name: "screen", term: "xterm-256color", want: "screen 7k2q"},
		{name: "plain", term: "xterm-256color", plain: true, want: "plain 7k2q"},
		{name: "dumb", term: "dumb", want: "plain 7k2q"},
		{name: "unset", want: "plain 7k2q"},
		{name: "no person", term: "xterm", person: refused, exit: 3},
		{name: "no person without a terminal", person: refused, terminal: none, exit: 3},
		{name: "no terminal", term: "xterm", terminal: none, exit: 2},
		{name: "no terminal, plain", plain: true, terminal: none, exit: 2},
		{name: "a key", term: "xterm", key: "file", exit: 2},
	} {
		s, _, _, _ := term.Test()
		a := app.New(s, func(name string) string { return map[string]string{"TERM": c.term}[name] }, "1")
		a.Globals.Key = c.key
		got := ""
		err := screen(t.Context(), &ScreenOptions{
			App: a, ID: "7k2q", Plain: c.plain,
			Person: func(string, string) error { return c.person }, Terminal: func() error { return c.terminal },
			Become: func(spec ScreenSpec) error { got = "screen " + spec.ID; return nil },
			Lines:  func(_ context.Context, id string) error { got = "plain " + id; return nil },
		})
		if got != c.want || c.exit != 0 && fail.Exit(err) != c.exit || c.exit == 0 && err != nil {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}
