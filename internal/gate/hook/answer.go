package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kxtools/kx/internal/base/lines"
	"github.com/kxtools/kx/internal/base/proc"
	"github.com/kxtools/kx/pkg/policy"
	"github.com/kxtools/kx/pkg/wire"
)

// said is the answer of a hook as it is written. Of a key that is not here nobody
// knows what it was meant to change, so it is a failure.
type said struct {
	ContractVersion    *int              `json:"contract_version"`
	Decision           string            `json:"decision"`   // approve or block
	Permission         string            `json:"permission"` // allow, deny or ask
	Reason             string            `json:"reason"`
	ContinueExecution  *bool             `json:"continue_execution"` // false denies
	StopReason         string            `json:"stop_reason"`
	UpdatedPermissions []json.RawMessage `json:"updated_permissions"`
}

// update is a rule that a hook wants to hold from now on.
type update struct {
	Scope string     `json:"scope"`
	Rule  updateRule `json:"rule"`
}

type updateRule struct {
	Tool     string            `json:"tool"`
	Effect   string            `json:"effect"`
	Command  string            `json:"command"`
	Path     string            `json:"path"`
	URL      string            `json:"url"`
	Input    map[string]string `json:"input"`
	Decision wire.Verdict      `json:"decision"`
	Reason   string            `json:"reason"`
}

// answer is what a hook says, understood.
type answer struct {
	verdict wire.Verdict // "" if it has no opinion
	reason  string
	rules   []wire.Rule
}

// parse reads an answer. An empty one is no opinion.
func parse(raw []byte) (*answer, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return &answer{}, nil
	}
	var s said
	if err := strict(raw, &s); err != nil {
		return nil, fmt.Errorf("its answer is not understood: %w", err)
	}
	if s.ContractVersion != nil && *s.ContractVersion != ContractVersion {
		return nil, fmt.Errorf("its answer is of contract_version %d, known is %d", *s.ContractVersion, ContractVersion)
	}
	a := &answer{reason: s.Reason}
	for _, w := range []struct {
		word  string
		means map[string]wire.Verdict
		key   string
	}{
		{s.Decision, map[string]wire.Verdict{"": "", "approve": wire.Allow, "block": wire.Deny}, "decision"},
		{s.Permission, map[string]wire.Verdict{"": "", "allow": wire.Allow, "ask": wire.Ask, "deny": wire.Deny}, "permission"},
	} {
		v, ok := w.means[w.word]
		if !ok {
			return nil, fmt.Errorf("its answer is not understood: %s %.40q", w.key, w.word)
		}
		if v != "" && (a.verdict == "" || v.Worse(a.verdict)) {
			a.verdict = v
		}
	}
	if s.ContinueExecution != nil && !*s.ContinueExecution {
		a.verdict = wire.Deny
		if s.StopReason != "" {
			a.reason = s.StopReason
		}
	}
	for _, u := range s.UpdatedPermissions {
		r, err := rule(u)
		if err != nil {
			return nil, fmt.Errorf("an update of permissions is refused: %w", err)
		}
		a.rules = append(a.rules, r)
	}
	return a, nil
}

// rule reads an update. A hook gives rules to the session, and to nothing that lasts
// longer.
func rule(raw []byte) (wire.Rule, error) {
	var u update
	if err := strict(raw, &u); err != nil {
		return wire.Rule{}, err
	}
	if u.Scope != "session" {
		return wire.Rule{}, fmt.Errorf("scope %.40q: a hook changes the session alone; what lasts stands in policy.toml", u.Scope)
	}
	r := policy.Rule{
		Tool: u.Rule.Tool, Effect: u.Rule.Effect, Command: u.Rule.Command, Path: u.Rule.Path, URL: u.Rule.URL, Input: u.Rule.Input,
		Decision: u.Rule.Decision, Reason: u.Rule.Reason, Scope: policy.Session, Origin: policy.HookUpdate,
	}
	if u.Rule.Tool == "" {
		return wire.Rule{}, errors.New("the rule names no tool")
	}
	if err := policy.Check(&r); err != nil {
		return wire.Rule{}, err
	}
	return *r.Wire(), nil
}

// strict decodes one object without unknown keys, and nothing behind it.
func strict(raw []byte, to any) error {
	if err := lines.CheckObject(raw); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind it")
	}
	return nil
}

// Request is a document for a server that is a hook, as kxd gets it.
type Request struct {
	URL  string          `json:"url"`
	Body json.RawMessage `json:"body"`
}

// Answer is what a program has answered that has ended.
func Answer(res proc.Result, err error) ([]byte, error) {
	switch {
	case err != nil:
		return nil, fmt.Errorf("it could not be run: %w", err)
	case res.ExitCode != 0:
		why, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(string(res.Stderr), "?")), "\n")
		return nil, fmt.Errorf("it exited with status %d: %.200s", res.ExitCode, why)
	case res.Truncated && len(res.Stdout) >= MaxAnswer:
		return nil, fmt.Errorf("its answer has more than %d bytes", MaxAnswer)
	}
	return res.Stdout, nil
}
