// Package human holds the tools by which an agent reaches a person on purpose:
// questions that wait for an answer, and a word to the operator that does not.
// A question runs nothing; the gate parks it like a call that needs approval.
package human

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/wire"
)

// Deps are what the tools reach people with.
type Deps struct {
	Operator bool                    // the session lets its agent ask the operator
	Notify   func(text string) error // tells the operator and returns at once; nil if there is no way
}

//go:embed ask_user_question.md
var askUserText string

//go:embed ask_operator.md
var askOperatorText string

//go:embed notify_operator.md
var notifyText string

// Tools returns the family.
func Tools(d Deps) []tool.Tool {
	questions, off := json.RawMessage(questionSchema), ""
	if !d.Operator {
		off = "[approve] operator is not set in config.toml"
	}
	return []tool.Tool{
		{Spec: tool.Spec{Name: "ask_user_question", Family: "human", Description: askUserText, Schema: questions, Timeout: quick, Serial: true}, Ask: ask("ask_user_question")},
		{Spec: tool.Spec{Name: "ask_operator", Family: "human", Description: askOperatorText, Schema: questions, Timeout: quick, Serial: true, Off: off}, Ask: ask("ask_operator")},
		{Spec: tool.Spec{Name: "notify_operator", Family: "human", Description: notifyText, Schema: json.RawMessage(notifySchema), Timeout: quick}, Run: d.notify},
	}
}

// quick is the time of tools that do nothing but write a file or start a program.
const quick = 10 * time.Second

const questionSchema = `{"type":"object","additionalProperties":false,"required":["questions"],"properties":{
"questions":{"type":"array","minItems":1,"maxItems":4,"items":{"type":"object","additionalProperties":false,"required":["question","options"],"properties":{
 "question":{"type":"string","minLength":1,"maxLength":2000},
 "options":{"type":"array","minItems":2,"maxItems":4,"items":{"type":"object","additionalProperties":false,"required":["label"],"properties":{
  "label":{"type":"string","minLength":1,"maxLength":200},
  "description":{"type":"string","maxLength":1000}}}},
 "multi_select":{"type":"boolean","description":"several options may be chosen"}}}}}}`

// ask gives the questions of a tool their ids.
func ask(name string) func(json.RawMessage) ([]wire.Question, error) {
	return func(input json.RawMessage) ([]wire.Question, error) {
		var in struct {
			Questions []struct {
				Question string `json:"question"`
				Options  []struct {
					Label       string `json:"label"`
					Description string `json:"description"`
				} `json:"options"`
				MultiSelect bool `json:"multi_select"`
			} `json:"questions"`
		}
		if err := tool.Decode(name, input, &in); err != nil {
			return nil, err
		}
		var list []wire.Question
		for i, q := range in.Questions {
			out := wire.Question{ID: fmt.Sprintf("q%d", i+1), Question: q.Question, MultiSelect: q.MultiSelect}
			seen := map[string]bool{}
			for j, o := range q.Options {
				if key := strings.ToLower(strings.TrimSpace(o.Label)); seen[key] {
					return nil, fail.Usage("question %d has the option %q twice", i+1, o.Label)
				} else {
					seen[key] = true
				}
				out.Options = append(out.Options, wire.Option{ID: fmt.Sprintf("o%d", j+1), Label: o.Label, Description: o.Description})
			}
			list = append(list, out)
		}
		return list, nil
	}
}

const notifySchema = `{"type":"object","additionalProperties":false,"required":["message"],"properties":{
"message":{"type":"string","minLength":1,"maxLength":4000,"description":"what the operator shall know; no secrets"}}}`

func (d Deps) notify(_ context.Context, _ *tool.Env, input json.RawMessage) (wire.Output, error) {
	var in struct {
		Message string `json:"message"`
	}
	if err := tool.Decode("notify_operator", input, &in); err != nil {
		return nil, err
	}
	if secret().MatchString(in.Message) {
		return nil, fail.Denied("looks_secret", "the message looks as if it holds a secret; say it without")
	}
	if d.Notify == nil {
		return wire.Output{"text": "noted; there is no command that tells the operator, so it stands in the record only", "delivered": false}, nil
	}
	if err := d.Notify(in.Message); err != nil {
		return nil, fail.Failed("notify", "the operator could not be told: %v", err).Because(err)
	}
	return wire.Output{"text": "sent", "delivered": true}, nil
}

// secret matches what looks like a key, a token or a password. It is better to
// refuse a harmless message than to send a harmful one.
var secret = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)-----BEGIN [A-Z ]*PRIVATE KEY|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}|\bsk-[A-Za-z0-9_-]{16,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bAIza[0-9A-Za-z_-]{30,}|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.|\b(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|authorization|bearer)\b\s*[:=]\s*\S{6,}|\bbearer\s+[A-Za-z0-9._-]{16,}|://[^/\s:@]+:[^/\s@]+@`)
})
