package find

import (
	"io/fs"
	"os"
	"path"
)

// candidate is a file that a search may name and open, below its folder.
type candidate struct {
	rel string
	st  fs.FileInfo
}

// opener looks at files below a root, and keeps the folder of the last one
// open: a search goes through them folder by folder.
type opener struct {
	root *os.Root
	dir  string
	sub  *os.Root
}

func (o *opener) in(rel string) (*os.Root, string, error) {
	dir, base := path.Split(rel)
	if dir == "" {
		return o.root, base, nil
	}
	if o.sub == nil || o.dir != dir {
		o.close()
		sub, err := o.root.OpenRoot(dir)
		if err != nil {
			return nil, "", err
		}
		o.sub, o.dir = sub, dir
	}
	return o.sub, base, nil
}

func (o *opener) lstat(rel string) (fs.FileInfo, error) {
	root, base, err := o.in(rel)
	if err != nil {
		return nil, err
	}
	return root.Lstat(base)
}

func (o *opener) close() {
	if o.sub != nil {
		o.sub.Close()
		o.sub = nil
	}
}
