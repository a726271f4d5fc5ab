package human

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
)

func get(t *testing.T, d Deps, name string) *tool.Tool {
	t.Helper()
	reg, err := tool.NewRegistry(Tools(d))
	if err != nil {
		t.Fatal(err)
	}
	return reg.Get(name)
}

func TestAsk(t *testing.T) {
	in := json.RawMessage(`{"questions":[{"question":"Which?","options":[{"label":"A","description":"the first"},{"label":"B"}],"multi_select":true}]}`)
	qs, err := get(t, Deps{}, "ask_user_question").Ask(in)
	if err != nil || len(qs) != 1 || qs[0].ID != "q1" || !qs[0].MultiSelect || qs[0].Options[1].ID != "o2" || qs[0].Options[0].Description != "the first" {
		t.Errorf("got %+v, %v", qs, err)
	}
	if _, err := ask("ask_operator")(json.RawMessage(`{"questions":[{"question":"?","options":[{"label":"A"},{"label":" a"}]}]}`)); fail.Exit(err) != fail.ExitUsage {
		t.Errorf("two options of one name: %v", err)
	}
	for _, bad := range []string{`{"questions":[]}`, `{"questions":[{"question":"?","options":[{"label":"A"}]}]}`, `{}`} {
		if _, err := get(t, Deps{}, "ask_user_question").Check(json.RawMessage(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestAskOperator(t *testing.T) {
	if off := get(t, Deps{}, "ask_operator").Off; off == "" {
		t.Error("it is on where nobody switched it on")
	}
	if off := get(t, Deps{Operator: true}, "ask_operator").Off; off != "" {
		t.Errorf("it is off: %s", off)
	}
}

func TestNotify(t *testing.T) {
	var told []string
	d := Deps{Notify: func(s string) error { told = append(told, s); return nil }}
	run := func(d Deps, message string) error {
		in, _ := json.Marshal(map[string]string{"message": message})
		_, err := get(t, d, "notify_operator").Run(context.Background(), &tool.Env{}, in)
		return err
	}
	if err := run(d, "the build is done; the token bucket is full"); err != nil || len(told) != 1 {
		t.Errorf("got %v, %q", err, told)
	}
	for _, s := range []string{
		"password: hunter22", "API_KEY=abcdef123456", "-----BEGIN OPENSSH PRIVATE KEY-----", "AKIAABCDEFGHIJKLMNOP",
		"ghp_" + strings.Repeat("a", 36), "Authorization: Bearer abcdefghijklmnop", "https://user:pw@example.org/x", "sk-" + strings.Repeat("x", 20),
	} {
		if err := run(d, s); fail.Exit(err) != fail.ExitDenied {
			t.Errorf("%q: %v", s, err)
		}
	}
	if len(told) != 1 {
		t.Errorf("told %q", told)
	}
	if err := run(Deps{}, "x"); err != nil {
		t.Error(err)
	}
	if err := run(Deps{Notify: func(string) error { return errors.New("no") }}, "x"); fail.Exit(err) != fail.ExitFailed {
		t.Errorf("got %v", err)
	}
}
