package file

import (
	"context"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/internal/tools/file/place"
)

// Rewrite is a file that is to have another content.
type Rewrite struct {
	Path   string // absolute, canonical, and one that may be changed
	SHA256 string // of the content that Edit is for
	Edit   func(before []byte) ([]byte, error)
}

// RewriteAll gives files that are there another content, all of them or none, as a
// patch does. A dry run comes to it the same way and writes nothing.
func RewriteAll(ctx context.Context, env *tool.Env, files []Rewrite, dry bool) ([]Change, error) {
	set := &changeSet{ctx: ctx, env: env}
	defer set.close()
	var list []Change
	for _, f := range files {
		c, err := set.rewrite(f)
		if err != nil {
			return nil, err
		}
		set.changes = append(set.changes, c)
		list = append(list, c.preview())
	}
	if dry {
		return list, nil
	}
	return list, set.commit()
}

func (s *changeSet) rewrite(f Rewrite) (*change, error) {
	p, err := place.File(s.env, f.Path)
	if err != nil {
		return nil, err
	}
	s.places = append(s.places, p)
	t, err := newTarget(p)
	if err != nil {
		return nil, err
	}
	c := &change{from: t, to: t}
	if t.st != nil {
		if c.before, err = t.load(s.ctx); err != nil {
			return nil, err
		}
	}
	if c.before.sha256 != f.SHA256 {
		return nil, fail.Conflict("changed_meanwhile", "%s was changed by somebody else meanwhile: nothing was changed", place.Name(t.Show))
	}
	c.after, err = f.Edit(c.before.content)
	if s.bytes += int64(len(c.before.content) + len(c.after)); err == nil && s.bytes > maxPatched {
		err = fail.Limit("too_large", "the files have more than %s together", place.Size(maxPatched))
	}
	return c, err
}
