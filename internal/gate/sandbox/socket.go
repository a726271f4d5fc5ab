package sandbox

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kxtools/kx/internal/base/paths"
)

// sockets masks every socket that has a name outside of the workspace and temp:
// behind it somebody listens who is not behind the walls. One that is made while
// the program runs is not known here.
func (b *build) sockets() error {
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil // no table, as on other systems: the lists are what is known
	}
	list := socketNames(table)
	// A container sees the sockets that it is given by their names only.
	for _, dir := range []string{"/run", "/run/*", "/var/run"} {
		found, _ := filepath.Glob(dir + "/*")
		for _, f := range found {
			if fi, err := os.Lstat(f); err == nil && fi.Mode()&fs.ModeSocket != 0 {
				list = append(list, f)
			}
		}
	}
	for _, name := range list {
		real, err := filepath.EvalSymlinks(name)
		if err != nil {
			continue
		}
		if fi, err := os.Lstat(real); err != nil || fi.Mode()&fs.ModeSocket == 0 {
			continue
		}
		switch {
		case paths.Inside(b.place.Workspace, real), inside(harmless, real), inside(b.place.Sockets, real), inside(b.plan.Masked, real):
		default:
			b.plan.Masked = append(b.plan.Masked, real)
		}
	}
	return nil
}

// socketNames returns the absolute names in a table of the kernel. The name is the
// last of eight fields, and may have spaces in it; abstract ones begin with @.
func socketNames(table []byte) []string {
	var list []string
	lines := bufio.NewScanner(bytes.NewReader(table))
	for lines.Scan() {
		rest := lines.Text()
		for range 7 {
			_, rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
		}
		if rest = strings.TrimLeft(rest, " "); strings.HasPrefix(rest, "/") {
			list = append(list, rest)
		}
	}
	return list
}
