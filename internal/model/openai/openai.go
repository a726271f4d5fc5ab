// Package openai speaks the two APIs of OpenAI: Responses, and Chat Completions, which
// nearly every other server is compatible with: Ollama, vLLM, llama.cpp, LM Studio,
// OpenRouter, Gemini. A client is one model on one account; package route makes them.
//
// The SDK authenticates and sends, with its retries off. Its services are made without
// its Client, because that one reads the key, the address, the project and further
// headers from OPENAI_* in the environment. The body of a request and the events of an
// answer are written and read here: the types of the SDK lose what compatible servers
// send that OpenAI would not, such as arguments that are an object, an index that was
// left out, and fields that must go back word for word.
package openai

import (
	"encoding/json"

	"github.com/openai/openai-go/v3/option"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/provider"
	"github.com/kxtools/kx/pkg/wire"
)

const base = "https://api.openai.com/v1"

// Options say which model is asked.
type Options = provider.Options

// options are those of the SDK.
func options(l *provider.Line) []option.RequestOption {
	list := []option.RequestOption{option.WithBaseURL(l.BaseURL), option.WithHTTPClient(l.Client), option.WithMaxRetries(0)}
	if l.Key != "" {
		list = append(list, option.WithAPIKey(l.Key))
	}
	return list
}

// dataURL writes an image as an address that holds it.
func dataURL(i model.Image) string {
	encoded, err := json.Marshal(i.Data) // base64, in quotes
	if err != nil {
		return ""
	}
	return "data:" + i.MediaType + ";base64," + string(encoded[1:len(encoded)-1])
}

// result words a result: the APIs have no field for how a call ended.
func result(m model.Message) string {
	if m.Status == wire.StatusOK || m.Status == "" {
		return m.Content
	}
	return "[" + string(m.Status) + "]\n" + m.Content
}
