package plain

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/approve/revise"
	"github.com/kxtools/kx/internal/cmd/approve/sheet"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// choice is something to do with a request.
type choice struct {
	key, word string
	once      bool // also where an answer for longer is impossible
	do        func(d *desk, ctx context.Context, a *wire.Approval) error
}

var choices = []choice{
	{"o", "once", true, func(d *desk, ctx context.Context, a *wire.Approval) error {
		return d.allow(ctx, a, approve.Answer{Scope: approval.Once})
	}},
	{"s", "session", false, func(d *desk, ctx context.Context, a *wire.Approval) error {
		return d.allow(ctx, a, approve.Answer{Scope: approval.Session})
	}},
	{"A", "always", false, (*desk).always},
	{"d", "deny", true, func(d *desk, ctx context.Context, a *wire.Approval) error { return d.deny(ctx, a, "") }},
	{"n", "note", true, (*desk).note},
	{"e", "edit", true, (*desk).edit},
	{"x", "next", true, func(d *desk, _ context.Context, _ *wire.Approval) error { d.skip(); return errDone }},
	{"q", "quit", true, func(*desk, context.Context, *wire.Approval) error { return errQuit }},
}

// The invitations name the keys of choices.
const (
	invite     = "allow (o)nce, (s)ession, (A)lways, (d)eny, (n)ote and deny, (e)dit, ne(x)t, (q)uit?"
	inviteOnce = "allow (o)nce, (d)eny, (n)ote and deny, (e)dit, ne(x)t, (q)uit?"
)

// errDone says that the next request has its turn.
var errDone = errors.New("done")

// decide asks what to do with a request until something is done.
func (d *desk) decide(ctx context.Context, a *wire.Approval) error {
	prompt := invite
	if a.Mandatory {
		prompt = inviteOnce
	}
	for {
		typed, err := d.ask(ctx, a, prompt)
		if err == nil {
			err = d.choose(ctx, a, typed)
		}
		switch {
		case errors.Is(err, errDone), errors.Is(err, errGone):
			return nil
		case err != nil:
			return err
		}
	}
}

func (d *desk) choose(ctx context.Context, a *wire.Approval, typed string) error {
	for _, c := range choices {
		if typed != c.key && !strings.EqualFold(typed, c.word) {
			continue
		}
		if a.Mandatory && !c.once {
			d.say("It can only be allowed once: %s", a.Reason)
			return nil
		}
		return c.do(d, ctx, a)
	}
	switch typed {
	case "":
	case "a":
		d.say("Always is a capital A.")
	default:
		d.say("There is no choice %q: type one of the letters in brackets.", typed)
	}
	return nil
}

// skip gives the next request its turn.
func (d *desk) skip() {
	if len(d.waiting) < 2 {
		d.say("There is no other request.")
	}
	if len(d.waiting) > 0 {
		d.at = (d.at + 1) % len(d.waiting)
	}
}

// allow lets the call run.
func (d *desk) allow(ctx context.Context, a *wire.Approval, ans approve.Answer) error {
	done, err := d.send(ctx, a, func(c *approve.Client) (*wire.Approval, error) { return c.Allow(ctx, a.ID, ans) })
	if err != nil {
		return d.tell(ctx, err)
	}
	how := map[string]string{approval.Once: "once", approval.Session: "for the session", approval.Always: "always"}[done.Scope]
	d.say("Request %s is allowed %s.", a.ID, how)
	return errDone
}

// always shows the rules first.
func (d *desk) always(ctx context.Context, a *wire.Approval) error {
	for _, p := range d.Reader.Read(a).Parts {
		if p.Name == sheet.Rules {
			d.show(&sheet.Sheet{Parts: []sheet.Part{p}})
		}
	}
	typed, err := d.ask(ctx, a, "Add this to your policy.toml and allow it, (y)es or no?")
	switch {
	case err != nil:
		return err
	case typed != "y" && !strings.EqualFold(typed, "yes"):
		d.say("Nothing was added.")
		return nil
	}
	return d.allow(ctx, a, approve.Answer{Scope: approval.Always})
}

// deny refuses the call.
func (d *desk) deny(ctx context.Context, a *wire.Approval, note string) error {
	if _, err := d.send(ctx, a, func(c *approve.Client) (*wire.Approval, error) {
		return c.Deny(ctx, a.ID, approve.Answer{Note: note})
	}); err != nil {
		return d.tell(ctx, err)
	}
	d.say("Request %s is denied.", a.ID)
	return errDone
}

