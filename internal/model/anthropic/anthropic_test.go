package anthropic

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/modeltest"
)

const key = "sk-test-key/+"

func at(url string) Options {
	return Options{Provider: "ant", Account: "work", BaseURL: url, Key: key, Model: "claude-x", MaxOutput: 4096}
}

func on(client *http.Client) *Client {
	o := at("http://localhost")
	o.HTTP = client
	return New(o)
}

func TestAnswers(t *testing.T) {
	modeltest.Replay(t, "anthropic", func(url string) model.Model { return New(at(url)) })
}

func TestTorn(t *testing.T) {
	modeltest.Torn(t, "anthropic", `"type":"message_stop"}`, func(c *http.Client) model.Model { return on(c) })
	modeltest.TornConnection(t, modeltest.Load(t, "anthropic-no-arguments"), func(url string) model.Model { return New(at(url)) })
}

// asked returns the only request that m made.
func asked(t *testing.T, o Options, r model.Request) modeltest.Asked {
	t.Helper()
	s := modeltest.Serve(t, modeltest.Load(t, "anthropic-text"))
	o.BaseURL = s.URL + o.BaseURL
	m := New(o)
	defer m.Close()
	if made := modeltest.Ask(t, m, r); made.Failure != nil {
		t.Fatalf("%+v", made.Failure)
	}
	all := s.Asked()
	if len(all) != 1 {
		t.Fatalf("%d requests", len(all))
	}
	return all[0]
}

func TestRequest(t *testing.T) {
	for name, c := range map[string]struct {
		o Options
		r model.Request
	}{
		"question": {at("/v1/"), modeltest.Question()},
		"talk":     {at(""), modeltest.Talk()},
		"thinking": {Options{Provider: "ant", Model: "claude-x", Thinking: 40_000, Effort: "high"}, model.Request{Messages: []model.Message{{Role: "user", Content: "hi"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := asked(t, c.o, c.r)
			if got.Path != "/v1/messages" || got.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %v", got.Path, got.Header)
			}
			if n := strings.Count(string(got.Body), `"cache_control":{"type":"ephemeral"}`); n > 4 || n == 0 {
				t.Errorf("%d places to remember", n)
			}
			modeltest.Golden(t, filepath.Join("testdata", name+".json"), got.Body)
		})
	}
}

// Whatever stands in the environment, or in a profile, stays there.
func TestEnvironment(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "leak", "ANTHROPIC_AUTH_TOKEN": "leak", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1/leak", "ANTHROPIC_CUSTOM_HEADERS": "X-Leak: leak",
		"ANTHROPIC_PROFILE": "leak", "ANTHROPIC_CONFIG_DIR": home, "ANTHROPIC_IDENTITY_TOKEN": "leak", "ANTHROPIC_FEDERATION_RULE_ID": "leak", "ANTHROPIC_ORGANIZATION_ID": "leak",
	} {
		t.Setenv(name, value)
	}
	got := asked(t, at(""), modeltest.Question())
	for name, want := range map[string]string{"Authorization": "Bearer " + key, "X-Api-Key": key, "Anthropic-Version": "2023-06-01"} {
		if v := got.Header.Values(name); len(v) != 1 || v[0] != want {
			t.Errorf("%s is %v", name, v)
		}
	}
	o := at("")
	o.Key = ""
	without := asked(t, o, modeltest.Question())
	for _, got := range []modeltest.Asked{got, without} {
		for name, values := range got.Header {
			if strings.Contains(name+strings.Join(values, " "), "eak") {
				t.Errorf("%s: %v", name, values)
			}
		}
	}
	if without.Header.Get("Authorization") != "" || without.Header.Get("X-Api-Key") != "" {
		t.Errorf("a key from nowhere: %v", without.Header)
	}
}

// Anthropic's own servers get the version of the API that the SDK speaks.
func TestOwn(t *testing.T) {
	for url, want := range map[string]bool{"https://api.anthropic.com": true, "https://api.anthropic.com/v1": true, "https://anthropic.com.example": false, "http://localhost:1234": false, ":": false} {
		if own(url) != want {
			t.Errorf("%s: %v", url, !want)
		}
	}
}

// What the model said goes back word for word, thinking first; to another model, or
// where the calls are others, it goes in our words.
func TestReplay(t *testing.T) {
	m := on(modeltest.Canned(modeltest.Load(t, "anthropic-thinking-tools"), modeltest.Clean))
	q := modeltest.Question()
	turn, err := m.Turn(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	said := model.Message{Role: "assistant", Content: turn.Say, Calls: turn.Calls, Native: turn.Native}
	blocks := func(m model.Message, o Options) []string {
		t.Helper()
		r := modeltest.Question()
		r.Messages = append(r.Messages, m)
		var body struct {
			Messages []struct {
				Content []json.RawMessage `json:"content"`
			} `json:"messages"`
		}
		if err := json.Unmarshal(asked(t, o, r).Body, &body); err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, raw := range body.Messages[1].Content {
			list = append(list, string(raw))
		}
		return list
	}
	same := blocks(said, at(""))
	if len(same) != 5 || same[0] != `{"signature":"EqQBCgIYAhIM1gbc","thinking":"Both files at once.","type":"thinking"}` || !strings.Contains(same[1], "redacted_thinking") {
		t.Errorf("%s", same)
	}
	other := at("")
	other.Model = "claude-y"
	for name, got := range map[string][]string{
		"another model": blocks(said, other),
		"a call less":   blocks(model.Message{Role: "assistant", Content: turn.Say, Calls: turn.Calls[:1], Native: turn.Native}, at("")),
		"broken":        blocks(model.Message{Role: "assistant", Content: turn.Say, Calls: turn.Calls, Native: &model.Native{Dialect: Dialect, Model: "claude-x", Content: []byte("{")}}, at("")),
	} {
		if strings.Contains(strings.Join(got, ""), "thinking") || !strings.Contains(got[0], "I'll read both.") {
			t.Errorf("%s: %s", name, got)
		}
	}
	said.Calls = append([]model.Call{}, turn.Calls...)
	said.Calls[1].ID = "odd/id"
	if odd := blocks(said, at("")); !strings.Contains(odd[4], `"id":"call_`) || !strings.Contains(odd[0], "signature") {
		t.Errorf("another id: %s", odd)
	}
}

// An argument that no tool takes ends the reading of it.
func TestHugeArgument(t *testing.T) {
	piece := `data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"` + strings.Repeat("x", 1<<20) + "\"}}\n\n"
	m := on(modeltest.Canned(modeltest.Stream(`data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"bash","input":{}}}`+"\n\n"+strings.Repeat(piece, 100)), modeltest.Clean))
	made := modeltest.Ask(t, m, modeltest.Question())
	if f := made.Failure; f == nil || f.Class != model.Garbled || f.Exit != fail.ExitLimit || f.Text != "an argument of ant has more than 16 MiB" {
		t.Errorf("%+v", f)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, shape := range modeltest.Shapes(f, "anthropic") {
		if shape.Status == 200 {
			f.Add(shape.Body)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m := on(modeltest.Canned(modeltest.Stream(string(body)), modeltest.Clean))
		if turn := modeltest.Check(t, m); turn != nil {
			r := modeltest.Question()
			r.Messages = append(r.Messages, model.Message{Role: "assistant", Content: turn.Say, Calls: turn.Calls, Native: turn.Native})
			if b, err := m.body(&r); err != nil || !json.Valid(b) {
				t.Fatalf("%v: %s", err, b)
			}
		}
	})
}
