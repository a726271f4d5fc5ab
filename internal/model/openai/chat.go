package openai

import (
	"context"
	"net/http"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/provider"
)

// ChatDialect is the name of Chat Completions in messages that are given back word for
// word.
const ChatDialect = "openai-chat"

// Chat is one model on one account, by way of Chat Completions.
type Chat struct {
	line *provider.Line
	api  sdk.ChatCompletionService
}

// NewChat returns the client. Nothing is sent, and nothing can fail, before the first
// turn.
func NewChat(o Options) *Chat {
	line := provider.NewLine(o, base)
	return &Chat{line: line, api: sdk.NewChatCompletionService(options(line)...)}
}

// Turn asks for a turn.
func (c *Chat) Turn(ctx context.Context, r *model.Request) (*model.Turn, error) {
	body, err := c.body(r)
	if err != nil {
		return nil, err
	}
	return c.line.Ask(ctx, r, func(ctx context.Context, res **http.Response) error {
		_, err := c.api.New(ctx, sdk.ChatCompletionNewParams{}, option.WithRequestBody("application/json", body), option.WithResponseBodyInto(res))
		return err
	}, c.read)
}

// Close ends what stays open between turns.
func (c *Chat) Close() error {
	c.line.Stop()
	return nil
}
