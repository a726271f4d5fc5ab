package site

import (
	"context"
	"strings"

	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/record/config/provider"
)

// Models is what is configured of models where the command works.
func (s *Site) Models() (*provider.Catalog, error) {
	ws, err := s.Workspace()
	if err != nil {
		return nil, err
	}
	c, err := s.Config(ws)
	if err != nil {
		return nil, err
	}
	return &c.Models, nil
}

// CompleteModels proposes the models of the configuration.
func (s *Site) CompleteModels(_ context.Context, word string) (list []app.Proposal) {
	c, err := s.Models()
	if err != nil {
		return nil
	}
	for _, k := range c.Known() {
		if strings.HasPrefix(k.ID(), word) {
			list = append(list, app.Proposal{Value: k.ID(), Help: k.Provider.Kind})
		}
	}
	return list
}

// CompleteRoles proposes the roles of the configuration.
func (s *Site) CompleteRoles(_ context.Context, word string) (list []app.Proposal) {
	c, err := s.Models()
	if err != nil {
		return nil
	}
	for _, r := range c.Roles {
		if strings.HasPrefix(r.Name, word) {
			list = append(list, app.Proposal{Value: r.Name, Help: r.ID()})
		}
	}
	return list
}
