package approve

import (
	"context"

	"github.com/kxtools/kx/internal/cmd/app"
)

// NewDeny returns the command; a nil run is the real one.
func NewDeny(a *app.App, run func(context.Context, *DecideOptions) error) *app.Command {
	return newDecide(a, run, "deny", "refuse a call",
		"Denies the call of a request. The model that asked hears the note. The same call is denied without asking for the next 15 minutes.",
		app.Example{Line: `kx approve deny 7k2q --note "use the staging bucket"`})
}
