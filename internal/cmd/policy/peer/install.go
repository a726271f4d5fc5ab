package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/jsonedit"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/client"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/pkg/wire"
)

// InstallOptions of kx policy install and uninstall.
type InstallOptions struct {
	App   *app.App
	Site  *site.Site
	Human func(ctx context.Context, line, question string) (wire.Decider, error)
	Self  func() (string, error) // the path of kx

	Client string
	OnAsk  string
	Wait   time.Duration
}

// InstallDoc says what became of the settings of a client.
type InstallDoc struct {
	Type   string `json:"type"`
	V      int    `json:"v"`
	Client string `json:"client"`
	Path   string `json:"path"`
	State  string `json:"state"` // installed, removed or unchanged
	Diff   string `json:"diff,omitempty"`
}

func clientFlag(to *string) cli.Flag {
	return &cli.StringFlag{Name: "client", Usage: "the `CLIENT`: claude, codex or gemini", Destination: to}
}

// NewInstall returns the command; a nil run is the real one.
func NewInstall(a *app.App, run func(context.Context, *InstallOptions) error) *app.Command {
	s := site.Of(a)
	o := &InstallOptions{App: a, Site: s, Human: s.Human, Self: os.Executable}
	if run == nil {
		run = install
	}
	return &app.Command{
		Name:  "install",
		Usage: "have another agent ask kx before every call",
		What: `
Shows what it would add to the settings of the client, asks, and writes it: one hook before every tool, which runs this kx by its absolute path with the directories that are in force now, whatever the environment of the client says. Everything else in the file stays as it is, byte for byte. An entry of kx that is there already is replaced.

Claude Code has it in settings.json, Codex in hooks.json, Gemini CLI in settings.json. Codex runs a hook only after you have trusted it there.

Only a person may do this: on a terminal, or with the approver key in --key FILE.
`,
		Flags: []cli.Flag{
			clientFlag(&o.Client),
			&cli.StringFlag{Name: "on-ask", Usage: "what becomes of a call that needs a person: `HOW` is deny, wait or defer", Destination: &o.OnAsk},
			&cli.DurationFlag{Name: "wait", Usage: "hold a call for up to `DUR`", Value: hookWait, Destination: &o.Wait},
		},
		Examples: []app.Example{{Line: "kx policy install --client claude"}, {Line: "kx policy install --client codex --on-ask wait --wait 2m"}},
		Exits:    []app.Exit{{Status: fail.ExitDenied, Means: "nobody confirmed it"}},
		Complete: map[string]app.Completer{"client": app.Values(client.Names()...), "on-ask": app.Values(client.Deny, client.Wait, client.Defer)},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

// NewUninstall returns the command; a nil run is the real one.
func NewUninstall(a *app.App, run func(context.Context, *InstallOptions) error) *app.Command {
	s := site.Of(a)
	o := &InstallOptions{App: a, Site: s, Human: s.Human, Self: os.Executable}
	if run == nil {
		run = uninstall
	}
	return &app.Command{
		Name:  "uninstall",
		Usage: "take the hook of kx out of another agent's settings",
		What: `
Shows what it would take out of the settings of the client, asks, and does it. Only entries that run kx policy hook for this client go; everything else stays as it is. The client asks its own rules alone from then on.

Only a person may do this: on a terminal, or with the approver key in --key FILE.
`,
		Flags:    []cli.Flag{clientFlag(&o.Client)},
		Examples: []app.Example{{Line: "kx policy uninstall --client claude"}},
		Exits:    []app.Exit{{Status: fail.ExitDenied, Means: "nobody confirmed it"}, {Status: fail.ExitNotFound, Means: "it is not installed"}},
		Complete: map[string]app.Completer{"client": app.Values(client.Names()...)},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

// maxSettings is larger than settings get.
const maxSettings = 8 << 20

// settings is the file of a client as it is.
type settings struct {
	client.Settings
	*client.Client
	real string // where Path leads
	data []byte // nil if it is not there
	perm os.FileMode
}

func readSettings(s *site.Site, name string, getenv func(string) string) (*settings, error) {
	c, err := client.Of(name)
	if err != nil {
		return nil, err
	}
	d, err := s.Dirs()
	if err != nil {
		return nil, err
	}
	f := &settings{Settings: c.Settings(d.Home, getenv), Client: c, perm: 0o600}
	f.real = f.Path
	if real, err := filepath.EvalSymlinks(f.Path); err == nil {
		f.real = real
	}
	data, fi, err := fsx.ReadRegular(f.real, maxSettings)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, fail.Usage("%s can't be read: %v", f.Path, fsx.Reason(err)).WithHint("ls -l %s", f.Path).Because(err)
	}
	f.data, f.perm = data, fi.Mode().Perm()
	return f, nil
}

// ours returns the entries of kx.
func (f *settings) ours() (list []json.RawMessage, err error) {
	all, err := jsonedit.List(f.data, f.Keys)
	if err != nil {
		return nil, f.bad(err)
	}
	for _, raw := range all {
		if f.IsOurs(raw) {
			list = append(list, raw)
		}
	}
	return list, nil
}

func (f *settings) bad(err error) error {
	return fail.Usage("%s can't be changed: %v", f.Path, err).WithHint("mend it, or add the hook by hand: man kx-policy-install")
}

// argv is how the client has to run kx.
func (o *InstallOptions) argv(c *client.Client) ([]string, time.Duration, error) {
	how, err := c.Asked(o.OnAsk)
	if err != nil {
		return nil, 0, err
	}
	self, err := o.Self()
	if err != nil {
		return nil, 0, err
	}
	d, err := o.Site.Dirs()
	if err != nil {
		return nil, 0, err
	}
	argv := []string{self, "--ignore-env", "--config-dir", d.Config, "--state-dir", d.State, "policy", "hook", "--client", c.Name}
	if o.OnAsk != "" {
		argv = append(argv, "--on-ask", how)
	}
	if how != client.Wait {
		return argv, 0, nil
	}
	if o.Wait <= 0 {
		return nil, 0, fail.Usage("--wait %s: expected a duration above 0", o.Wait)
	}
	if o.Wait != hookWait {
		argv = append(argv, "--wait", o.Wait.String())
	}
	return argv, o.Wait, nil
}

func install(ctx context.Context, o *InstallOptions) error {
	f, err := readSettings(o.Site, o.Client, o.App.Getenv)
	if err != nil {
		return err
	}
	argv, wait, err := o.argv(f.Client)
	if err != nil {
		return err
	}
	have, err := f.ours()
	if err != nil {
		return err
	}
	entry := f.Entry(argv, wait)
	want, err := wire.Marshal(entry)
	if err != nil {
		return err
	}
	if len(have) == 1 && same(have[0], want) {
		return o.done(f, "unchanged", "")
	}
	text, err := jsonedit.Remove(f.data, f.Keys, f.IsOurs)
	if err == nil {
		text, err = jsonedit.Add(text, f.Keys, entry)
	}
	if err != nil {
		return f.bad(err)
	}
	return o.write(ctx, f, "install", "installed", text)
}

// same reports whether an entry is the wanted one, however it is laid out.
func same(have, want json.RawMessage) bool {
	var b bytes.Buffer
	return json.Compact(&b, have) == nil && bytes.Equal(b.Bytes(), want)
}

func uninstall(ctx context.Context, o *InstallOptions) error {
	f, err := readSettings(o.Site, o.Client, o.App.Getenv)
	if err != nil {
		return err
	}
	have, err := f.ours()
	switch {
	case err != nil:
		return err
	case len(have) == 0:
		return fail.NotFound("not_installed", "%s has no hook of kx", f.Path).WithHint("kx policy install --client %s", f.Name)
	}
	text, err := jsonedit.Remove(f.data, f.Keys, f.IsOurs)
	if err != nil {
		return f.bad(err)
	}
	return o.write(ctx, f, "uninstall", "removed", text)
}

// write shows the change, asks a person, puts it on record and makes it.
func (o *InstallOptions) write(ctx context.Context, f *settings, verb, state string, text []byte) error {
	_, d, _ := bytes.Cut(diff.Diff(f.Path, f.data, f.Path, text), []byte("\n"))
	o.App.Note("%s", out.Block(string(d)))
	by, err := o.Human(ctx, "kx policy "+verb+" --client "+f.Name, "Write it?")
	if err != nil {
		return err
	}
	now, _, err := fsx.ReadRegular(f.real, maxSettings)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(now, f.data) {
		return fail.Conflict("settings_changed", "%s was changed meanwhile", f.Path).WithHint("kx policy %s --client %s", verb, f.Name)
	}
	st, err := o.Site.State()
	if err != nil {
		return err
	}
	if _, err := audit.New(st, o.App.Now).Append(audit.PolicyChange{
		Type: audit.TypePolicyChange, V: wire.Version, Action: verb, Scope: "client " + f.Name, Path: f.Path, DecidedBy: by,
	}, true); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.real), 0o700); err != nil {
		return fail.Failed("not_written", "%s can't be made: %v", filepath.Dir(f.real), fsx.Reason(err)).Because(err)
	}
	if err := fsx.WriteFile(f.real, text, f.perm); err != nil {
		return fail.Failed("not_written", "%s can't be written: %v", f.Path, fsx.Reason(err)).Because(err)
	}
	return o.done(f, state, string(d))
}

func (o *InstallOptions) done(f *settings, state, change string) error {
	doc := InstallDoc{Type: "client", V: wire.Version, Client: f.Name, Path: f.Path, State: state, Diff: change}
	return o.App.Printer().Record(doc, func(t *out.Text) {
		t.Printf("%s  %s\n", f.Path, state)
		if state == "removed" {
			return
		}
		if f.Name == "codex" {
			t.Printf("Codex runs it once you trust it: start codex and type /hooks\n")
		}
		t.Printf("Now prove it: kx policy doctor --client %s\n", f.Name)
	})
}
