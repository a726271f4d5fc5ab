package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/paths"
	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/client"
	"github.com/kxtools/kx/pkg/wire"
)

// DoctorOptions of kx policy doctor.
type DoctorOptions struct {
	App    *app.App
	Site   *site.Site
	Client string
}

// DoctorRow is the finding of one check.
type DoctorRow struct {
	Type   string `json:"type"`
	V      int    `json:"v"`
	Check  string `json:"check"`
	State  string `json:"state"` // ok, warn or broken
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

// NewDoctor returns the command; a nil run is the real one.
func NewDoctor(a *app.App, run func(context.Context, *DoctorOptions) error) *app.Command {
	o := &DoctorOptions{App: a, Site: site.Of(a)}
	if run == nil {
		run = doctor
	}
	return &app.Command{
		Name:  "doctor",
		Usage: "prove that another agent's hook fires",
		What: `
Looks for the entry of kx in the settings of the client, runs it as the client would, with a call that no policy allows and with something that is no record, and checks that the client would take both answers for a no. Nothing that the record names is run; the probe is in the audit.

Whether the client runs the hook at all is the client's: of Codex it is said whether a trust is on record.
`,
		Flags:    []cli.Flag{clientFlag(&o.Client)},
		Examples: []app.Example{{Line: "kx policy doctor --client claude"}},
		Exits:    []app.Exit{{Status: fail.ExitFailed, Means: "something is broken"}},
		Complete: map[string]app.Completer{"client": app.Values(client.Names()...)},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

func doctor(ctx context.Context, o *DoctorOptions) error {
	f, err := readSettings(o.Site, o.Client, o.App.Getenv)
	if err != nil {
		return err
	}
	rows := o.check(ctx, f)
	err = out.List(o.App.Printer(), out.Columns[DoctorRow]{
		Header: []string{"CHECK", "STATE", "DETAIL", "HINT"},
		Row:    func(r DoctorRow) []string { return []string{r.Check, r.State, r.Detail, r.Hint} },
	}, rows)
	if err == nil && slices.ContainsFunc(rows, func(r DoctorRow) bool { return r.State == broken }) {
		return app.Status(fail.ExitFailed)
	}
	return err
}

const (
	fine   = "ok"
	warn   = "warn"
	broken = "broken"
)

func doctorRow(check, state, detail, hint string) DoctorRow {
	return DoctorRow{"check", wire.Version, check, state, detail, hint}
}

func (o *DoctorOptions) check(ctx context.Context, f *settings) []DoctorRow {
	again := "kx policy install --client " + f.Name
	have, err := f.ours()
	switch {
	case err != nil:
		return []DoctorRow{doctorRow("entry", broken, fail.As(err).Msg, fail.As(err).Hint)}
	case len(have) == 0:
		return []DoctorRow{doctorRow("entry", broken, f.Path+" has no hook of kx", again)}
	}
	rows := []DoctorRow{doctorRow("entry", fine, f.Path, "")}
	if len(have) > 1 {
		rows[0] = doctorRow("entry", warn, fmt.Sprintf("%s has %d hooks of kx", f.Path, len(have)), again)
	}
	if !f.Everywhere(have[0]) {
		rows = append(rows, doctorRow("reach", broken, "it is not asked for every tool, or a failure of it would let the call run", again))
	}
	rows = append(rows, o.probes(ctx, f, have[0])...)
	if f.Name == "codex" {
		rows = append(rows, o.trusted(f))
	}
	return rows
}

// probeTime is what an answer may take: no person is asked.
const probeTime = 20 * time.Second

// probes runs the entry.
func (o *DoctorOptions) probes(ctx context.Context, f *settings, entry json.RawMessage) []DoctorRow {
	again := "kx policy install --client " + f.Name
	dir, err := os.MkdirTemp("", "kx-doctor-")
	if err != nil {
		return []DoctorRow{doctorRow("blocks", broken, err.Error(), "")}
	}
	defer os.RemoveAll(dir)
	record, err := f.Probe(dir)
	if err != nil {
		return []DoctorRow{doctorRow("blocks", broken, err.Error(), "")}
	}
	var rows []DoctorRow
	for _, p := range []struct {
		check string
		input []byte
		what  string
	}{{"blocks", record, "a call that no policy allows"}, {"garbage", []byte("no record"), "what is no record"}} {
		ctx, cancel := context.WithTimeout(ctx, probeTime)
		res, err := proc.Run(ctx, proc.Spec{Argv: f.Line(entry), Dir: dir, Env: paths.Environ(), Stdin: p.input})
		cancel()
		switch {
		case err != nil:
			rows = append(rows, doctorRow(p.check, broken, "the hook can't be run: "+err.Error(), again))
		case f.Blocks(res.ExitCode, res.Stdout, res.Stderr):
			rows = append(rows, doctorRow(p.check, fine, p.what+" is stopped", ""))
		default:
			said := bytes.TrimSpace(append(res.Stdout, res.Stderr...))
			rows = append(rows, doctorRow(p.check, broken, fmt.Sprintf("%s would run: exit status %d, %.120q", p.what, res.ExitCode, said), again))
		}
	}
	return rows
}

// trusted looks for Codex's own record of the hook. What it was of when it was
// trusted, Codex alone can tell.
func (o *DoctorOptions) trusted(f *settings) DoctorRow {
	how := "start codex and type /hooks"
	d, err := o.Site.Dirs()
	if err != nil {
		return doctorRow("trust", broken, err.Error(), "")
	}
	file := filepath.Join(f.Folder(d.Home, o.App.Getenv), "config.toml")
	data, _, err := fsx.ReadRegular(file, maxSettings)
	if err != nil || !strings.Contains(string(data), "trusted_hash") || !strings.Contains(string(data), f.Path+":pre_tool_use:") {
		return doctorRow("trust", warn, "Codex has no trust on record for the hook, and would pass it over", how)
	}
	return doctorRow("trust", fine, "Codex has a trust on record; that it is of this entry shows in Codex alone", "")
}
