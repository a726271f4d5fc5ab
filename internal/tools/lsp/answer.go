package lsp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/kxtools/kx/internal/base/argv"
	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/wire"
)

// answer is the output of a call, and the error of an answer that is none.
func answer(env *tool.Env, v verb, q wire.CodeQuery, a *wire.CodeAnswer) (wire.Output, error) {
	err := failure(env, v.name, q, a)
	out, convErr := output(a)
	if convErr != nil {
		return nil, convErr
	}
	out["text"] = Text(a, ForModels)
	if err == nil {
		return out, nil
	}
	return out, err
}

// output has the fields of the document.
func output(a *wire.CodeAnswer) (wire.Output, error) {
	raw, err := wire.Marshal(a)
	if err != nil {
		return nil, fail.Failed("bad_answer", "the answer can't be encoded: %v", err)
	}
	out := wire.Output{}
	return out, json.Unmarshal(raw, &out)
}

// Answer is the document in the output of a call, nil if there is none.
func Answer(out wire.Output) *wire.CodeAnswer {
	raw, err := wire.Marshal(out)
	if err != nil {
		return nil
	}
	a := &wire.CodeAnswer{}
	if json.Unmarshal(raw, a) != nil || a.State == "" {
		return nil
	}
	return a
}

// failure is the error that an answer stands for, nil where the question was answered.
func failure(env *tool.Env, verb string, q wire.CodeQuery, a *wire.CodeAnswer) *fail.Error {
	switch a.State {
	case wire.CodePending:
		e := fail.New("pending", fail.ExitTimeout, "pending: %s; ask again, or with a longer wait_ms", reason(a, "the server can't tell yet"))
		e.Hint = a.Hint
		if e.Hint == "" {
			e.Hint = "kx lsp status"
		}
		return e
	case wire.CodeUnavailable:
		e := fail.Unavailable("no_server", "%s", reason(a, "there is no language server for it"))
		e.Hint = a.Hint
		if e.Hint == "" {
			e.Hint = "kx lsp doctor"
		}
		return e
	case wire.CodeAmbiguous:
		e := fail.New("ambiguous", fail.ExitUsage, "%s may be any of %s", meant(q), plural(len(a.Candidates), "place", "places"))
		if len(a.Candidates) > 0 {
			e = e.WithHint("%s", typed(env, verb, a.Candidates[0]))
		}
		return e
	}
	if q.Symbol != "" && a.Total == 0 && len(a.Candidates) > 0 {
		c := a.Candidates[0]
		return fail.NotFound("no_such_symbol", "nothing here is called %.80q; did you mean %s?", q.Symbol, c.Name).
			WithHint("%s", typed(env, verb, c))
	}
	return nil
}

func reason(a *wire.CodeAnswer, byDefault string) string {
	if a.Reason != "" {
		return a.Reason
	}
	return byDefault
}

// meant is what a question that was ambiguous is about.
func meant(q wire.CodeQuery) string {
	name := q.Symbol
	if name == "" {
		name = q.Name
	}
	return fmt.Sprintf("%.80q", name)
}

// typed is the question of a place, as it is typed in the folder of the call.
func typed(env *tool.Env, verb string, c wire.CodeLocation) string {
	path := fromCwd(env, absolute(env, c.Path))
	if strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.HasPrefix(path, "-") {
		return "kx lsp " + verb + " --help"
	}
	line := fmt.Sprintf("kx lsp %s %s", verb, argv.Quote(fmt.Sprintf("%s:%d:%d", path, c.Line, c.Column)))
	if verb == "rename" {
		line += " NEW --dry-run"
	}
	return line
}
