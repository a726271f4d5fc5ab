package place

import (
	"errors"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/paths"
)

const (
	home = "/home/u"
	ws   = "/home/u/src/ws"
)

var contents = map[string]string{
	ws + "/.npmrc":     "//r/:_authToken=abc\n",
	ws + "/a/.npmrc":   "# _authToken=abc\nregistry=x\n//r/:_authToken=${NPM_TOKEN}\n",
	ws + "/.pypirc":    "[pypi]\npassword = abc\n",
	ws + "/a/.pypirc":  "[pypi]\nrepository = x\n",
	ws + "/b/.npmrc":   "_auth=\"abc\"\n",
	ws + "/c/.npmrc":   "password-store=x\n",
	ws + "/note.npmrc": "_authToken=abc\n",
}

func places() *Places {
	dirs := paths.Dirs{Home: home, State: "/s/kx", Config: home + "/.config/kx", Runtime: "/run/user/1/kx",
		Defaults: []string{home + "/.local/state/kx", home + "/.config/kx", "/run/user/1/kx", "/tmp/kx-1"}}
	return New([]string{ws, "/opt/out"}, dirs, func(path string) ([]byte, error) {
		if c, ok := contents[path]; ok {
			return []byte(c), nil
		}
		return nil, errors.New("not there")
	})
}

// Every name of the table is closed where its row counts, also what is below it,
// and a name beside it is not.
func TestRows(t *testing.T) {
	p := places()
	for i := range rows {
		r := &rows[i]
		for _, name := range r.files {
			if name[0] == '*' && !strings.Contains(name, ".") || strings.ToLower(name) != name {
				t.Errorf("%s is not found", name)
			}
			open := strings.Contains(name, "*")
			name = strings.ReplaceAll(name, "*", "1")
			base := map[reach]string{anywhere: ws + "/x/", below: ws + "/x/", away: home + "/", rooted: "/", atHome: home + "/"}[r.reach]
			if r.reach == inside {
				continue // TestTokens
			}
			for _, a := range []Act{Read, Write, Remove, Link} {
				hit := p.Match(base+name, a)
				if hit == nil != (r.acts&a == 0) && !(hit != nil && hit.Name != r.name) {
					t.Errorf("%s: act %d of %s: %v", r.name, a, base+name, hit)
				}
				if hit := p.Match(base+name+"/below", a); r.reach != atHome && hit == nil && r.acts&a != 0 {
					t.Errorf("%s: act %d below %s is not stopped", r.name, a, base+name)
				}
			}
			if open || r.name == "devices" || r.name == "system" {
				continue // beside a name with a * is the name
			}
			for _, near := range []string{base + name + "y", base + "y" + strings.TrimPrefix(name, ".")} {
				if hit := p.Match(near, All); hit != nil && hit.Name == r.name {
					t.Errorf("%s: %s is stopped", r.name, near)
				}
			}
		}
	}
}

