package lsp

import (
	"slices"
	"sync"

	"github.com/kxtools/kx/internal/host/lsp/door"
	"github.com/kxtools/kx/internal/host/lsp/service"
)

// sight knows which files policy hides from servers, so that not every question has
// to match all patterns with all files.
type sight struct {
	mu       sync.Mutex
	patterns []string
	hidden   map[string]bool
}

// of returns the files of a workspace that servers may see.
func (s *sight) of(root string, setup *door.Setup, files []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hidden == nil || !slices.Equal(s.patterns, setup.Hidden) {
		s.patterns, s.hidden = setup.Hidden, map[string]bool{}
	}
	seen := make([]string, 0, len(files))
	for _, path := range files {
		hidden, known := s.hidden[path]
		if !known {
			hidden = service.Hides(root, setup, path)
			s.hidden[path] = hidden
		}
		if !hidden {
			seen = append(seen, path)
		}
	}
	return seen
}
