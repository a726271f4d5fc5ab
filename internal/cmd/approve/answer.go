package approve

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/base/out"
	"github.com/kxtools/kx/internal/cmd/app"
	"github.com/kxtools/kx/internal/cmd/site"
	"github.com/kxtools/kx/internal/record/approval"
	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// AnswerOptions of kx approve answer.
type AnswerOptions struct {
	App     *app.App
	Open    func() (*approval.Store, error)
	Human   func(ctx context.Context, line, question string) (wire.Decider, error)
	Connect func(ctx context.Context, key string) (*approve.Client, error)

	ID      string
	Options []string
	Texts   []string
	Note    string
}

// NewAnswer returns the command; a nil run is the real one.
func NewAnswer(a *app.App, run func(context.Context, *AnswerOptions) error) *app.Command {
	s := site.Of(a)
	o := &AnswerOptions{App: a, Open: func() (*approval.Store, error) { return open(a) }, Human: s.Human, Connect: s.Approve}
	var options, texts cli.StringSlice
	if run == nil {
		run = answer
	}
	return &app.Command{
		Name:  "answer",
		Usage: "answer a question of an agent",
		What: `
Answers a request of kind question. An option is named by its number or its label; where there are several questions, the number of the question and = stand before it. A question may also be answered in words, with --text, beside an option or alone. To decline, deny the request.

Only a person may do this: on a terminal, or with the approver key in --key FILE. The first answer wins and is final.
`,
		Args: "ID",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "option", Usage: "choose `OPTION`: 2, a label, or 1=2 for the first of several questions; may be repeated", Destination: &options},
			&cli.StringSliceFlag{Name: "text", Usage: "answer in words: `TEXT`, or 1=TEXT for the first of several questions", Destination: &texts},
			&cli.StringFlag{Name: "note", Usage: "add `TEXT`", Destination: &o.Note},
		},
		Examples: []app.Example{
			{Line: "kx approve answer 7k2q --option 2"},
			{Line: `kx approve answer 7k2q --option 1=PostgreSQL --option 2=1 --text "2=but only on staging"`, Does: "two questions"},
		},
		Exits:    []app.Exit{{Status: 3, Means: "nobody confirmed it"}, {Status: 5}, {Status: 7, Means: "it is answered or expired already"}, {Status: 8}},
		Complete: map[string]app.Completer{"": ids(a)},
		Run: func(ctx context.Context, args []string) error {
			o.ID, o.Options, o.Texts = args[0], options.Value(), texts.Value()
			return run(ctx, o)
		},
	}
}

func answer(ctx context.Context, o *AnswerOptions) error {
	store, err := o.Open()
	if err != nil {
		return err
	}
	a, err := store.Get(o.ID)
	if err != nil {
		return err
	}
	if a.Kind != approval.KindQuestion {
		return fail.New("question_request_mismatch", fail.ExitUsage, "request %s is no question", a.ID).WithHint("kx approve allow %s", a.ID)
	}
	answers, err := answersOf(a.Questions, o.Options, o.Texts)
	if err != nil {
		return err
	}
	if err := approval.CheckAnswers(a.Questions, answers); err != nil {
		return err
	}
	if _, err := o.Human(ctx, "kx approve answer "+a.ID, said(a.Questions, answers)); err != nil {
		return err
	}
	c, err := o.Connect(ctx, "approver")
	if err != nil {
		return err
	}
	defer c.Close()
	id := a.ID
	if a, err = c.Reply(ctx, id, answers, o.Note); err != nil {
		return lost(err, "kx approve show %s", id)
	}
	return print(o.App, a)
}

// said repeats answers before they are final.
func said(questions []wire.Question, answers []wire.QuestionAnswer) string {
	var parts []string
	for i, q := range questions {
		var words []string
		for _, o := range q.Options {
			if slices.Contains(answers[i].SelectedOptionIDs, o.ID) {
				words = append(words, o.Label)
			}
		}
		if answers[i].FreeformAnswer != "" {
			words = append(words, answers[i].FreeformAnswer)
		}
		parts = append(parts, q.Question+" "+strings.Join(words, ", "))
	}
	return out.Sprintf("answer: %s?", strings.Join(parts, " · "))
}

// answersOf reads what the flags say to which question.
func answersOf(questions []wire.Question, options, texts []string) ([]wire.QuestionAnswer, error) {
	byQuestion := make([]wire.QuestionAnswer, len(questions))
	given := make([]bool, len(questions))
	for _, flag := range options {
		i, value, err := which(questions, flag)
		if err != nil {
			return nil, err
		}
		j := slices.IndexFunc(questions[i].Options, func(opt wire.Option) bool { return strings.EqualFold(opt.Label, value) })
		if n, err := strconv.Atoi(value); j < 0 && err == nil {
			j = n - 1
		}
		if j < 0 || j >= len(questions[i].Options) {
			return nil, fail.New("question_option_not_found", fail.ExitUsage, "question %d has no option %q", i+1, value)
		}
		given[i] = true
		byQuestion[i].SelectedOptionIDs = append(byQuestion[i].SelectedOptionIDs, questions[i].Options[j].ID)
	}
	for _, flag := range texts {
		i, value, err := which(questions, flag)
		if err != nil {
			return nil, err
		}
		given[i], byQuestion[i].FreeformAnswer = true, value
	}
	answers := []wire.QuestionAnswer{}
	for i, q := range questions {
		if given[i] {
			byQuestion[i].QuestionID = q.ID
			if byQuestion[i].SelectedOptionIDs == nil {
				byQuestion[i].SelectedOptionIDs = []string{}
			}
			answers = append(answers, byQuestion[i])
		}
	}
	return answers, nil
}

// which returns the question that a flag speaks of.
func which(questions []wire.Question, flag string) (int, string, error) {
	if n, value, ok := strings.Cut(flag, "="); ok {
		if i, err := strconv.Atoi(n); err == nil {
			if i < 1 || i > len(questions) {
				return 0, "", fail.New("question_unknown_answer", fail.ExitUsage, "there is no question %d", i)
			}
			return i - 1, value, nil
		}
	}
	if len(questions) > 1 {
		return 0, "", fail.Usage("there are %d questions; write 1=%s for the first", len(questions), flag)
	}
	return 0, flag, nil
}
