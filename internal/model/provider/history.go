package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/pkg/wire"
)

const (
	// maxWireID is the longest id of a call that every API takes back; OpenAI's
	// Chat Completions has the shortest.
	maxWireID = 40
	// lost answers a call that has no result: every API wants one.
	lost = "error: there is no result: the call did not run, or its result was lost"
)

// Arrange puts a conversation in the order that every API wants: the results of a call
// stand behind it, in the order of the calls, one for each. Ids are those that every API
// takes, each once; they are the same whenever the same conversation is sent, so that
// what a provider remembers of it fits. Texts that are empty go: APIs refuse them.
func Arrange(in []model.Message) []model.Message {
	ids := names{}
	out := make([]model.Message, 0, len(in))
	for i := 0; i < len(in); {
		m := in[i]
		i++
		if m.Role != "assistant" {
			out = append(out, plain(m)...)
			continue
		}
		m.Content = text(m.Content)
		if len(m.Calls) == 0 {
			if m.Content != "" || m.Native != nil {
				out = append(out, m)
			}
			continue
		}
		var between []model.Message // until the next answer
		for ; i < len(in) && in[i].Role != "assistant"; i++ {
			between = append(between, in[i])
		}
		calls, results := ids.pair(m.Calls, between)
		m.Calls = calls
		out = append(append(out, m), results...)
		for _, b := range between {
			if b.Role != "" {
				out = append(out, plain(b)...)
			}
		}
	}
	return out
}

// plain returns a message that answers no call, or nothing.
func plain(m model.Message) []model.Message {
	if m.Role == "tool" {
		m = model.Message{Role: "user", Content: fmt.Sprintf("[a result of %s, whose call is no longer here]\n%s", m.Tool, m.Content)}
	}
	m.Content = text(m.Content)
	if m.Content == "" && len(m.Images) == 0 {
		return nil
	}
	return []model.Message{m}
}

// text makes a text valid, or empty where nothing can be seen of it.
func text(s string) string {
	if empty(s) {
		return ""
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// names are the ids that were given so far.
type names map[string]bool

// pair gives ids to calls, and finds their results among the messages behind them. What
// it finds loses its role there.
func (n names) pair(calls []model.Call, behind []model.Message) (named []model.Call, results []model.Message) {
	for _, c := range calls {
		id := n.give(c.ID)
		result := model.Message{Role: "tool", Tool: c.Tool, Status: wire.StatusUnknown, Content: lost}
		for j, b := range behind {
			if b.Role == "tool" && b.CallID == c.ID {
				result, behind[j].Role = b, ""
				break
			}
		}
		if result.Content = text(result.Content); result.Content == "" {
			result.Content = "(no output)"
		}
		result.CallID = id
		if c.ID = id; len(c.Input) == 0 {
			c.Input = json.RawMessage("{}")
		}
		named = append(named, c)
		results = append(results, result)
	}
	return named, results
}

// give returns the id as APIs take it. One that they don't take, or that was there
// before, becomes another that depends on it and on what was before.
func (n names) give(id string) string {
	fits := id != "" && len(id) <= maxWireID && strings.Trim(id, "-_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
	for again := 0; !fits || n[id]; again++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", again, id))
		id, fits = "call_"+hex.EncodeToString(sum[:12]), true
	}
	n[id] = true
	return id
}
