package anthropic

import (
	"testing"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/modeltest"
)

const key = "sk-test-key/+"

func at(url string) Options {
	return Options{Provider: "ant", Account: "work", BaseURL: url, Key: key, Model: "claude-x", MaxOutput: 4096}
}

func TestAnswers(t *testing.T) {
	modeltest.Replay(t, "anthropic", func(url string) model.Model { return New(at(url)) })
}