// Where the same name is a project's own, or a folder is exempt.
func TestReach(t *testing.T) {
	p := places()
	for _, tt := range []struct {
		path string
		act  Act
		hit  bool
	}{
		{ws + "/.aws/config", All, false}, {"/opt/out/.docker/x", All, false}, {home + "/.aws/config", Read, true}, {"/root/.aws/x", Read, true}, {home + "/src/other/.aws/x", Read, true},
		{ws + "/.ssh/x", Read, true}, {ws + "/.bashrc", All, false}, {home + "/.bashrc", Read, false}, {home + "/.bashrc", Write, true}, {"/root/.bashrc", Write, true},
		{"/usr/x", Read, false}, {"/usr/x", Write, true}, {"/usr", Remove, true}, {"/users/x", Write, false}, {"/var/tmp/x", Write, false}, {"/var/x", Write, true}, {"/dev/shm/x", Write, false}, {"/tmp/x", Write, false}, {"/tmp/usr", Write, false},
		{"/lib64/x", Write, true}, {"/libx32/x", Write, true}, {"/opt/x", Write, false}, {home + "/usr/bin", Write, false}, {ws + "/etc/hosts", Write, false},
		{ws + "/.git", Write, true}, {ws + "/.GIT/x", Write, true}, {ws + "/.gitx", Write, false}, {ws + "/a.git/x", Write, false}, {ws + "/.git/x", Read, false}, {"/x/.git/config", Remove, true},
		{"/s/kx", Read, true}, {"/s/kx/a", Read, true}, {"/s/kxx", Read, false}, {"/s", Read, false}, {"/tmp/kx-1/s", Read, true}, {"/tmp/kx-10/s", Read, false}, {"/run/user/1/kx", Write, true},
		{home + "/.config", Remove, true}, {home + "/.config", Write, false}, {home + "/.config/x", Remove, false}, {ws + "/Documents", Remove, false},
		{"/proc/1/environ", Read, true}, {"/proc/self/environ", Read, true}, {"/proc/1/status", Read, false}, {"/proc/1/task/2/mem", Read, true}, {"/proc/1/net/root", Read, false}, {ws + "/proc/1/environ", Read, false}, {"/dev/sda1", Read, true}, {"/dev/sd", Read, true}, {"/dev/null0", Read, false},
		// A path that begins nowhere certain, and names that are not whole.
		{"\x01/.ssh/x", Read, true}, {"\x01.ssh/x", Read, true}, {"\x01", All, false}, {"\x01/x", All, false}, {"\x01/usr/x", Write, false}, {".git/x", Write, true}, {ws + "/.g*/x", Write, true}, {ws + "/*/x", All, false}, {ws + "/.*", All, false},
		{home + "/.s?h/x", Read, true}, {home + "/?ssh/x", Read, false}, {home + "/.[a-z]sh/x", Read, true}, {home + "/.config/g*/x", Read, true}, {home + "/.con*/gh", Read, true}, {home + "/.config/*/x", Read, true}, {home + "/*/x", Read, false},
		{"/et*/passwd", Write, true}, {"/*/passwd", Write, false}, {ws + "/*.p12", Read, true}, {ws + "/*.p*", Read, false}, {ws + "/*", All, false}, {home + "/.local/state/k?/x", Read, true}, {"/s/*/x", Read, false},
		{"", All, false}, {"/", All, false},
	} {
		if hit := p.Match(tt.path, tt.act); (hit != nil) != tt.hit {
			t.Errorf("act %d of %q: %v", tt.act, tt.path, hit)
		}
	}
	// The workspace itself may lie below any name.
	odd := New([]string{"/usr/src/.git/.claude/w"}, paths.Dirs{Home: "/var/lib/u"}, nil)
	for path, hit := range map[string]bool{
		"/usr/src/.git/.claude/w/x": false, "/usr/src/.git/.claude/w/.git/x": true, "/usr/src/.git/.claude/x": true, "/usr/src/x": true, "/var/lib/u/x": false, "/var/lib/x": true, "/var/lib/u/.bashrc": true,
	} {
		if got := odd.Match(path, Write); (got != nil) != hit {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestTokens(t *testing.T) {
	p := places()
	for path, hit := range map[string]bool{
		ws + "/.npmrc": true, ws + "/a/.npmrc": false, ws + "/b/.npmrc": true, ws + "/c/.npmrc": false, ws + "/d/.npmrc": false, ws + "/.pypirc": true, ws + "/a/.pypirc": false, ws + "/note.npmrc": false, home + "/.npmrc": true, "/etc/x/.npmrc": true,
	} {
		if got := p.Match(path, Read); (got != nil) != hit {
			t.Errorf("%s: %v", path, got)
		}
	}
	if p.Match(ws+"/.npmrc", Write) != nil {
		t.Error("a project's own file can't be written")
	}
}

// What is done to a whole folder.
func TestWhole(t *testing.T) {
	p := places()
	remove, deep := Touch{Act: Remove}, Touch{Act: Remove, Deep: true}
	spread, sweep := Touch{Act: Write, Deep: true, Spread: true}, Touch{Act: Read, Deep: true}
	for _, tt := range []struct {
		path string
		t    Touch
		hit  bool
	}{
		{"/", remove, true}, {"/*", remove, true}, {"/home", remove, true}, {"/home/*", remove, true}, {home, remove, true}, {home + "/*", remove, true}, {home + "/.*", deep, true}, {home + "/x", deep, false}, {home + "/src", deep, true}, {ws, remove, true}, {ws + "/*", deep, true}, {ws + "/*", remove, false},
		{ws + "/x", deep, false}, {ws + "/x/*", deep, false}, {"/home/v", deep, false}, {"/tmp/*", deep, true}, {"/tmp/x", deep, false}, {"/opt/out", deep, false}, {"/opt/out/*", deep, false}, {"/s", deep, true}, {ws + "/a*", deep, false},
		{"/", spread, true}, {home, spread, true}, {ws, spread, false}, {home + "/src", spread, true}, {ws + "/x", spread, false},
		{"/", sweep, true}, {home, sweep, true}, {"/home", sweep, true}, {ws, sweep, false}, {home + "/src", sweep, false}, {home + "/.config", sweep, true}, {home + "/.vim", sweep, false}, {"/s", sweep, true}, {"/usr", sweep, false}, {"/tmp", sweep, false},
	} {
		if hit := p.Hit(tt.path, tt.t); (hit != nil) != tt.hit {
			t.Errorf("%+v of %s: %v", tt.t, tt.path, hit)
		}
	}
}
