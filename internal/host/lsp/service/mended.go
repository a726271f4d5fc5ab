package service

import (
	"os"
	"slices"
	"time"

	"github.com/kxtools/kx/internal/host/lsp/language"
)

// againAfter is how long a server that can't work is left alone. Why it can't may lie
// where nobody looks.
const againAfter = 5 * time.Second

// mended says why a server that is not well, or would not say so, may be after another
// start, "" if nothing speaks for it.
func (r *running) mended() string {
	what, broken := r.Health()
	switch {
	case broken && time.Since(r.began) > againAfter:
		return "it can't work"
	case (what != "" || r.server.Silent) && r.libs.changed():
		return "its libraries changed"
	}
	return ""
}

// libraries are the folders in which what a server needs is installed, and when that
// was done last before it was started.
type libraries struct {
	dirs func() []string // nil for none
	at   []time.Time
}

func watch(server *language.Server, at language.Start) (l libraries) {
	if server.Libraries != nil {
		l.dirs = server.Libraries(at)
		l.at = l.times()
	}
	return l
}

func (l *libraries) changed() bool { return l.dirs != nil && !slices.Equal(l.at, l.times()) }

func (l *libraries) times() (times []time.Time) {
	for _, dir := range l.dirs() {
		if fi, err := os.Stat(dir); err == nil {
			times = append(times, fi.ModTime())
		}
	}
	return times
}
