// Package view is what the verbs of kx policy share: what they judge by, and how
// decisions and rules read for a person.
package view

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/judge"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/rulefile"
)

// Deps are what the verbs explain with.
type Deps struct {
	Judge *judge.Judge
	Tools *tool.Registry
}

// Loaded reports whether a tool can be run here.
func (d *Deps) Loaded(name string) bool { return d.Tools.Get(name) != nil }

// Shortened names the policy files in a sentence as a person knows them.
func (d *Deps) Shortened(sentence string) string {
	for _, f := range []*config.File{d.Judge.Config.UserPolicy, d.Judge.Config.ProjectPolicy} {
		if f != nil {
			sentence = strings.ReplaceAll(sentence, f.Path, Short(f.Path))
		}
	}
	return sentence
}

// Open opens them for the place where the command stands.
func Open(a *app.App) (*Deps, error) {
	s := site.Of(a)
	j, err := s.Judge()
	if err != nil {
		return nil, err
	}
	reg, err := s.Tools(j)
	return &Deps{j, reg}, err
}

// OpenWith is Open with another file in the place of the user's policy, "" for
// none.
func OpenWith(a *app.App, file string) (*Deps, error) {
	if file == "" {
		return Open(a)
	}
	s := site.Of(a)
	o, err := s.Judging()
	if err != nil {
		return nil, err
	}
	if o.Policy, err = Tried(s, file); err != nil {
		return nil, err
	}
	j, err := judge.Open(o)
	if err != nil {
		return nil, err
	}
	reg, err := s.Tools(j)
	return &Deps{j, reg}, err
}

// maxFile is the largest policy file that is read: as large as the user's may be.
const maxFile = 64 << 20

// readPolicy reads a policy file that stands anywhere.
func readPolicy(s *site.Site, file string) (*config.File, error) {
	path, err := s.Path(file)
	if err != nil {
		return nil, err
	}
	data, _, err := fsx.ReadRegular(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail.NotFound("no_such_file", "there is no file %s", file).WithHint("ls -l %s", file)
	}
	if err != nil {
		return nil, fail.Usage("%s can't be read: %v", file, fsx.Reason(err)).WithHint("ls -l %s", file).Because(err)
	}
	return &config.File{Path: path, Data: data}, nil
}

// Tried reads a policy file that is not in force, which must be valid.
func Tried(s *site.Site, file string) (*config.File, error) {
	f, err := readPolicy(s, file)
	if err != nil {
		return nil, err
	}
	if _, err := rulefile.Parse(f.Data, f.Path, policy.User); err != nil {
		return nil, fail.Config("%v", err).WithHint("man kx-policy").Because(err)
	}
	return f, nil
}
