package service

import (
	"os"
	"slices"
	"time"

	"github.com/kxtools/kx/internal/host/lsp/door"
	"github.com/kxtools/kx/internal/host/lsp/language"
)

// againAfter is how long a server that can't work is left alone. Why it can't may lie
// where nobody looks.
const againAfter = 5 * time.Second

// mended says why a server that is not well may be after another start, "" if nothing
// speaks for it.
func (r *running) mended() string {
	what, broken := r.Health()
	switch {
	case what == "":
	case broken && time.Since(r.began) > againAfter:
		return "it can't work"
	case !slices.Equal(r.libs, installed(r.server, &r.setup)):
		return "its libraries changed"
	}
	return ""
}

// installed says when something was installed in each of the libraries of a server.
func installed(server *language.Server, setup *door.Setup) (times []time.Time) {
	if server.Libraries == nil {
		return nil
	}
	for _, dir := range server.Libraries(setup.Env) {
		if fi, err := os.Stat(dir); err == nil {
			times = append(times, fi.ModTime())
		}
	}
	return times
}
