package disk

import (
	"bytes"
	"cmp"
	"slices"

	"golang.org/x/sys/unix"
)

// kind is what is done with a name of a folder.
type kind uint8

const (
	unknown   kind = iota
	file           // counts
	directory      // is walked
	symlink        // what it leads to counts
	linked         // a symlink to a folder
	skipped        // a folder that is not walked
	other          // devices, sockets, pipes
)

// entry is a name of a folder.
type entry struct {
	path string // of the folder, a slash and the name
	kind kind
	file File
	sum  *sum   // of a file that could be written again without a trace
	mark string // of a skipped folder
}

// folder is what was read of one, sorted by name. It doesn't change.
type folder struct {
	entries    []entry
	unreadable bool
}

// id is which directory it is, whatever it is called.
type id struct{ dev, inode uint64 }

func idOf(st *unix.Stat_t) id { return id{uint64(st.Dev), uint64(st.Ino)} }

// reading is a folder as it is now; without one it is gone.
type reading struct {
	*folder
	id      id // of one outside the root
	changed bool
	err     error
}

// name is one of a folder, in the reader's arena.
type name struct {
	start, end int
	kind       kind
}

// reader reads folders, one after the other, in memory that it uses again.
type reader struct {
	sys     *system
	dir     int // of the folder
	buffer  []byte
	arena   []byte
	names   []name
	entries []entry
}

// read looks at a folder and each file in it. What is as it was is not made anew.
func (r *reader) read(v visit, was *folder) (f reading) {
	if f.err = r.open(v); f.err == nil {
		defer unix.Close(r.dir)
		if r.ofKernel() {
			return reading{}
		}
		if v.outside {
			var st unix.Stat_t
			f.err = unix.Fstat(r.dir, &st)
			f.id = idOf(&st)
		}
	}
	if f.err == nil {
		f.err = r.list()
	}
	r.entries = r.entries[:0]
	closed := false
	if f.err == nil {
		closed, f.err = r.look(v.path, was)
	}
	switch {
	case f.err == nil:
	case passing(f.err):
		return reading{}
	case !unreadable(f.err):
		return f
	}
	closed, f.err = closed || f.err != nil, nil
	same := was != nil && slices.EqualFunc(r.entries, was.entries, func(a, b entry) bool {
		return a.path == b.path && a.kind == b.kind && a.file == b.file
	})
	f.changed = !same
	if same && was.unreadable == closed && slices.EqualFunc(r.entries, was.entries, func(a, b entry) bool { return a.sum == b.sum && a.mark == b.mark }) {
		f.folder = was
	} else {
		f.folder = &folder{entries: slices.Clone(r.entries), unreadable: closed}
	}
	return f
}

func (r *reader) open(v visit) (err error) {
	flags := unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NONBLOCK
	if !v.link {
		flags |= unix.O_NOFOLLOW
	}
	return retry(func() error {
		r.dir, err = unix.Open(v.path, flags, 0)
		return err
	})
}

// list reads the names, and sorts them.
func (r *reader) list() error {
	r.arena, r.names = r.arena[:0], r.names[:0]
	if err := r.readNames(); err != nil {
		return err
	}
	slices.SortFunc(r.names, func(a, b name) int { return bytes.Compare(r.text(a), r.text(b)) })
	r.names = r.names[:min(len(r.names), r.sys.files+r.sys.folders+1)] // one more than is taken
	return nil
}

func (r *reader) add(text []byte, k kind) {
	start := len(r.arena)
	r.arena = append(r.arena, text...)
	r.names = append(r.names, name{start, len(r.arena), k})
}

// text is a name until the next folder is read.
func (r *reader) text(n name) []byte { return r.arena[n.start:n.end] }

// has reports whether the folder has a name.
func (r *reader) has(text string) bool {
	_, ok := slices.BinarySearchFunc(r.names, text, func(n name, text string) int { return cmp.Compare(string(r.text(n)), text) })
	return ok
}

// look makes the entries of the names; closed is whether the files of the folder may
// not be looked at.
func (r *reader) look(dir string, was *folder) (closed bool, err error) {
	var old []entry
	if was != nil {
		old = was.entries
	}
	if dir != "/" {
		dir += "/"
	}
	now := r.sys.now().UnixNano()
	for _, n := range r.names {
		text := r.text(n)
		for len(old) > 0 && old[0].path[len(dir):] < string(text) {
			old = old[1:]
		}
		var before *entry
		e := entry{kind: n.kind}
		if len(old) > 0 && old[0].path[len(dir):] == string(text) {
			before = &old[0]
			e.path = before.path
		} else {
			e.path = dir + string(text)
		}
		err := r.stat(&e, e.path[len(dir):])
		switch {
		case err == nil:
		case passing(err):
			continue
		case unreadable(err):
			closed = true
			continue
		default:
			return false, err
		}
		switch e.kind {
		case file:
			r.again(&e, before, now)
		case directory, linked:
			if skip, mark := skip(e.path, e.path[len(dir):], r.has); skip {
				e.kind, e.mark = skipped, mark
			}
		default:
			continue
		}
		r.entries = append(r.entries, e)
	}
	return closed, nil
}

// stat finds out what a name is.
func (r *reader) stat(e *entry, name string) error {
	if e.kind == directory || e.kind == other {
		return nil
	}
	var st, link unix.Stat_t
	err := retry(func() error { return unix.Fstatat(r.dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return err
	}
	if e.kind = kindOf(&st); e.kind == symlink {
		link = st
		if err := retry(func() error { return unix.Fstatat(r.dir, name, &st, 0) }); err != nil {
			return err // a link that leads nowhere is no file
		}
		if e.kind = kindOf(&st); e.kind == directory {
			e.kind = linked
		}
	}
	if e.kind == file {
		e.file = fileOf(&st, &link)
		if tick := r.sys.tick; tick > 0 {
			e.file.MTime -= e.file.MTime % tick
			e.file.CTime -= e.file.CTime % tick
		}
	}
	return nil
}

func kindOf(st *unix.Stat_t) kind {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return file
	case unix.S_IFDIR:
		return directory
	case unix.S_IFLNK:
		return symlink
	}
	return other
}

func fileOf(st, link *unix.Stat_t) File {
	f := File{
		Size: st.Size, MTime: unix.TimespecToNsec(st.Mtim), CTime: unix.TimespecToNsec(st.Ctim),
		Inode: st.Ino, Dev: uint64(st.Dev),
	}
	if link.Mode&unix.S_IFMT == unix.S_IFLNK {
		f.LinkCTime, f.LinkInode = unix.TimespecToNsec(link.Ctim), link.Ino
	}
	return f
}

// retry calls again what a signal broke off.
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
