package patch

import (
	"fmt"
	"strings"
	"time"
)

// devNull stands for a file that is not there.
const devNull = "/dev/null"

// refused are lines of what can't be applied here, wherever a section may start.
var refused = []struct{ head, why string }{
	{"GIT binary patch", "binary patches are not applied"},
	{"Binary files ", "binary patches are not applied"},
	{"diff --cc ", "a diff of a merge (diff --cc) can't be applied"},
	{"diff --combined ", "a diff of a merge (diff --combined) can't be applied"},
	{"@@@", "a diff of a merge can't be applied"},
	{"@@", "a hunk stands outside of a file's section (--- and +++ come first)"},
	{"*** ", "neither the envelope (*** Begin Patch comes first) nor a unified diff: diff -u makes one"},
	{"+++ ", "+++ without --- in the line before"},
	{"--- ", "--- without +++ in the line behind"},
	{"rename from ", "a rename without its diff --git line"},
	{"copy from ", "a copy without its diff --git line"},
}

// unified reads the sections of a unified diff. What stands around them (a mail, the
// command line of diff) is passed over.
func (r *reader) unified() error {
	for r.more() {
		var err error
		switch line := r.peek(0); {
		case strings.HasPrefix(line, "diff --git "):
			err = r.git()
		case r.atNames():
			f := File{Line: r.number()}
			if err = r.names(&f, nil); err == nil {
				err = r.hunks(&f)
			}
			if err == nil {
				err = r.add(&f)
			}
		default:
			for _, no := range refused {
				if strings.HasPrefix(line, no.head) {
					return r.fail("%s", no.why)
				}
			}
			r.at++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// atNames reports whether the two lines that name a file come next.
func (r *reader) atNames() bool {
	return strings.HasPrefix(r.peek(0), "--- ") && strings.HasPrefix(r.peek(1), "+++ ")
}

// gitHead is what the lines say that git adds to a diff.
type gitHead struct {
	old, new string // of the diff --git line, with prefix, if they are known
	path, to string // what they mean
	from     string // of a rename
	renameTo string
}

// git reads a section of a git diff.
func (r *reader) git() error {
	f := File{Line: r.number()}
	var g gitHead
	if old, new, ok := gitNames(strings.TrimRight(strings.TrimPrefix(r.peek(0), "diff --git "), "\r")); ok {
		g.old, g.new = old, new
		g.path, g.to = pair(old, new)
	}
	r.at++
	created, deleted := false, false
	for ; r.more() && !r.atNames(); r.at++ {
		line := strings.TrimRight(r.peek(0), " \t\r")
		key, value := "", ""
		for _, k := range []string{"old mode ", "new mode ", "new file mode ", "deleted file mode ", "rename from ", "rename to ",
			"copy from ", "copy to ", "similarity index ", "dissimilarity index ", "index ", "Binary files ", "GIT binary patch"} {
			if v, ok := strings.CutPrefix(line, k); ok {
				key, value = k, v
				break
			}
		}
		var err error
		switch key {
		case "":
			return r.gitEnd(&f, &g, created, deleted)
		case "rename from ":
			g.from, err = oneName(value)
		case "rename to ":
			g.renameTo, err = oneName(value)
		case "copy from ", "copy to ":
			err = fmt.Errorf("copies are not applied: add the new file with its lines")
		case "Binary files ", "GIT binary patch":
			err = fmt.Errorf("binary patches are not applied")
		case "index ":
			if _, m, ok := strings.Cut(value, " "); ok {
				_, err = mode(m)
			}
		case "old mode ":
			_, err = mode(value)
		case "new mode ":
			f.Exec, err = mode(value)
		case "new file mode ":
			created = true
			if f.Exec, err = mode(value); f.Exec == Take {
				f.Exec = Keep
			}
		case "deleted file mode ":
			deleted = true
			_, err = mode(value)
		}
		if err != nil {
			return r.fail("%s", err)
		}
	}
	return r.gitEnd(&f, &g, created, deleted)
}

// gitEnd reads what follows the head of a git section.
func (r *reader) gitEnd(f *File, g *gitHead, created, deleted bool) error {
	at := r.atNames()
	switch {
	case (g.from == "") != (g.renameTo == ""):
		return r.fail("one end of the rename is missing")
	case g.from != "" && (created || deleted):
		return r.fail("a file is renamed and made or deleted at once")
	case created && deleted:
		return r.fail("a file is made and deleted at once")
	case g.from != "":
		if g.old != "" && !(same(g.from, g.old, g.path) && same(g.renameTo, g.new, g.to)) {
			return r.fail("the rename and the diff --git line name different files")
		}
		g.path, g.to = g.from, g.renameTo
	case g.path != g.to && !at:
		return r.fail("the diff --git line names two files, %.80q and %.80q", g.path, g.to)
	}
	if at {
		if err := r.names(f, g); err != nil {
			return err
		}
	} else {
		if g.path == "" {
			return r.fail("the names in the diff --git line can't be told apart")
		}
		f.Path = g.path
		if g.from != "" && g.to != g.path {
			f.To = g.to
		}
	}
	switch {
	case created && f.Op == Delete, deleted && f.Op == Add:
		return r.fail("the section says both that the file is new and that it is deleted")
	case created:
		f.Op = Add
	case deleted:
		f.Op = Delete
	}
	if err := r.hunks(f); err != nil {
		return err
	}
	return r.add(f)
}

// same reports whether a name is the one of another line, with its prefix or not.
func same(name, raw, bare string) bool {
	_, rest, _ := strings.Cut(raw, "/") // git has other prefixes than a/ and b/
	return name == raw || name == bare || name == rest
}

// mode says what a mode of git makes of the permission to run the file.
func mode(s string) (Exec, error) {
	switch s {
	case "100644", "100664", "100600":
		return Take, nil
	case "100755", "100775", "100700":
		return Give, nil
	case "120000":
		return Keep, fmt.Errorf("symbolic links are not patched")
	case "160000":
		return Keep, fmt.Errorf("submodules are not patched")
	}
	return Keep, fmt.Errorf("the mode %.20q is not known", s)
}

// names reads the --- and +++ lines. g is what a git section said before, or nil.
func (r *reader) names(f *File, g *gitHead) error {
	old, gone, err := sideName(r.peek(0)[len("--- "):])
	if err != nil {
		return r.fail("%s", err)
	}
	r.at++
	new, lost, err := sideName(r.peek(0)[len("+++ "):])
	if err != nil {
		return r.fail("%s", err)
	}
	switch {
	case gone && lost:
		return r.fail("both sides are %s", devNull)
	case gone, lost:
		f.Op = Add
		name := new
		if lost {
			f.Op, name = Delete, old
		}
		f.Path, _ = side(name)
		if g != nil && g.path != "" {
			if g.path != g.to || !same(name, g.old, g.path) && !same(name, g.new, g.path) && f.Path != g.path {
				return r.fail("%.80q is not the file of the diff --git line", name)
			}
			f.Path = g.path
		}
	default:
		f.Path, f.To = pair(old, new)
		switch {
		case g != nil && g.path != "":
			if !(same(g.path, old, f.Path) && same(g.to, new, f.To)) && !(old == g.old && new == g.new) {
				return r.fail("%.80q and %.80q are not the files that were named before", old, new)
			}
			f.Path, f.To = g.path, g.to
			if g.from == "" && f.Path != f.To {
				return r.fail("the section names two files, %.80q and %.80q; a rename has the lines rename from and rename to", f.Path, f.To)
			}
		case f.Path != f.To:
			// diff -u f.orig f is about f, whatever the other was called.
			short, long := f.Path, f.To
			if len(short) > len(long) {
				short, long = long, short
			}
			rest, ok := strings.CutPrefix(long, short)
			if !ok || strings.Contains(rest, "/") {
				return r.fail("the section names two files, %.80q and %.80q; a rename is git's: diff --git, rename from, rename to", f.Path, f.To)
			}
			f.Path, f.To = short, short
			f.Notes = append(f.Notes, fmt.Sprintf("the patch names %.80q and %.80q: it was taken as one of the first", short, long))
		}
		if f.To == f.Path {
			f.To = ""
		}
	}
	r.at++
	return nil
}

// pair takes the prefixes off two names of one section: git's a/ and b/, and any
// folders that are the only difference.
func pair(old, new string) (string, string) {
	if old == new {
		return old, new
	}
	_, a, ok1 := strings.Cut(old, "/")
	_, b, ok2 := strings.Cut(new, "/")
	if ok1 && ok2 && a == b && a != "" {
		return a, b
	}
	x, y := strings.TrimPrefix(old, "a/"), strings.TrimPrefix(new, "b/")
	if x == y || x != old && y != new {
		return x, y
	}
	return old, new
}

// sideName reads the name in a --- or +++ line, and whether it stands for no file.
func sideName(s string) (name string, none bool, err error) {
	s = strings.TrimRight(s, "\r")
	name, stamp, tab := strings.Cut(s, "\t")
	if strings.HasPrefix(s, `"`) {
		var rest string
		if name, rest, err = unquote(s); err != nil {
			return "", false, err
		}
		if _, stamp, tab = strings.Cut(rest, "\t"); !tab && strings.TrimSpace(rest) != "" {
			return "", false, fmt.Errorf("text behind the quoted name")
		}
	} else if !tab {
		name = strings.TrimRight(name, " ")
	}
	if name == "" {
		return "", false, fmt.Errorf("the name of the file is missing")
	}
	// diff -N dates a file that is not there to the beginning of time.
	if t, err := time.Parse("2006-01-02 15:04:05.999999999 -0700", strings.TrimSpace(stamp)); err == nil && t.Unix() == 0 {
		return name, true, nil
	}
	return name, name == devNull, nil
}
