// Package config reads what a person set: config.toml and policy.toml of the
// user, and what a trusted project adds to them.
//
// A project may only narrow: lower limits, and a mode that is stricter than any
// other. Whatever it may not say, and every key that kx does not know, is an
// error that names file, line and key; so is a file that others could have
// written. There is no half-read configuration. Rules are not parsed here but
// handed to pkg/policy as they are.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/record/config/provider"
)

// The files: the user's in the configuration directory, the project's from its
// root.
const (
	UserConfig    = "config.toml"
	UserPolicy    = "policy.toml"
	ProjectConfig = ".kx/config.toml"
	ProjectPolicy = ".kx/policy.toml"
)

const (
	maxConfig = 1 << 20  // every key there is takes less than 2 KiB
	maxPolicy = 64 << 20 // 100,000 rules take about 10 MiB
)

// Config is the configuration in force.
type Config struct {
	Mode         string `key:"mode"`
	MaxMode      string `key:"max_mode"`
	ProjectMode  string // a ceiling that the project sets, or ""
	Limits       Limits // the project's where they are lower
	Sandbox      Sandbox
	Approve      Approve
	Experimental Experimental

	Models provider.Catalog // whom models are asked of, and which does what

	LanguageServers []LanguageServer // the user's, in the order of the file

	Hooks        []Hook // the user's, in the order of the file
	ProjectHooks []Hook // the project's, which only a trust that covers code lets run

	HasUserConfig bool // the user has a config.toml

	// Policies of the user and of the trusted project, nil where there is none.
	UserPolicy    *File
	ProjectPolicy *File

	// Values lists every setting and where it comes from.
	Values []Value
}

// Limits are the nine limits of tool calls.
type Limits struct {
	MaxInputBytes                    int64  // JSON of one input
	MaxOutputBytes                   int64  // JSON that a model gets from one call
	MaxResultEnvelopeBytes           int64  // one result with all that belongs to it
	MaxTimeoutMS                     int64  // how long one call may take
	MaxParallelTools                 int64  // calls that run at once
	MaxCallsPerTurn                  int64  // calls of one model turn
	MaxCumulativeOutputBytes         int64  // output of one batch
	MaxCumulativeResultEnvelopeBytes int64  // envelopes of one batch
	MaxSandbox                       string // the widest sandbox profile; not set, it leaves rules with sandbox = "host" alone
}

// Sandbox is what commands may have beside the workspace.
type Sandbox struct {
	Writable []string // canonical paths
	Sockets  []string // canonical paths of sockets that commands may reach
	Env      []string // names of variables
}

// Approve is how the user answers requests.
type Approve struct {
	Notify   string // a command of a shell that is run for every new request
	Operator bool   // agents may ask the operator questions
	Remote   bool   // connections that ssh -L forwards may answer, too
	Bell     bool   // the terminal rings for a new request
}

// Experimental switches on what is not finished.
type Experimental struct {
	Browser         bool
	RemoteMCP       bool
	UnsandboxedBash bool
}

// File is a file as it is read, with the name that messages use.
type File struct {
	Path string
	Data []byte
}

// Value is a setting, its value, and where it comes from: built-in, or file:line.
type Value struct {
	Key    string
	Value  any
	Source string
}

// Load reads the configuration for a workspace. trusted are the contents of the
// project's files that the user trusted, by their path from its root; nil if
// it is not trusted.
func Load(d paths.Dirs, workspace string, trusted map[string][]byte) (*Config, error) {
	c := builtIn()
	user, err := readOwn(filepath.Join(d.Config, UserConfig), maxConfig, d.UID)
	if err != nil {
		return nil, err
	}
	if c.HasUserConfig = user != nil; c.HasUserConfig {
		if err := c.apply(user, d); err != nil {
			return nil, err
		}
	}
	if data, ok := trusted[ProjectConfig]; ok {
		if err := c.narrow(&File{Path: filepath.Join(workspace, ProjectConfig), Data: data}); err != nil {
			return nil, err
		}
	}
	if c.UserPolicy, err = readOwn(filepath.Join(d.Config, UserPolicy), maxPolicy, d.UID); err != nil {
		return nil, err
	}
	if data, ok := trusted[ProjectPolicy]; ok {
		c.ProjectPolicy = &File{Path: filepath.Join(workspace, ProjectPolicy), Data: data}
	}
	return c, nil
}

// LoadApprove reads how requests are answered from the user's file alone. Keys of
// other tables are left to those that use them.
func LoadApprove(dir string, uid int) (Approve, error) {
	c := &Config{Approve: approveDefaults}
	user, err := readOwn(filepath.Join(dir, UserConfig), maxConfig, uid)
	if user == nil {
		return c.Approve, err
	}
	entries, err := parse(user)
	if err != nil {
		return Approve{}, err
	}
	for _, e := range entries {
		if e.path[0] != tableOfApprove {
			continue
		}
		s, err := find(user, e)
		if err != nil {
			return Approve{}, err
		}
		if s == nil {
			continue
		}
		if why := s.kind.set(s.at(c), e.value, paths.Dirs{}); why != "" {
			return Approve{}, user.wrong(e, "%s", why)
		}
	}
	return c.Approve, nil
}

// approveDefaults are how requests are answered where nobody says otherwise.
var approveDefaults = Approve{Bell: true}

