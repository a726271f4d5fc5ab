package guard

import (
	"strings"

	"github.com/kxtools/kx/internal/gate/guard/expand"
	"github.com/kxtools/kx/internal/gate/guard/place"
	"github.com/kxtools/kx/pkg/policy/shell"
)

// listing are the tests of find by which it says nothing of which files it
// means.
const listing = "-type -depth -mindepth -maxdepth -delete -xdev -mount -print -print0 -exec -execdir -ok -okdir -not -o -or -a -and -true -follow"

// found returns the files of a find: its roots, and those that it deletes or
// hands to a command.
func found(leaf *shell.Leaf, argv []string) (out []use, filtered bool) {
	acts, runs := place.Read, false
	var names []use
	for i := 1; i < len(argv); i++ {
		a, value := argv[i], ""
		if i+1 < len(argv) {
			value = argv[i+1]
		}
		switch a {
		case "-delete":
			acts |= place.Remove
		case "-exec", "-execdir", "-ok", "-okdir":
			runs = true
			if r, _ := roleOf(base(value)); r.removes || value == "mv" {
				acts |= place.Remove
			} else if r.writes {
				acts |= place.Write
			}
			for i+1 < len(argv) && argv[i+1] != ";" && argv[i+1] != "+" {
				i++
			}
		case "-name", "-iname", "-path", "-wholename", "-ipath", "-iwholename", "-regex":
			i++
			if argv[i-2] == "!" || argv[i-2] == "-not" {
				continue // what is not meant
			}
			filtered = filtered || !place.Open(value)
			names = append(names, use{shell.Word{Text: expand.Unknown + "/" + value, Literal: true}, place.Touch{}})
		case "-prune":
			filtered, names = true, names[:max(0, len(names)-1)]
		default:
			if len(a) > 1 && a[0] == '-' && !expand.Among(listing, a) {
				filtered = true
			}
		}
	}
	for _, f := range leaf.Files {
		t := place.Touch{Act: acts, Deep: !filtered && (runs || acts&place.Remove != 0)}
		if f.Write {
			t = place.Touch{Act: place.Write}
		}
		if filtered && t.Act&place.Remove != 0 {
			// What it deletes lies below, and is told by its name.
			t.Act = t.Act&^place.Remove | place.Write
		}
		out = append(out, use{f.Path, t})
	}
	if acts&place.Remove != 0 || runs {
		for _, n := range names {
			n.Act = acts
			out = append(out, n)
		}
	}
	return out, filtered
}

func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// archived returns the files that tar writes, or reads into an archive.
func archived(leaf *shell.Leaf, argv []string) []use {
	var archives, folders []string
	mode := ""
	for i := 1; i < len(argv); i++ {
		a := argv[i]
		name, value, attached := strings.Cut(a, "=")
		to := (*[]string)(nil)
		switch {
		case a == "--create", a == "--append", a == "--update":
			mode = "c"
		case a == "--extract", a == "--get":
			mode = "x"
		case name == "--file":
			to = &archives
		case name == "--directory":
			to = &folders
		case a != "" && !strings.HasPrefix(a, "--") && (i == 1 || strings.HasPrefix(a, "-")):
			if at := strings.IndexAny(a, "cruxt"); at >= 0 && mode == "" {
				mode = a[at : at+1]
			}
			switch attached = false; a[len(a)-1] {
			case 'f':
				to = &archives
			case 'C':
				to = &folders
			}
		}
		switch {
		case to == nil:
		case attached:
			*to = append(*to, value)
		case i+1 < len(argv):
			*to = append(*to, argv[i+1])
		}
	}
	packs := mode == "c" || mode == "r" || mode == "u"
	var out []use
	for _, name := range archives {
		t := place.Touch{Act: place.Read}
		if packs {
			t.Act |= place.Write
		}
		out = append(out, use{shell.Word{Text: name, Literal: true}, t})
	}
	for _, name := range folders {
		t := place.Touch{Act: place.Read}
		if mode == "x" {
			t.Act |= place.Write
		}
		out = append(out, use{shell.Word{Text: name, Literal: true}, t})
	}
	if packs {
		for _, f := range leaf.Files {
			if !f.Write {
				out = append(out, use{f.Path, place.Touch{Act: place.Read, Deep: true}})
			}
		}
	}
	return out
}
