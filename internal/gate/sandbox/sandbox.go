// Package sandbox says what stands between a program and the machine: which
// profile it runs under, what it sees, what it may write, what is masked. It makes
// the plan; internal/base/jail builds the walls.
//
// Every process that is not kx runs by a plan of this package: commands of bash
// and models that are programs, and later hooks, MCP servers, language servers and
// the browser. What can't be walled in on this machine is known beforehand (Walls),
// so that the gate can ask.
package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/jail"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/internal/record/scratch"
)

// Profile is what a kind of program may do beside reading.
type Profile struct {
	Name    string
	Write   bool // in the workspace, and where the user says
	Network bool
	Host    bool // no walls
}

// The profiles, by their names in the configuration.
var (
	ReadOnly       = Profile{Name: config.Profiles[0]}
	WorkspaceWrite = Profile{Name: config.Profiles[1], Write: true}
	NetworkEnabled = Profile{Name: config.Profiles[2], Write: true, Network: true}
	Host           = Profile{Name: config.Profiles[3], Write: true, Network: true, Host: true}
)

// Default is the profile of commands, and of models that are programs.
var Default = NetworkEnabled

// Under returns the profile, or the widest one that max_sandbox allows if that is
// narrower.
func (p Profile) Under(max string) Profile {
	all := []Profile{ReadOnly, WorkspaceWrite, NetworkEnabled, Host}
	if most := slices.Index(config.Profiles, max); most < slices.Index(config.Profiles, p.Name) {
		return all[most]
	}
	return p
}

// Place is where a program runs.
type Place struct {
	Session   string
	Workspace string   // canonical root
	Writable  []string // canonical paths that the user lets programs write
	Sockets   []string // sockets that the user lets programs reach
	Hidden    []string // patterns of what no program may read, see Hide
}

// Sandbox makes plans.
type Sandbox struct {
	Dirs    paths.Dirs
	Scratch *scratch.Store
	Getenv  func(string) string
	Passwd  func() string          // the home that the system has on record for the user, "" if none
	Boot    func() (string, error) // names this start of the machine
	DryRun  bool                   // nothing is found out about the machine

	mu    sync.Mutex
	known *Walls // what was found out
}

// Cell is where one program runs.
type Cell struct {
	Plan  *jail.Plan // nil for a program without walls
	Label string     // what results call it: a profile, "partial" or "none"
	Env   []string   // variables beside those of the program

	// Cache is a folder of a resident's own, as it sees it; Put writes a program into
	// it. Holds reports whether what is masked for it is what was masked when it
	// started: what was put in its place since then it would see.
	Cache string
	Put   func(name, text string) error
	Holds func() bool

	// Leave is called when the program has ended. It says what was taken away.
	Leave func() []string
	// Broken is called when the walls could not be built: what this machine can
	// enforce is found out anew, by the next process.
	Broken func()
}

// The labels where there are no full walls.
const (
	Partial = "partial"
	None    = "none"
)

// Label is what results call a profile on this machine.
func (s *Sandbox) Label(prof Profile) string {
	switch kind := s.Walls().Kind; {
	case prof.Host || kind == jail.Full:
		return prof.Name
	case kind == jail.Landlock:
		return Partial
	}
	return None
}

// Confine makes the plan for a program. argv[0] is its path, dir its folder.
func (s *Sandbox) Confine(at Place, prof Profile, argv []string, dir string) (*Cell, error) {
	if prof.Host {
		return &Cell{Label: prof.Name, Leave: func() []string { return nil }, Broken: func() {}}, nil
	}
	walls := s.Walls()
	p := &jail.Plan{Kind: walls.Kind, Argv: argv, Dir: dir, Network: prof.Network, Minimal: s.Dirs.UID == 0}
	b := &build{Sandbox: s, place: at, prof: prof, plan: p}
	steps := []func() error{b.masks, b.sockets, b.hide}
	switch walls.Kind {
	case jail.Full:
		steps = append([]func() error{b.temp, b.ownFiles, b.keepInSight, b.caches(walls.Layers), b.write, b.repository, b.protect}, steps...)
	case jail.Landlock:
		steps = []func() error{b.writeInPlace, b.masks, b.hide, b.real}
	default:
		steps = nil
	}
	for _, step := range steps {
		if err := step(); err != nil {
			b.leave()
			return nil, err
		}
	}
	return &Cell{Plan: p, Label: s.Label(prof), Env: b.env, Leave: b.leave, Broken: s.Scratch.ForgetWalls}, nil
}

