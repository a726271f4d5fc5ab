package openai

import (
	"testing"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/modeltest"
)

const key = "sk-test-key/+"

func at(url string) Options {
	return Options{Provider: "oai", Account: "work", BaseURL: url + "/v1", Key: key, Model: "gpt-x", MaxOutput: 4096}
}

func TestChatAnswers(t *testing.T) {
	modeltest.Replay(t, "chat", func(url string) model.Model { return NewChat(at(url)) })
}

func TestResponsesAnswers(t *testing.T) {
	modeltest.Replay(t, "responses", func(url string) model.Model { return NewResponses(at(url)) })
}
