package provider

import (
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/model"
)

const (
	// maxSaid is how much of a provider's complaint stands in a message.
	maxSaid = 300
	// longest is the longest wait that a provider may ask for: after it, people
	// would rather know.
	longest = 24 * time.Hour
	// minKey is the shortest key that is looked for in a text: a shorter one is no
	// secret, and would tear words apart.
	minKey = 4
)

// complaint is what a provider says went wrong.
type complaint struct {
	text   string
	codes  []string // lower case: codes, types and reasons
	status int      // that it names itself
	flags  bool     // a filter names what it found
	wait   time.Duration
}

// read reads the body of an error. Every server has a shape of its own: an object with
// error{message,type,code}, with a string, with a list, or an array of such; detail of
// FastAPI, a list for a request that is not valid; details with a reason and a delay of
// Google; metadata with the words of whoever is behind OpenRouter.
func read(body []byte) complaint {
	var c complaint
	var v any
	if json.Unmarshal(body, &v) != nil {
		c.text = strings.ToValidUTF8(string(body), "\uFFFD")
		return c
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	switch v := v.(type) {
	case string:
		c.text = v
	case map[string]any:
		c.take(v)
	}
	return c
}

func (c *complaint) take(m map[string]any) {
	switch e := m["error"].(type) {
	case map[string]any:
		c.take(e)
	case string:
		c.text = e
	}
	if response, ok := m["response"].(map[string]any); ok {
		c.take(response)
	}
	for _, name := range []string{"message", "detail", "msg"} {
		if s := words(m[name]); c.text == "" && s != "" {
			c.text = s
		}
	}
	for _, name := range []string{"code", "type", "status", "reason", "error_code"} {
		switch v := m[name].(type) {
		case string:
			if n, err := strconv.Atoi(v); err == nil {
				c.status = n
			}
			c.codes = append(c.codes, strings.ToLower(v))
		case float64:
			c.status = int(v)
		}
	}
	if s, ok := m["retryDelay"].(string); ok {
		c.wait, _ = time.ParseDuration(s)
	}
	switch d := m["details"].(type) {
	case map[string]any:
		c.take(d)
	case []any:
		for _, d := range d {
			if d, ok := d.(map[string]any); ok {
				c.take(d)
			}
		}
	}
	if meta, ok := m["metadata"].(map[string]any); ok {
		if raw, ok := meta["raw"].(string); ok && raw != "" {
			c.text += ": " + raw
		}
		c.flags = c.flags || meta["flagged_input"] != nil
	}
}

// words returns what a field says: text, or the texts of a list.
func words(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var all []string
		for _, one := range v {
			if m, ok := one.(map[string]any); ok {
				one = m["msg"]
			}
			if s, ok := one.(string); ok {
				all = append(all, s)
			}
		}
		return strings.Join(all, "; ")
	}
	return ""
}

// signs tell the class of a failure from its codes or its words, which say more than
// the status does: the first that fits counts.
var signs = []struct {
	class model.Class
	codes []string
	words []string // lower case
}{
	{model.Overflow,
		[]string{"context_length_exceeded", "exceed_context_size_error", "request_too_large", "model_context_window_exceeded"},
		[]string{"prompt is too long", "input is too long", "maximum context length", "context window", "context length", "context size", "available context", "exceeds the maximum number of tokens", "input token count", "tokens to keep from the initial prompt", "reduce the length of the messages"}},
	{model.Quota,
		[]string{"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error", "insufficient_credits", "contract_spend_limit_reached", "payment_required"},
		[]string{"credit balance is too low", "insufficient balance", "insufficient credits", "add more credits"}},
	{model.Auth,
		[]string{"invalid_api_key", "authentication_error", "permission_error", "api_key_invalid", "account_deactivated"},
		[]string{"api key not valid", "incorrect api key", "invalid api key", "invalid x-api-key"}},
	{model.RateLimited, []string{"rate_limit_error", "rate_limit_exceeded", "rate_limited", "resource_exhausted", "too_many_requests"}, nil},
	{model.Overloaded, []string{"overloaded_error", "api_error", "timeout_error", "server_error", "internal_error", "unavailable", "internal", "service_unavailable"}, nil},
}

