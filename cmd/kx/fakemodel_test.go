package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
)

// play is what fakemodel does about one request.
type play struct {
	Key   string `json:"key"` // the line is for requests with this key, "" for any
	Model string `json:"model"`

	Status     int     `json:"status"`      // an error
	RetryAfter float64 `json:"retry_after"` // seconds
	Error      string  `json:"error"`       // its code
	Say        string  `json:"say"`
	Calls      []struct {
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
	} `json:"calls"`
	Torn   bool  `json:"torn"` // the connection breaks after what was said
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
}

// fakeModel is the program fakemodel SCRIPT URL LOG: a provider on the loopback
// interface that plays SCRIPT, a line for each request, the last line that fits for
// ever. It writes its address to URL when it listens, and each request to LOG.
func fakeModel() {
	if len(os.Args) != 4 {
		die("usage: fakemodel SCRIPT URL LOG")
	}
	raw, err := os.ReadFile(os.Args[1])
	if err != nil {
		die(err)
	}
	f := &fake{}
	for line := range strings.Lines(string(raw)) {
		var p play
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			die(err)
		}
		f.plays = append(f.plays, p)
	}
	if f.log, err = os.Create(os.Args[3]); err != nil {
		die(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		die(err)
	}
	tmp := os.Args[2] + ".new"
	if err := os.WriteFile(tmp, []byte("http://"+l.Addr().String()), 0o600); err != nil {
		die(err)
	}
	if err := os.Rename(tmp, os.Args[2]); err != nil {
		die(err)
	}
	die(http.Serve(l, f))
}

func die(v any) {
	fmt.Fprintln(os.Stderr, v)
	os.Exit(1)
}

type fake struct {
	mu    sync.Mutex
	plays []play
	log   *os.File
}

// next takes the line for a request off the script.
func (f *fake) next(key, model string) (p play, ok bool) {
	fits := func(p play) bool { return (p.Key == "" || p.Key == key) && (p.Model == "" || p.Model == model) }
	for i := range f.plays {
		if !fits(f.plays[i]) {
			continue
		}
		p = f.plays[i]
		for _, later := range f.plays[i+1:] {
			if fits(later) && later.Key == p.Key && later.Model == p.Model {
				f.plays = append(f.plays[:i:i], f.plays[i+1:]...)
				break
			}
		}
		return p, true
	}
	return play{}, false
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("X-Api-Key")
	if key == "" {
		key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	var body struct {
		Model string `json:"model"`
	}
	raw, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(raw, &body)
	}
	f.mu.Lock()
	p, ok := f.next(key, body.Model)
	line, _ := json.Marshal(map[string]any{"path": r.URL.Path, "key": key, "model": body.Model, "body": string(raw)})
	f.log.Write(append(line, '\n'))
	f.mu.Unlock()
	switch {
	case err != nil || !ok:
		http.Error(w, `{"error":{"message":"nothing is planned for this"}}`, http.StatusTeapot)
	case p.Status > 0:
		if p.RetryAfter > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(p.RetryAfter))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(p.Status)
		code := p.Error
		if code == "" {
			code = "some_error"
		}
		fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"code":%q,"message":"it says %s"}}`, code, code, code)
	case strings.HasSuffix(r.URL.Path, "/messages"):
		p.messages(stream(w))
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		p.chat(stream(w))
	default:
		http.NotFound(w, r)
	}
	if p.Torn {
		panic(http.ErrAbortHandler)
	}
}

// stream returns what sends an event.
func stream(w http.ResponseWriter) func(name string, data any) {
	w.Header().Set("Content-Type", "text/event-stream")
	return func(name string, data any) {
		if name != "" {
			fmt.Fprintf(w, "event: %s\n", name)
		}
		text, isText := data.(string)
		if !isText {
			raw, _ := json.Marshal(data)
			text = string(raw)
		}
		fmt.Fprintf(w, "data: %s\n\n", text)
		w.(http.Flusher).Flush()
	}
}

type object = map[string]any

// chat answers as Chat Completions do.
func (p play) chat(send func(string, any)) {
	chunk := func(delta object, finish any) {
		send("", object{"id": "c1", "object": "chat.completion.chunk", "model": "fake", "choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	for _, word := range strings.SplitAfter(p.Say, " ") {
		chunk(object{"content": word}, nil)
	}
	if p.Torn {
		return
	}
	finish := "stop"
	for i, c := range p.Calls {
		finish = "tool_calls"
		chunk(object{"tool_calls": []any{object{"index": i, "id": fmt.Sprintf("call_%d", i), "type": "function", "function": object{"name": c.Tool, "arguments": string(c.Input)}}}}, nil)
	}
	chunk(object{}, finish)
	send("", object{"id": "c1", "object": "chat.completion.chunk", "model": "fake", "choices": []any{}, "usage": object{"prompt_tokens": p.Input, "completion_tokens": p.Output, "total_tokens": p.Input + p.Output}})
	send("", "[DONE]")
}

// messages answers as the Messages API does.
func (p play) messages(send func(string, any)) {
	event := func(name string, data object) {
		data["type"] = name
		send(name, data)
	}
	event("message_start", object{"message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": p.Input, "output_tokens": 1},
	}})
	n := 0
	if p.Say != "" {
		event("content_block_start", object{"index": n, "content_block": object{"type": "text", "text": ""}})
		for _, word := range strings.SplitAfter(p.Say, " ") {
			event("content_block_delta", object{"index": n, "delta": object{"type": "text_delta", "text": word}})
		}
		event("content_block_stop", object{"index": n})
		n++
	}
	if p.Torn {
		return
	}
	reason := "end_turn"
	for _, c := range p.Calls {
		reason = "tool_use"
		event("content_block_start", object{"index": n, "content_block": object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", n), "name": c.Tool, "input": object{}}})
		event("content_block_delta", object{"index": n, "delta": object{"type": "input_json_delta", "partial_json": string(c.Input)}})
		event("content_block_stop", object{"index": n})
		n++
	}
	event("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": p.Output}})
	event("message_stop", object{})
}
