package service

import (
	"slices"
	"time"

	"github.com/kxtools/kx/internal/host/lsp/disk"
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

// libraries are where what a server needs is installed, and what was there before it was
// started.
type libraries struct {
	paths func() []string // nil for none
	had   []disk.File
}

func watch(server *language.Server, at language.Start) (l libraries) {
	if server.Libraries != nil {
		l.paths = server.Libraries(at)
		l.had = l.have()
	}
	return l
}

func (l *libraries) changed() bool { return l.paths != nil && !slices.Equal(l.had, l.have()) }

func (l *libraries) have() (list []disk.File) {
	for _, path := range l.paths() {
		if f, err := disk.Look(path); err == nil {
			list = append(list, f)
		}
	}
	return list
}