// note denies with words for the model.
func (d *desk) note(ctx context.Context, a *wire.Approval) error {
	text, err := d.ask(ctx, a, "Why? The model hears it; an empty line goes back:")
	if err != nil || text == "" {
		return err
	}
	return d.deny(ctx, a, text)
}

// edit allows something else in the place of the call.
func (d *desk) edit(ctx context.Context, a *wire.Approval) error {
	if err := sheet.Editable(a); err != nil {
		return d.tell(ctx, err)
	}
	what := "The input as JSON, in one line; an empty line goes back:"
	if a.Tool == "bash" {
		what = "The command, in one line; an empty line goes back:"
	}
	text, err := d.ask(ctx, a, what)
	if err != nil || text == "" {
		return err
	}
	input, changed, err := revise.Input(a, []byte(text))
	switch {
	case err != nil:
		return d.tell(ctx, err)
	case !changed:
		d.say("The input is as it was.")
		return nil
	}
	edited, verdict, err := d.Reader.Edit(a, input)
	if err != nil {
		return d.tell(ctx, err)
	}
	d.say("Request %s with another input:", a.ID)
	d.show(d.Reader.Read(edited))
	if verdict == wire.Deny {
		d.say("It would be denied: the input is as it was.")
		return nil
	}
	text, err = d.ask(ctx, a, "Allow it once with this input, (y)es or no?")
	switch {
	case err != nil:
		return err
	case text != "y" && !strings.EqualFold(text, "yes"):
		d.say("The input is as it was.")
		return nil
	}
	return d.allow(ctx, a, approve.Answer{Scope: approval.Once, Input: edited.Input})
}

// questions asks them one after the other, and sends the answers together.
func (d *desk) questions(ctx context.Context, a *wire.Approval) error {
	var answers []wire.QuestionAnswer
	for i := 0; i < len(a.Questions); {
		q := &a.Questions[i]
		prompt := out.Sprintf("%s\nA number, or an answer in words; ne(x)t, (q)uit?", q.Question)
		if q.MultiSelect {
			prompt = out.Sprintf("%s\nNumbers with spaces between, or an answer in words; ne(x)t, (q)uit?", q.Question)
		}
		typed, err := d.ask(ctx, a, prompt)
		switch {
		case errors.Is(err, errGone):
			return nil
		case err != nil:
			return err
		case typed == "x":
			d.skip()
			return nil
		case typed == "q":
			return errQuit
		case typed == "":
			continue
		}
		ans, why := answer(q, typed)
		if why != "" {
			d.say("%s", why)
			continue
		}
		answers = append(answers, ans)
		i++
	}
	given := *a
	given.Answers = answers
	d.show(&sheet.Sheet{Parts: d.Reader.Outcome(&given).Parts[1:]}) // the first is where it comes from
	typed, err := d.ask(ctx, a, "Send these answers, (y)es or no?")
	switch {
	case errors.Is(err, errGone):
		return nil
	case err != nil:
		return err
	case typed != "y" && !strings.EqualFold(typed, "yes"):
		return nil // it has its turn again
	}
	if _, err := d.send(ctx, a, func(c *approve.Client) (*wire.Approval, error) { return c.Reply(ctx, a.ID, answers, "") }); err != nil {
		return d.tell(ctx, err)
	}
	d.say("Request %s is answered.", a.ID)
	return nil
}

// answer reads a line: numbers of options if it is nothing else, or words. It says
// why it is no answer.
func answer(q *wire.Question, typed string) (ans wire.QuestionAnswer, why string) {
	ans = wire.QuestionAnswer{QuestionID: q.ID, SelectedOptionIDs: []string{}}
	for _, word := range strings.FieldsFunc(typed, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return wire.QuestionAnswer{QuestionID: q.ID, SelectedOptionIDs: []string{}, FreeformAnswer: typed}, ""
		}
		if n < 1 || n > len(q.Options) {
			return ans, out.Sprintf("There is no option %d.", n)
		}
		ans.SelectedOptionIDs = append(ans.SelectedOptionIDs, q.Options[n-1].ID)
	}
	if len(ans.SelectedOptionIDs) > 1 && !q.MultiSelect {
		return ans, "This question takes one option."
	}
	return ans, ""
}
