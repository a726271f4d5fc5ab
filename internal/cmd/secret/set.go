package secret

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/secret"
	"github.com/kxtools/kx/pkg/wire"
)

// SetOptions of kx secret set.
type SetOptions struct {
	App    *app.App
	Store  func(context.Context) (*secret.Store, error)
	Human  func(ctx context.Context, line, question string) (wire.Decider, error)
	Person func(line string) (wire.Decider, error)
	Types  func(ctx context.Context, question string) (string, error)

	Slot       string
	FromEnv    string
	FromCmd    string
	Passphrase bool
}

// NewSet returns the command; a nil run is the real one.
func NewSet(a *app.App, run func(context.Context, *SetOptions) error) *app.Command {
	s := site.Of(a)
	o := &SetOptions{App: a, Store: s.Secrets, Human: s.Human, Person: s.Person, Types: s.Types}
	if run == nil {
		run = set
	}
	return &app.Command{
		Name:  "set",
		Usage: "put a value into a slot",
		What: `
Puts a value into a slot, or another one in place of the one it has. The value comes from the standard input, whole but for a final line end, when that is not a terminal; else it is asked for and not shown. --from-env takes a variable of your environment. --from-cmd takes the first line that a command prints, which is where password managers have the password; the command runs in your shell's environment, outside the sandbox. No flag takes a value: others can read command lines.

A value is text of at most 64 KiB. One with fewer than 8 characters works, but kx can't tell it from other text, and so does not take it out of what it prints. Of a value of several lines, each long one counts by itself.

--passphrase, without a slot, puts all secrets behind a passphrase, changes it, or takes it away if the new one is empty. It is asked for on the terminal whenever a model or a server needs a secret; without a terminal these fail. A kx that was not given it does not know the values, so it does not take them out of what it prints or records.

Only a person may do this: on a terminal, or with the approver key in --key FILE.
`,
		Args: "[SLOT]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from-env", Usage: "take the value of the variable `VAR`", Destination: &o.FromEnv},
			&cli.StringFlag{Name: "from-cmd", Usage: "take the first line that `CMD` prints; sh runs it", Destination: &o.FromCmd},
			&cli.BoolFlag{Name: "passphrase", Usage: "put all secrets behind a passphrase", Destination: &o.Passphrase},
		},
		Examples: []app.Example{
			{Line: "kx secret set model.anthropic.work"},
			{Line: "kx secret set model.openai.default --from-cmd 'pass show openai'"},
			{Line: `kx secret set mcp.custom.github.TOKEN --key "$(kx config path approver-key)" < token.txt`, Does: "in a script of a person's"},
		},
		Exits: []app.Exit{
			{Status: fail.ExitFailed, Means: "the command of --from-cmd failed"},
			{Status: fail.ExitDenied, Means: "nobody confirmed it, or the passphrase is wrong"},
			{Status: fail.ExitUnavailable, Means: "the secrets are behind a passphrase, and there is no terminal"},
			{Status: fail.ExitLimit, Means: "the value is too long"},
		},
		Complete: map[string]app.Completer{"": slots(a)},
		Run: func(ctx context.Context, args []string) error {
			o.Slot = strings.Join(args, "")
			if err := o.check(); err != nil {
				return err
			}
			return run(ctx, o)
		},
	}
}

// slots completes the slots that there are.
func slots(a *app.App) app.Completer {
	return func(context.Context, string) []app.Proposal {
		st, err := site.Of(a).Peek()
		if err != nil {
			return nil
		}
		var list []app.Proposal
		all, _ := secret.New(st).List() // on trouble, none
		for _, in := range all {
			list = append(list, app.Proposal{Value: in.Slot, Help: in.State})
		}
		return list
	}
}

func (o *SetOptions) check() error {
	given := 0
	for _, is := range []bool{o.FromEnv != "", o.FromCmd != "", o.Passphrase} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return fail.Usage("--from-env, --from-cmd and --passphrase don't go together").WithHint("kx secret set --help")
	case o.Passphrase && o.Slot != "":
		return fail.Usage("--passphrase is for all secrets, so it takes no slot").WithHint("kx secret set --passphrase")
	case o.Passphrase:
		return nil
	}
	return secret.Check(o.Slot)
}

func set(ctx context.Context, o *SetOptions) error {
	store, err := o.Store(ctx)
	if err != nil {
		return err
	}
	if o.Passphrase {
		return protect(ctx, o, store)
	}
	in, err := store.Info(o.Slot)
	if err != nil && fail.Exit(err) != fail.ExitNotFound {
		return err
	}
	by, value, err := o.value(ctx, in.State == secret.Set)
	if err != nil {
		return err
	}
	if err := secret.CheckValue(value); err != nil {
		return err
	}
	// What can't be encrypted is not on record as set.
	if err := store.Unlock(); err != nil {
		return err
	}
	if err := record(o.App, "set", o.Slot, by); err != nil {
		return err
	}
	if err := store.Set(o.Slot, value); err != nil {
		return err
	}
	if utf8.RuneCountInString(value) < redact.MinChars {
		o.App.Note("it has fewer than %d characters, so kx can't tell it from other text and does not hide it", redact.MinChars)
	}
	if in, err = store.Info(o.Slot); err != nil {
		return err
	}
	return show(o.App, in)
}

// value lets a person say yes, and gets the value from where it is.
func (o *SetOptions) value(ctx context.Context, replaces bool) (by wire.Decider, value string, err error) {
	line := "kx secret set " + o.Slot
	question := out.Sprintf("Set %s?", o.Slot)
	if replaces {
		question = out.Sprintf("Replace the value of %s?", o.Slot)
	}
	if o.FromEnv == "" && o.FromCmd == "" && o.App.IO.InTTY {
		if by, err = o.Person(line); err == nil {
			value, err = o.Types(ctx, question+" Its value, which is not shown: ")
		}
		if err == nil && value == "" {
			err = fail.Denied("refused", "nothing was typed: nothing was changed")
		}
		if err == nil { // who pastes sees whether all of it came
			o.App.Note("%d characters", utf8.RuneCountInString(value))
		}
		return by, value, err
	}
	if by, err = o.Human(ctx, line, question); err != nil {
		return by, "", err
	}
	switch {
	case o.FromEnv != "":
		value, err = fromEnv(o.App.Getenv, o.FromEnv)
	case o.FromCmd != "":
		value, err = fromCmd(ctx, o.FromCmd, o.App.IO.Err)
	default:
		value, err = fromInput(o.App.IO.Input(ctx))
	}
	return by, value, err
}

// protect puts the identity behind a passphrase.
func protect(ctx context.Context, o *SetOptions, store *secret.Store) error {
	by, err := o.Person("kx secret set --passphrase")
	if err != nil {
		return err
	}
	if err := store.Unlock(); err != nil {
		return err
	}
	passphrase, err := o.Types(ctx, "New passphrase, which is not shown (nothing takes it away): ")
	if err != nil {
		return err
	}
	if err := secret.CheckPassphrase(passphrase); err != nil {
		return err
	}
	again, err := o.Types(ctx, "The same again: ")
	switch {
	case err != nil:
		return err
	case again != passphrase:
		return fail.Denied("refused", "the two are not the same: nothing was changed").WithHint("kx secret set --passphrase")
	}
	if err := record(o.App, "passphrase", "", by); err != nil {
		return err
	}
	if err := store.Protect(passphrase); err != nil {
		return err
	}
	if passphrase == "" {
		o.App.Note("the secrets are behind no passphrase")
	} else {
		o.App.Note("the secrets are behind the passphrase")
	}
	return nil
}