// class says what can be done about it. told is set if the provider says when to ask
// again: then it has not run out for good.
func (c *complaint) class(status int, told bool) model.Class {
	text := strings.ToLower(c.text)
	for _, s := range signs {
		if status == http.StatusTooManyRequests && s.class == model.Overflow {
			continue // tokens a minute, not those of the window
		}
		if status >= 400 && status < 500 && s.class == model.Overloaded {
			continue // some say so of all their errors
		}
		if slices.ContainsFunc(s.codes, c.has) || slices.ContainsFunc(s.words, func(w string) bool { return strings.Contains(text, w) }) {
			return s.class
		}
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return model.Auth
	case http.StatusPaymentRequired:
		return model.Quota
	case http.StatusRequestEntityTooLarge:
		return model.Overflow
	case http.StatusTooManyRequests:
		if !told && strings.Contains(text, "current quota") {
			return model.Quota
		}
		return model.RateLimited
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return model.Overloaded
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return model.Refused
	}
	if status >= 500 {
		return model.Overloaded
	}
	return model.Refused
}

// filtered reports whether a filter stopped the prompt.
func (c *complaint) filtered() bool {
	return c.flags || slices.ContainsFunc([]string{"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}, c.has)
}

func (c *complaint) has(code string) bool { return slices.Contains(c.codes, code) }

// resets are headers that say when a limit that is used up is there again.
var resets = [][2]string{ // what remains, when it is reset
	{"anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"},
	{"anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"},
	{"anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"},
	{"anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"},
	{"x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"},
	{"x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"},
}

// soon finds the time in "Please try again in 1m2.5s".
var soon = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) ((?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?m?s)`)
})

// wait returns how long the provider asks to wait, and whether it does.
func wait(h http.Header, c *complaint) (time.Duration, bool) {
	d, told := asked(h, c)
	return min(max(d, 0), longest), told
}

func asked(h http.Header, c *complaint) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return seconds(ms / 1000), true
	}
	if after := h.Get("Retry-After"); after != "" {
		if s, err := strconv.ParseFloat(after, 64); err == nil && s >= 0 {
			return seconds(s), true
		}
		if at, err := http.ParseTime(after); err == nil {
			return at.Sub(now(h)), true
		}
	}
	last, told := time.Duration(0), false
	for _, r := range resets {
		if h.Get(r[0]) != "0" {
			continue
		}
		reset := h.Get(r[1])
		if at, err := time.Parse(time.RFC3339, reset); err == nil {
			last, told = max(last, at.Sub(now(h))), true
		} else if d, err := time.ParseDuration(reset); err == nil {
			last, told = max(last, d), true
		}
	}
	if told || c == nil {
		return last, told
	}
	if c.wait > 0 {
		return c.wait, true
	}
	if m := soon().FindStringSubmatch(c.text); m != nil {
		if d, err := time.ParseDuration(m[1]); err == nil {
			return d, true
		}
	}
	return 0, false
}

// seconds bounds what a provider may ask for: no wait is longer than a day.
func seconds(s float64) time.Duration {
	return time.Duration(min(s, (24*time.Hour).Seconds()) * float64(time.Second))
}

// now is the time by the provider's clock, from which its dates count.
func now(h http.Header) time.Time {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}

// clean makes a text of a provider fit into a message: one line, short, without the key.
func (l *Line) clean(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(l.Key) >= minKey {
		s = strings.NewReplacer(l.Key, "[key]", url.QueryEscape(l.Key), "[key]").Replace(s)
	}
	return clip(s, maxSaid)
}

// clip keeps the beginning of a text.
func clip(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// title returns what a web page says first.
func title(page []byte) string {
	for _, name := range []string{"title", "h1"} {
		lower := bytes.ToLower(page)
		from := bytes.Index(lower, []byte("<"+name))
		if from < 0 {
			continue
		}
		_, text, _ := bytes.Cut(page[from:], []byte(">"))
		text, _, ok := bytes.Cut(text, []byte("<"))
		if said := strings.TrimSpace(html.UnescapeString(string(text))); ok && said != "" {
			return said
		}
	}
	return "no title"
}

func isPage(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) }
