// Package anthropic speaks the Messages API of Anthropic, and of servers that are
// compatible with it. A Client is one model on one account; package route makes them.
//
// The SDK authenticates and sends; its retries, its view of the environment, its traces
// and the accounts that it finds on the disk are off. The body of a request and the
// events of an answer are written and read here: messages go back word for word, with
// thinking and its signatures, and the types of the SDK would lose what a compatible
// server, or a newer API, adds to a block.
package anthropic

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/model/provider"
)

const (
	// Dialect is the name of the dialect in messages that are given back word for
	// word.
	Dialect = "anthropic"

	base = "https://api.anthropic.com"
	// olderVersion is the version of the API that compatible servers know; for
	// Anthropic's own the SDK says which it speaks.
	olderVersion = "2023-06-01"
)

// Options say which model is asked.
type Options = provider.Options

// Client is one model on one account.
type Client struct {
	line *provider.Line
	api  sdk.Client
}

// New returns the client. Nothing is sent, and nothing can fail, before the first turn.
func New(o Options) *Client {
	line := provider.NewLine(o, base)
	address := strings.TrimSuffix(strings.TrimSuffix(line.BaseURL, "/"), "/v1")
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithoutOpenTelemetry(), option.WithMaxRetries(0),
		option.WithBaseURL(address), option.WithHTTPClient(line.Client),
	}
	if line.Key != "" {
		options = append(options, option.WithAPIKey(line.Key))
	}
	if !own(address) {
		// Compatible servers look for the key where it was until 2026.
		options = append(options, option.WithHeader("Anthropic-Version", olderVersion))
		if line.Key != "" {
			options = append(options, option.WithHeader("X-Api-Key", line.Key))
		}
	}
	return &Client{line: line, api: sdk.NewClient(options...)}
}

// own reports whether the address is Anthropic's.
func own(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Hostname() == "anthropic.com" || strings.HasSuffix(u.Hostname(), ".anthropic.com"))
}

// Turn asks for a turn.
func (c *Client) Turn(ctx context.Context, r *model.Request) (*model.Turn, error) {
	body, err := c.body(r)
	if err != nil {
		return nil, err
	}
	return c.line.Ask(ctx, r, func(ctx context.Context, res **http.Response) error {
		return c.api.Post(ctx, "v1/messages", body, res)
	}, c.read)
}

// Close ends what stays open between turns.
func (c *Client) Close() error {
	c.line.Stop()
	return nil
}
