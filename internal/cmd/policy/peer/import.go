package peer

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/fsx"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/gate/client"
	"github.com/kxtools/kx/internal/gate/client/translate"
	"github.com/kxtools/kx/internal/record/audit"
	"github.com/kxtools/kx/internal/record/config"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/policy/rulefile"
	"github.com/kxtools/kx/pkg/wire"
)

// ImportOptions of kx policy import.
type ImportOptions struct {
	App   *app.App
	Site  *site.Site
	Human func(ctx context.Context, line, question string) (wire.Decider, error)

	From  string
	File  string
	Write bool
}

// ImportDoc is one rule of a client, and what became of it.
type ImportDoc struct {
	Type  string      `json:"type"`
	V     int         `json:"v"`
	File  string      `json:"file"`
	From  string      `json:"from"`
	Rules []wire.Rule `json:"rules"`
	Note  string      `json:"note,omitempty"`
	TOML  string      `json:"toml,omitempty"`
}

// NewImport returns the command; a nil run is the real one.
func NewImport(a *app.App, run func(context.Context, *ImportOptions) error) *app.Command {
	s := site.Of(a)
	o := &ImportOptions{App: a, Site: s, Human: s.Human}
	if run == nil {
		run = importRules
	}
	return &app.Command{
		Name:  "import",
		Usage: "take over the rules of another agent",
		What: `
Reads the rules that the client has for its user, and prints them as rules of policy.toml: the permissions of Claude Code's settings.json, the prefix_rule calls of Codex's rules/*.rules, the policies/*.toml of Gemini CLI. With --file it reads one such file instead. What can't be said in a rule, or would come out wider, is a comment that says why.

A deny becomes final, as it is for these clients. With --write the rules are added to your policy.toml; only a person may do that: on a terminal, or with the approver key in --key FILE.
`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "the `CLIENT`: claude, codex or gemini", Destination: &o.From},
			&cli.StringFlag{Name: "file", Usage: "read `FILE` instead of the client's own", Destination: &o.File},
			&cli.BoolFlag{Name: "write", Usage: "add the rules to policy.toml", Destination: &o.Write},
		},
		Examples: []app.Example{{Line: "kx policy import --from claude -o table"}, {Line: "kx policy import --from claude --file .claude/settings.json --write"}},
		Exits:    []app.Exit{{Status: fail.ExitDenied, Means: "nobody confirmed it"}, {Status: fail.ExitNotFound, Means: "the client has no rules"}},
		Complete: map[string]app.Completer{"from": app.Values(client.Names()...), "file": app.Files},
		Run:      func(ctx context.Context, _ []string) error { return run(ctx, o) },
	}
}

// readers read the rules of a client, from the files of its folder that a pattern
// names.
var readers = map[string]struct {
	pattern string
	read    func([]byte) ([]translate.Item, error)
}{
	"claude": {"settings.json", translate.Claude},
	"codex":  {"rules/*.rules", translate.Codex},
	"gemini": {"policies/*.toml", translate.Gemini},
}

func importRules(ctx context.Context, o *ImportOptions) error {
	docs, rules, err := o.collect()
	if err != nil {
		return err
	}
	if o.Write {
		return o.write(ctx, docs, rules)
	}
	return o.show(docs)
}

