package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/sourcegraph/go-lsp"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/kxtools/kx/internal/host/lsp/protocol"
	"github.com/kxtools/kx/internal/host/lsp/stream"
)

const (
	invalidParams = -32602
	requestFailed = -32803
)

// handler gets what the server sends of itself. It runs where messages are read, so
// that they stay in order; nothing in it waits.
type handler struct{ c *Client }

// null is an answer that says nothing.
var null = json.RawMessage("null")

// answers are the requests of servers that are known; those without a function are
// answered with null.
var answers = map[string]func(*Client, json.RawMessage) (any, error){
	"workspace/configuration":        (*Client).configuration,
	"workspace/workspaceFolders":     (*Client).folders,
	"workspace/applyEdit":            refuse("applied"),
	"workspace/diagnostic/refresh":   (*Client).refresh,
	"client/registerCapability":      (*Client).register,
	"client/unregisterCapability":    (*Client).unregister,
	"window/workDoneProgress/create": nil,
	"window/showDocument":            refuse("success"),
	"window/showMessageRequest":      (*Client).choose,
}

// notifications are what servers tell; anything else is passed over.
var notifications = map[string]func(*Client, json.RawMessage) error{
	"textDocument/publishDiagnostics": (*Client).published,
	"$/progress":                      (*Client).progress,
	"experimental/serverStatus":       (*Client).status,
	"window/showMessage":              (*Client).message,
	"window/logMessage":               (*Client).message,
}

// Handle answers a request, or takes a notification.
func (h handler) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	defer func() {
		if p := recover(); p != nil { // of this server alone
			h.c.breaks(fmt.Errorf("said something that kx stumbles over: %s: %v: %s", req.Method, p, debug.Stack()))
		}
	}()
	var params json.RawMessage
	if req.Params != nil {
		params = *req.Params
	}
	if req.Notif {
		if take := notifications[req.Method]; take != nil {
			if err := take(h.c, params); err != nil {
				h.c.said.line(req.Method + " can't be read: " + err.Error())
			}
		}
		return
	}
	a, err := stream.AnswerTo(req.ID)
	if err != nil {
		return
	}
	a.Result, a.Error = h.answer(req.Method, params)
	_ = h.c.stream.WriteObject(a) // if the server has gone, all calls say so
}

func (h handler) answer(method string, params json.RawMessage) (any, *jsonrpc2.Error) {
	f, known := answers[method]
	if strings.HasPrefix(method, "workspace/") && strings.HasSuffix(method, "/refresh") {
		known = true
	}
	switch {
	case !known:
		return nil, &jsonrpc2.Error{Code: protocol.MethodNotFound, Message: "kx does not know " + method}
	case f == nil:
		return null, nil
	}
	result, err := f(h.c, params)
	var own *jsonrpc2.Error
	switch {
	case errors.As(err, &own):
		return nil, own
	case err != nil:
		return nil, &jsonrpc2.Error{Code: invalidParams, Message: err.Error()}
	}
	return result, nil
}

// configuration answers each item with what is set, or null.
func (c *Client) configuration(raw json.RawMessage) (any, error) {
	var p lsp.ConfigurationParams
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	values := make([]any, len(p.Items))
	for i, item := range p.Items {
		if c.opt.Settings != nil {
			values[i] = c.opt.Settings(item.Section)
		}
	}
	return values, nil
}

func (c *Client) folders(json.RawMessage) (any, error) {
	return []protocol.Folder{{URI: protocol.FromPath(c.opt.Root), Name: filepath.Base(c.opt.Root)}}, nil
}

// refuse answers that something was not done.
func refuse(member string) func(*Client, json.RawMessage) (any, error) {
	return func(*Client, json.RawMessage) (any, error) { return map[string]bool{member: false}, nil }
}

func (c *Client) refresh(json.RawMessage) (any, error) {
	c.refreshes.Add(1)
	return null, nil
}

// Refreshes counts how often it asked to be asked for diagnostics again.
func (c *Client) Refreshes() int64 { return c.refreshes.Load() }

func (c *Client) register(raw json.RawMessage) (any, error) {
	var p protocol.Registrations
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	if !c.watch.register(p.List) {
		return nil, &jsonrpc2.Error{Code: requestFailed, Message: "too many registrations"}
	}
	return null, nil
}

func (c *Client) unregister(raw json.RawMessage) (any, error) {
	var p protocol.Unregistrations
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	c.watch.unregister(p)
	return null, nil
}

// choose answers a question to a person with no choice.
func (c *Client) choose(raw json.RawMessage) (any, error) { return null, c.message(raw) }

func (c *Client) published(raw json.RawMessage) error {
	var p protocol.Published
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	c.push.add(p, len(raw))
	return nil
}

func (c *Client) progress(raw json.RawMessage) error {
	var p protocol.Progress
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	c.load.progress(p)
	return nil
}

func (c *Client) status(raw json.RawMessage) error {
	var s protocol.Status
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	c.load.status(s)
	c.said.ill(s)
	return nil
}

func (c *Client) message(raw json.RawMessage) error {
	var m lsp.LogMessageParams
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	c.load.logged(m.Message)
	c.said.message(m)
	return nil
}