func builtIn() *Config {
	c := &Config{
		Mode:    "default",
		MaxMode: "bypassPermissions",
		Limits: Limits{
			MaxInputBytes:                    16 << 20,
			MaxOutputBytes:                   16 << 20,
			MaxResultEnvelopeBytes:           24 << 20,
			MaxTimeoutMS:                     180_000,
			MaxParallelTools:                 16,
			MaxCallsPerTurn:                  256,
			MaxCumulativeOutputBytes:         64 << 20,
			MaxCumulativeResultEnvelopeBytes: 96 << 20,
			MaxSandbox:                       "network_enabled",
		},
		Sandbox: Sandbox{Writable: []string{}, Sockets: []string{}, Env: []string{}},
		Approve: approveDefaults,
	}
	for _, s := range settings {
		c.note(s, builtInSource)
	}
	return c
}

// IsSet reports whether somebody set a key.
func (c *Config) IsSet(key string) bool {
	return slices.ContainsFunc(c.Values, func(v Value) bool { return v.Key == key && v.Source != builtInSource })
}

// builtInSource is the source of what nobody set.
const builtInSource = "built-in"

// note writes down where the value of s comes from now.
func (c *Config) note(s setting, source string) {
	v := Value{Key: s.key, Value: deref(s.at(c)), Source: source}
	if i := slices.IndexFunc(c.Values, func(v Value) bool { return v.Key == s.key }); i >= 0 {
		c.Values[i] = v
		return
	}
	c.Values = append(c.Values, v)
}

// apply takes over what the user's file says.
func (c *Config) apply(f *File, d paths.Dirs) error {
	entries, err := parse(f)
	if err != nil {
		return err
	}
	if c.Hooks, entries, err = takeHooks(f, entries); err != nil {
		return err
	}
	c.list(c.Hooks)
	if entries, err = c.takeServers(f, entries); err != nil {
		return err
	}
	mine, entries := c.takeModels(f, entries)
	if c.Models, err = provider.Read(f.Path, mine); err != nil {
		return err
	}
	for _, e := range entries {
		s, err := find(f, e)
		if err != nil {
			return err
		}
		if s == nil {
			continue // the head of a table
		}
		if why := s.kind.set(s.at(c), e.value, d); why != "" {
			return f.wrong(e, "%s", why)
		}
		c.note(*s, fmt.Sprintf("%s:%d", f.Path, e.line))
	}
	return nil
}

// narrow takes over what the project's file says, as far as it may.
func (c *Config) narrow(f *File) error {
	entries, err := parse(f)
	if err != nil {
		return err
	}
	if c.ProjectHooks, entries, err = takeHooks(f, entries); err != nil {
		return err
	}
	c.list(c.ProjectHooks)
	mine, entries := c.takeModels(f, entries)
	if err := c.Models.Narrow(f.Path, mine); err != nil {
		return err
	}
	for _, e := range entries {
		s, err := find(f, e)
		if err != nil && e.path[0] != tableOfServers {
			return err
		}
		switch {
		case s == nil && e.name() == tableOfLimits:
		case s == nil || s.kind != modeKind && !s.isLimit() || s.key == "max_mode":
			return f.at(e.line, "a project may not set %s: it may set [limits], [hooks], [roles] and mode", e.name())
		case s.key == "mode":
			if why := s.kind.set(&c.ProjectMode, e.value, paths.Dirs{}); why != "" {
				return f.wrong(e, "%s", why)
			}
			if c.ProjectMode != "plan" && c.ProjectMode != "dontAsk" {
				return f.wrong(e, "a project may only set plan or dontAsk, not %s", c.ProjectMode)
			}
			c.Values = append(c.Values, Value{Key: "project_mode", Value: c.ProjectMode, Source: fmt.Sprintf("%s:%d", f.Path, e.line)})
		default:
			before := deref(s.at(c))
			if why := s.kind.set(s.at(c), e.value, paths.Dirs{}); why != "" {
				return f.wrong(e, "%s", why)
			}
			if after := deref(s.at(c)); s.kind.rank(after) > s.kind.rank(before) {
				return f.wrong(e, "%v is above the user's %v, and a project may only lower a limit", after, before)
			}
			c.note(*s, fmt.Sprintf("%s:%d", f.Path, e.line))
		}
	}
	return nil
}

// at is an error of a line.
func (f *File) at(line int, format string, args ...any) *fail.Error {
	return fail.Config("%s:%d: %s", f.Path, line, fmt.Sprintf(format, args...)).WithHint("kx config validate")
}

// wrong is an error of the value of a key.
func (f *File) wrong(e entry, format string, args ...any) *fail.Error {
	return f.at(e.line, "%s: %s", e.name(), fmt.Sprintf(format, args...))
}

// readOwn reads a file of the user's, which nobody else may have written. A
// missing file is nil.
func readOwn(path string, max int64, uid int) (*File, error) {
	data, fi, err := fsx.ReadRegular(path, max)
	if errors.Is(err, fs.ErrNotExist) {
		if _, lerr := os.Lstat(path); errors.Is(lerr, fs.ErrNotExist) {
			return nil, nil
		} // a symlink that leads nowhere is no missing file
	}
	if err != nil {
		return nil, fail.Config("%s can't be read: %v", path, fsx.Reason(err)).WithHint("ls -l %s", path).Because(err)
	}
	if owner := fsx.Owner(fi); owner != uid && owner != 0 {
		return nil, fail.Config("%s belongs to another user (uid %d)", path, owner).WithHint("ls -l %s", path)
	}
	if fi.Mode().Perm()&0o022 != 0 {
		return nil, fail.Config("%s can be written by others (mode %04o)", path, fi.Mode().Perm()).WithHint("chmod go-w %s", path)
	}
	return &File{Path: path, Data: data}, nil
}
