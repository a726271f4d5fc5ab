package openai

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
	return Options{Provider: "oai", Account: "work", BaseURL: url, Key: key, Model: "gpt-x", MaxOutput: 4096}
}

func on(client *http.Client) Options {
	o := at("http://localhost/v1")
	o.HTTP = client
	return o
}

// apis are the two.
var apis = []struct {
	name, path, simple string
	new                func(Options) model.Model
}{
	{"chat", "/v1/chat/completions", "chat-lmstudio", func(o Options) model.Model { return NewChat(o) }},
	{"responses", "/v1/responses", "responses-text", func(o Options) model.Model { return NewResponses(o) }},
}

func TestAnswers(t *testing.T) {
	for _, a := range apis {
		modeltest.Replay(t, a.name, func(url string) model.Model { return a.new(at(url + "/v1")) })
	}
}

func TestTorn(t *testing.T) {
	modeltest.Torn(t, "chat", `"finish_reason":"`, func(c *http.Client) model.Model { return NewChat(on(c)) })
	modeltest.Torn(t, "responses", `"type":"response.completed"`, func(c *http.Client) model.Model { return NewResponses(on(c)) })
	modeltest.TornConnection(t, modeltest.Load(t, "chat-litellm-id-once"), func(url string) model.Model { return NewChat(at(url)) })
	modeltest.TornConnection(t, modeltest.Load(t, "responses-no-output"), func(url string) model.Model { return NewResponses(at(url)) })
}

func TestRequest(t *testing.T) {
	for _, a := range apis {
		for name, c := range map[string]struct {
			o Options
			r model.Request
		}{
			"question": {at("/v1"), modeltest.Question()},
			"talk":     {at("/v1/"), modeltest.Talk()},
			"effort":   {Options{Provider: "oai", BaseURL: "/v1", Model: "gpt-x", Effort: "high"}, model.Request{Messages: []model.Message{{Role: "user", Content: "hi"}}}},
		} {
			t.Run(a.name+" "+name, func(t *testing.T) {
				s := modeltest.Serve(t, modeltest.Load(t, a.simple))
				c.o.BaseURL = s.URL + c.o.BaseURL
				m := a.new(c.o)
				defer m.Close()
				if made := modeltest.Ask(t, m, c.r); made.Failure != nil {
					t.Fatalf("%+v", made.Failure)
				}
				all := s.Asked()
				if len(all) != 1 || all[0].Path != a.path || all[0].Header.Get("Content-Type") != "application/json" {
					t.Fatalf("%+v", all)
				}
				modeltest.Golden(t, filepath.Join("testdata", a.name+"-"+name+".json"), all[0].Body)
			})
		}
	}
}

// Only OpenAI's own servers know the newer name of the longest answer.
func TestMaxOutput(t *testing.T) {
	for base, want := range map[string]string{"": `"max_completion_tokens":4096`, "https://eu.api.openai.com/v1": `"max_completion_tokens":4096`, "http://localhost:11434/v1": `"max_tokens":4096`, "https://api.openai.com.example/v1": `"max_tokens":4096`} {
		q := modeltest.Question()
		if b, err := NewChat(at(base)).body(&q); err != nil || strings.Count(string(b), "4096") != 1 || !strings.Contains(string(b), want) {
			t.Errorf("%q: %s, %v", base, b, err)
		}
	}
}

// Whatever stands in the environment stays there.
func TestEnvironment(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET"} {
		t.Setenv(name, "leak")
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/leak")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: leak")
	for _, a := range apis {
		for _, k := range []string{key, ""} {
			s := modeltest.Serve(t, modeltest.Load(t, a.simple))
			o := at(s.URL)
			o.Key = k
			if made := modeltest.Ask(t, a.new(o), modeltest.Question()); made.Failure != nil {
				t.Fatalf("%+v", made.Failure)
			}
			got := s.Asked()[0].Header
			want := "Bearer " + k
			if k == "" {
				want = ""
			}
			if auth := got.Get("Authorization"); auth != want {
				t.Errorf("%s: the key is %q, want %q", a.name, auth, want)
			}
			for name, values := range got {
				if strings.Contains(name+strings.Join(values, " "), "eak") {
					t.Errorf("%s: %s: %v", a.name, name, values)
				}
			}
		}
	}
}