// collect reads the files.
func (o *ImportOptions) collect() (docs []ImportDoc, rules []policy.Rule, err error) {
	c, err := client.Of(o.From)
	if err != nil {
		return nil, nil, err
	}
	d, err := o.Site.Dirs()
	if err != nil {
		return nil, nil, err
	}
	r := readers[c.Name]
	pattern := filepath.Join(c.Folder(d.Home, o.App.Getenv), r.pattern)
	files, _ := filepath.Glob(pattern) // the pattern is well formed
	if o.File != "" {
		if pattern, err = o.Site.Path(o.File); err != nil {
			return nil, nil, err
		}
		files = []string{pattern}
	}
	for _, file := range files {
		data, _, err := fsx.ReadRegular(file, maxSettings)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, fail.Usage("%s can't be read: %v", file, fsx.Reason(err)).WithHint("ls -l %s", file).Because(err)
		}
		items, err := r.read(data)
		if err != nil {
			return nil, nil, fail.Usage("%s: %v", file, err)
		}
		for _, it := range items {
			doc := ImportDoc{Type: "import", V: wire.Version, File: file, From: it.From, Rules: []wire.Rule{}, Note: it.Note}
			for i := range it.Rules {
				it.Rules[i].File = file
				doc.Rules = append(doc.Rules, *it.Rules[i].Wire())
				doc.TOML += translate.TOML(&it.Rules[i])
			}
			docs, rules = append(docs, doc), append(rules, it.Rules...)
		}
	}
	if len(docs) == 0 {
		return nil, nil, fail.NotFound("no_rules", "%s has no rules in %s", c.Name, pattern).WithHint("kx policy import --from %s --file FILE", c.Name)
	}
	return docs, rules, nil
}

// show prints the rules; for a person as they stand in policy.toml.
func (o *ImportOptions) show(docs []ImportDoc) error {
	p := o.App.Printer()
	if !p.Format().Data() {
		return p.Text(func(t *out.Text) { t.Printf("%s", out.Block(tomlOf(docs))) })
	}
	return out.List(p, out.Columns[ImportDoc]{}, docs)
}

// tomlOf writes what was read as a piece of policy.toml, with a comment on each.
func tomlOf(docs []ImportDoc) string {
	var b strings.Builder
	file := ""
	for _, d := range docs {
		if d.File != file {
			file = d.File
			b.WriteString(comment("from " + file))
		}
		b.WriteString(comment(d.From))
		if d.Note != "" {
			b.WriteString(comment("  left out: " + d.Note))
		}
		b.WriteString(d.TOML)
	}
	return b.String()
}

// comment is a line that TOML passes over, whatever is in the text.
func comment(text string) string {
	return "# " + strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool { return r < ' ' || r == 0x7f }), " ") + "\n"
}

func (o *ImportOptions) write(ctx context.Context, docs []ImportDoc, rules []policy.Rule) error {
	d, err := o.Site.Dirs()
	if err != nil {
		return err
	}
	old, err := config.ReadPolicy(d.Config, os.Getuid())
	if err != nil {
		return err
	}
	text := append([]byte{}, old...)
	if len(text) > 0 {
		text = append(bytes.TrimRight(text, "\n"), "\n\n"...)
	}
	added := tomlOf(docs)
	text = append(text, added...)
	f, err := rulefile.Parse(text, filepath.Join(d.Config, config.UserPolicy), policy.User)
	if err == nil {
		_, err = policy.Compile(f.Rules)
	}
	if err != nil {
		return fail.Config("%v", err).WithHint("kx config validate").Because(err)
	}
	o.App.Note("%s", out.Block(added))
	by, err := o.Human(ctx, "kx policy import --from "+o.From+" --write", out.Sprintf("Add %d rules to policy.toml?", len(rules)))
	if err != nil {
		return err
	}
	digest := config.Digest(text)
	path, err := config.EditPolicy(d.Config, os.Getuid(), func(now []byte, path string) ([]byte, error) {
		if !bytes.Equal(now, old) {
			return nil, fail.Conflict("changed", "%s changed while it was looked at", path).WithHint("kx policy import --from %s --write", o.From)
		}
		return text, nil
	})
	if err != nil {
		return err
	}
	st, err := o.Site.State()
	if err != nil {
		return err
	}
	log := audit.New(st, o.App.Now)
	for i := range rules {
		if _, err := log.Append(audit.PolicyChange{
			Type: audit.TypePolicyChange, V: wire.Version, Action: "add", Scope: "user", Path: path, Rule: rules[i].Wire(), Digest: digest, DecidedBy: by,
		}, i == len(rules)-1); err != nil {
			return err
		}
	}
	return o.show(docs)
}