// build is a plan in the making.
type build struct {
	*Sandbox
	place   Place
	prof    Profile
	plan    *jail.Plan
	env     []string
	release []func()
	absent  []string // must not be there at the end either
}

// temps are replaced by the private temp.
var temps = []string{"/tmp", "/var/tmp"}

// temp gives the session a /tmp of its own.
func (b *build) temp() error {
	dir, err := b.Scratch.Temp(b.place.Session)
	if err != nil {
		return err
	}
	for _, t := range temps {
		if fi, err := os.Lstat(t); err == nil && fi.IsDir() {
			b.mount(jail.Mount{Source: dir, Target: t})
		}
	}
	b.env = append(b.env, "TMPDIR=/tmp")
	return nil
}

// ownFiles lets the superuser unpack: its tar gives files to their owners, and
// behind the walls there is nobody else.
func (b *build) ownFiles() error {
	if b.Dirs.UID == 0 {
		b.env = append(b.env, "TAR_OPTIONS=--no-same-owner")
	}
	return nil
}

func (b *build) mount(m jail.Mount) { b.plan.Mounts = append(b.plan.Mounts, m) }

// inTemp reports whether the private temp would hide a path.
func inTemp(path string) bool {
	return slices.ContainsFunc(temps, func(t string) bool { return paths.Inside(t, path) })
}

// keepInSight keeps a home or a workspace in sight that lies in /tmp, and the program
// with what a link of its name leads to.
func (b *build) keepInSight() error {
	programs := b.plan.Argv[:1:1]
	if real, err := filepath.EvalSymlinks(programs[0]); err == nil {
		programs = append(programs, real)
	}
	for _, dir := range b.kept(b.place, programs...) {
		b.mount(jail.Mount{Source: dir, Target: dir, ReadOnly: true})
	}
	return nil
}

// kept are the folders of /tmp in which the home, the workspace and programs lie,
// and what else can be written: the private temp does not hide them.
func (s *Sandbox) kept(at Place, more ...string) []string {
	var list []string
	needed := append([]string{s.Dirs.Home, at.Workspace}, at.Writable...)
	needed = append(needed, more...)
	for _, dir := range append(needed, filepath.SplitList(s.Getenv("PATH"))...) {
		for _, t := range temps {
			rest, ok := strings.CutPrefix(dir, t+"/")
			if !ok {
				continue
			}
			top, _, _ := strings.Cut(rest, "/")
			if top = t + "/" + top; !slices.Contains(list, top) {
				list = append(list, top)
			}
		}
	}
	return list
}

// caches lays folders of the session over the caches of the user: programs find
// them warm and change nothing that the user's own builds trust. A cache that is
// not there, or that nothing can be laid over, is made in the private temp.
func (b *build) caches(layers bool) func() error {
	return func() error {
		at, err := b.Scratch.Layers(b.place.Workspace)
		if err != nil {
			return err
		}
		b.release = append(b.release, at.Release)
		for _, c := range caches {
			dir := filepath.Join(b.Dirs.Home, c.path)
			fi, err := os.Lstat(dir)
			if !layers || err != nil || !fi.IsDir() || paths.Inside(dir, b.place.Workspace) {
				b.moveCache(c, temps[0])
				continue
			}
			upper, work, err := at.Layer(c.name)
			if err != nil {
				return err
			}
			b.mount(jail.Mount{Source: dir, Target: dir, Upper: upper, Work: work})
		}
		return nil
	}
}

// moveCache lets programs keep a cache in a folder of the temp.
func (b *build) moveCache(c cache, temp string) {
	for _, v := range c.env {
		b.env = append(b.env, v+"="+filepath.Join(temp, cacheFolder, c.name))
	}
}

// write lists what can be written: folders before those inside of them.
func (b *build) write() error {
	list := slices.Clone(b.place.Writable)
	if !b.prof.Write {
		list = nil
	}
	slices.Sort(list)
	for _, w := range slices.Compact(list) {
		if err := b.checkWritable(w); err != nil {
			return err
		}
		if _, err := os.Lstat(w); err == nil {
			b.mount(jail.Mount{Source: w, Target: w})
		}
	}
	if b.prof.Write {
		b.mount(jail.Mount{Source: b.place.Workspace, Target: b.place.Workspace})
	}
	return nil
}