// again returns the request that follows an answer.
func again(t *testing.T, a int, shape string, change func(*model.Message, *Options)) string {
	t.Helper()
	q := modeltest.Question()
	turn, err := apis[a].new(on(modeltest.Canned(modeltest.Load(t, shape), modeltest.Clean))).Turn(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	m := model.Message{Role: "assistant", Content: turn.Say, Calls: append([]model.Call{}, turn.Calls...), Native: turn.Native}
	s := modeltest.Serve(t, modeltest.Load(t, apis[a].simple))
	o := at(s.URL)
	if change != nil {
		change(&m, &o)
	}
	q.Messages = append(q.Messages, m)
	if made := modeltest.Ask(t, apis[a].new(o), q); made.Failure != nil {
		t.Fatalf("%+v", made.Failure)
	}
	return string(s.Asked()[0].Body)
}

// What only its server understands goes back to it, and to no other.
func TestReplay(t *testing.T) {
	otherModel := func(_ *model.Message, o *Options) { o.Model = "other" }
	lessCalls := func(m *model.Message, _ *Options) { m.Calls = m.Calls[1:] }
	oddIDs := func(m *model.Message, _ *Options) { m.Calls[0].ID = "odd/id" }
	noReasoning := func(m *model.Message, _ *Options) {
		m.Native.Content = []byte(strings.Replace(string(m.Native.Content), `"encrypted_content"`, `"x"`, 1))
	}
	const (
		gemini     = `"extra_content":{"google":{"thought_signature":"EjQKMgEMOdbH"}}`
		openrouter = `"reasoning_details":[{"format":"anthropic-claude-v1","index":0,"signature":"Er8B","text":"Reading.","type":"reasoning.text"}]`
		encrypted  = `{"encrypted_content":"gAAAAABo","id":"rs_1","summary":[{"type":"summary_text","text":"Two files."}],"type":"reasoning"}`
	)
	for name, c := range map[string]struct {
		api       int
		shape     string
		change    func(*model.Message, *Options)
		has, lack string
	}{
		"Gemini":                    {0, "chat-gemini", nil, gemini, `"id":""`},
		"Gemini, another model":     {0, "chat-gemini", otherModel, `"tool_calls"`, "thought_signature"},
		"Gemini, other calls":       {0, "chat-gemini", lessCalls, `"tool_calls"`, "thought_signature"},
		"Gemini, an odd id":         {0, "chat-gemini", oddIDs, gemini, "odd/id"},
		"OpenRouter":                {0, "chat-openrouter", nil, openrouter, ""},
		"llama.cpp":                 {0, "chat-llamacpp", nil, `"reasoning_content":"The user wants a file."`, ""},
		"DeepSeek":                  {0, "chat-deepseek", nil, `{"role":"assistant","content":"Hi"}`, "reasoning_content"},
		"vLLM":                      {0, "chat-vllm-long-ids", nil, `"tool_call_id":"call_`, "chatcmpl-tool"},
		"reasoning":                 {1, "responses-reasoning-tools", nil, encrypted, ""},
		"reasoning, an odd id":      {1, "responses-reasoning-tools", oddIDs, encrypted, "odd/id"},
		"reasoning, another model":  {1, "responses-reasoning-tools", otherModel, `{"type":"function_call","call_id":"call_A"`, "gAAAAABo"},
		"reasoning, other calls":    {1, "responses-reasoning-tools", lessCalls, `{"type":"function_call","call_id":"call_B"`, "gAAAAABo"},
		"reasoning, not encrypted":  {1, "responses-reasoning-tools", noReasoning, `"call_id":"call_A"`, `_1"`},
		"arguments that are broken": {1, "responses-length", nil, `"arguments":"{}"`, `{\"pa`},
	} {
		body := again(t, c.api, c.shape, c.change)
		if !json.Valid([]byte(body)) || !strings.Contains(body, c.has) || c.lack != "" && strings.Contains(body, c.lack) {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// A model that does not reason is asked again without asking for its reasoning, and not
// asked for it any more.
func TestNoReasoning(t *testing.T) {
	refusal := modeltest.Shape{Status: 400, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include","code":null}}`)}
	s := modeltest.Serve(t, refusal, modeltest.Load(t, "responses-text"))
	m := NewResponses(at(s.URL))
	for range 2 {
		if made := modeltest.Ask(t, m, modeltest.Question()); made.Failure != nil {
			t.Fatalf("%+v", made.Failure)
		}
	}
	var got []bool
	for _, a := range s.Asked() {
		got = append(got, strings.Contains(string(a.Body), encrypted))
	}
	if len(got) != 3 || !got[0] || got[1] || got[2] {
		t.Errorf("asked for reasoning: %v", got)
	}
	s.Play(refusal, modeltest.Clean)
	if made := modeltest.Ask(t, m, modeltest.Question()); made.Failure == nil || len(s.Asked()) != 4 {
		t.Errorf("refused again: %+v after %d requests", made.Failure, len(s.Asked()))
	}
}

// An argument that no tool takes ends the reading of it.
func TestHugeArgument(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	for a, piece := range []string{
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"` + huge + `"}}]}}]}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"` + huge + `"}`,
	} {
		m := apis[a].new(on(modeltest.Canned(modeltest.Stream(strings.Repeat("data: "+piece+"\n\n", 100)), modeltest.Clean)))
		if f := modeltest.Ask(t, m, modeltest.Question()).Failure; f == nil || f.Class != model.Garbled || f.Exit != fail.ExitLimit || f.Text != "an argument of oai has more than 16 MiB" {
			t.Errorf("%s: %+v", apis[a].name, f)
		}
	}
}

func fuzz(f *testing.F, a int, body func(model.Model, *model.Request) ([]byte, error)) {
	for _, shape := range modeltest.Shapes(f, apis[a].name) {
		if shape.Status == 200 {
			f.Add(shape.Body)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := apis[a].new(on(modeltest.Canned(modeltest.Stream(string(raw)), modeltest.Clean)))
		if turn := modeltest.Check(t, m); turn != nil {
			r := modeltest.Question()
			r.Messages = append(r.Messages, model.Message{Role: "assistant", Content: turn.Say, Calls: turn.Calls, Native: turn.Native})
			if b, err := body(m, &r); err != nil || !json.Valid(b) {
				t.Fatalf("%v: %s", err, b)
			}
		}
	})
}

func FuzzChat(f *testing.F) {
	fuzz(f, 0, func(m model.Model, r *model.Request) ([]byte, error) { return m.(*Chat).body(r) })
}

func FuzzResponses(f *testing.F) {
	fuzz(f, 1, func(m model.Model, r *model.Request) ([]byte, error) { return m.(*Responses).body(r) })
}
