package client

import "github.com/kxtools/kx/pkg/wire"

// The events that kx answers.
const (
	preToolUse        = "PreToolUse"
	permissionRequest = "PermissionRequest"
	beforeTool        = "BeforeTool"
)

// Answer is what a client has to hear.
type Answer struct {
	Verdict string // allow, deny or defer
	Reason  string
}

// Allow is the verdict that lets a call run.
const Allow = "allow"

// specific is the part of an answer that belongs to its event.
type specific struct {
	Event    string   `json:"hookEventName"`
	Decision string   `json:"permissionDecision,omitempty"`
	Reason   string   `json:"permissionDecisionReason,omitempty"`
	Behavior *request `json:"decision,omitempty"`
}

type request struct {
	Behavior string `json:"behavior"`
	Message  string `json:"message,omitempty"`
}

func speak(s specific) ([]byte, error) {
	b, err := wire.Marshal(map[string]specific{"hookSpecificOutput": s})
	return append(b, '\n'), err
}

// sayClaude speaks to Claude Code. An allow is said, so that it does not ask again;
// its own deny and ask rules still hold.
func sayClaude(event string, a Answer) ([]byte, error) {
	if event == permissionRequest {
		return sayRequest(event, a)
	}
	return speak(specific{Event: event, Decision: a.Verdict, Reason: a.Reason})
}

// sayCodex speaks to Codex, which takes anything but a deny for an allow. So it
// hears a deny or nothing.
func sayCodex(event string, a Answer) ([]byte, error) {
	switch {
	case event == permissionRequest:
		return sayRequest(event, a)
	case a.Verdict == Allow:
		return nil, nil
	}
	return speak(specific{Event: event, Decision: Deny, Reason: a.Reason})
}

func sayRequest(event string, a Answer) ([]byte, error) {
	if a.Verdict == Allow {
		return speak(specific{Event: event, Behavior: &request{Behavior: Allow}})
	}
	return speak(specific{Event: event, Behavior: &request{Behavior: Deny, Message: a.Reason}})
}

// sayGemini speaks to Gemini CLI, which would wait for ever for a person if it heard
// that one should be asked.
func sayGemini(_ string, a Answer) ([]byte, error) {
	if a.Verdict != Allow {
		a.Verdict = Deny
	}
	b, err := wire.Marshal(struct {
		Decision string `json:"decision"`
		Reason   string `json:"reason,omitempty"`
	}{a.Verdict, a.Reason})
	return append(b, '\n'), err
}