// writeInPlace is write where nothing can be mounted: programs see the real /tmp,
// and write in a temp of the session, where their caches are too.
func (b *build) writeInPlace() error {
	dir, err := b.Scratch.Temp(b.place.Session)
	if err != nil {
		return err
	}
	b.env = append(b.env, "TMPDIR="+dir)
	for _, c := range caches {
		b.moveCache(c, dir)
	}
	b.mount(jail.Mount{Source: dir, Target: dir})
	return b.write()
}

// checkWritable refuses to open what the walls are there for.
func (b *build) checkWritable(path string) error {
	if why := b.Dirs.TooWide(path); why != "" {
		return fail.Config("[sandbox] writable: programs can't be let into %s: %s", path, why).WithHint("kx config show")
	}
	return nil
}

// masks lists what is not to be seen.
func (b *build) masks() error {
	for _, dir := range []string{b.Dirs.State, b.Dirs.Config} {
		if err := os.MkdirAll(dir, 0o700); err != nil { // what is not there can't be masked
			return fail.Failed("sandbox", "%s can't be made: %v", dir, err).Because(err)
		}
	}
	_ = os.MkdirAll(b.Dirs.Runtime, 0o700) // where it can't be made there are no sockets
	list := append([]string{b.Dirs.State, b.Dirs.Config, b.Dirs.Runtime}, b.Dirs.Defaults...)
	list = append(list, b.masked()...)
	b.plan.Masked = append(b.plan.Masked, list...)
	b.plan.Exposed = slices.Clone(b.place.Sockets)
	return nil
}

// real makes the masks canonical for Landlock, which knows no names: a mask that
// is a link is what it leads to, and what is not there needs none.
func (b *build) real() error {
	var list []string
	for _, m := range b.plan.Masked {
		if r, err := filepath.EvalSymlinks(m); err == nil && !inside(b.place.Sockets, r) {
			list = append(list, r)
		}
	}
	b.plan.Masked = list
	return nil
}

func inside(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return paths.Inside(d, path) })
}

// leave gives back what the program had, and takes away what it must not leave.
func (b *build) leave() []string {
	notes := b.takeAway()
	for _, f := range b.release {
		f()
	}
	b.release = nil
	return notes
}

// Temp is the private temp of a session as its file tools see it. What it is is
// found out when a path asks for it; the zero one is the machine's /tmp.
type Temp struct {
	kept   func() []string // what stays in sight of the machine's
	folder func() string   // "" if there is none
}

// Temp returns the private temp of a session, if programs there have one.
func (s *Sandbox) Temp(at func() Place) Temp {
	return Temp{
		kept: sync.OnceValue(func() []string { return s.kept(at()) }),
		folder: sync.OnceValue(func() string {
			if s.Walls().Kind != jail.Full {
				return ""
			}
			return s.Scratch.TempPath(at().Session)
		}),
	}
}

// Real is where a path lies: in the private temp, if it begins with /tmp.
func (t Temp) Real(path string) string {
	for _, name := range temps {
		rest, found := strings.CutPrefix(path, name)
		if !found || rest != "" && rest[0] != '/' {
			continue
		}
		if dir := t.dir(path); dir != "" {
			return dir + rest
		}
	}
	return path
}

// dir is the folder that has a path, "" if it is not in the private temp.
func (t Temp) dir(path string) string {
	if t.folder == nil || inside(t.kept(), filepath.Clean(path)) {
		return ""
	}
	return t.folder()
}

// Name is the reverse of Real for a path without links that comes of it.
func (t Temp) Name(real string) string {
	if rest, found := strings.CutPrefix(real, t.folder()); found && (rest == "" || rest[0] == '/') {
		return temps[0] + rest
	}
	return real
}

// Holds reports whether a clean path lies in the private temp.
func (t Temp) Holds(path string) bool { return inTemp(path) && t.dir(path) != "" }

// Exists reports whether there is one.
func (t Temp) Exists() bool { return t.folder != nil && t.folder() != "" }
