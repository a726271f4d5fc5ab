package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/model"
)

// post sends a request without an SDK.
func post(l *Line) func(context.Context, **http.Response) error {
	return func(ctx context.Context, to **http.Response) error {
		r, err := http.NewRequestWithContext(ctx, "POST", l.BaseURL, strings.NewReader("{}"))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+l.Key)
		res, err := l.Client.Do(r)
		*to = res
		return err
	}
}

// texts says what every event has, and is whole at [DONE].
func texts(e *Events, say Say) (*model.Turn, error) {
	t := &model.Turn{}
	for {
		ev, err := e.Next()
		if err != nil {
			return nil, err
		}
		if ev.Done {
			return t, nil
		}
		t.Say += string(ev.Data)
		if err := say(string(ev.Data)); err != nil {
			return nil, err
		}
	}
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func line(url string) *Line {
	return NewLine(Options{Provider: "p", BaseURL: url, Key: "sk-secret", Model: "m"}, "")
}

func failure(t *testing.T, err error) *model.Failure {
	t.Helper()
	var f *model.Failure
	if !errors.As(err, &f) {
		t.Fatalf("%v is no failure of a model", err)
	}
	if strings.Contains(f.Error(), "sk-secret") || strings.Contains(f.Error(), "\n") {
		t.Errorf("it says %q", f.Error())
	}
	return f
}

func TestUnreachable(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	closed.Close()
	hangsUp := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	for url, want := range map[string]struct {
		class model.Class
		says  string
	}{
		"http://user:sk-secret@" + nobody + "/?key=sk-secret": {model.Network, "p can't be reached at " + nobody + ": nothing listens there (connection refused)"},
		hangsUp.URL: {model.Network, "the connection was closed"},
		secure.URL:  {model.Network, "its certificate does not hold: x509: certificate signed by unknown authority"},
		strings.Replace(secure.URL, "https", "http", 1): {model.Refused, "p does not take the request (status 400): Client sent an HTTP request to an HTTPS server."},
		"ftp://localhost/":      {model.Refused, "the base_url of p is no http address"},
		"sk-secret":             {model.Refused, "the base_url of p is no http address"},
		"http://127.0.0.1:1:1/": {model.Refused, "the base_url of p is no http address"},
	} {
		l := line(url)
		_, err := l.Ask(t.Context(), &model.Request{}, post(l), texts)
		if f := failure(t, err); f.Class != want.class || !strings.Contains(f.Error(), want.says) || fail.As(err).Hint != "kx model test p" {
			t.Errorf("%s: %s %s", url, f.Class, f)
		}
	}
}

func TestNoHost(t *testing.T) {
	err := fmt.Errorf("dial: %w", &net.DNSError{Name: "api.example", IsNotFound: true})
	if got := cause(err); got != "there is no host api.example" {
		t.Error(got)
	}
	if got := cause(&net.DNSError{Name: "api.example", IsTimeout: true}); got != "the name api.example can't be looked up" {
		t.Error(got)
	}
}

// The key goes to no other host, and not to the same one in clear.
func TestRedirects(t *testing.T) {
	var others atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { others.Add(1) })
	var here *httptest.Server
	here = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/?x=sk-secret", http.StatusTemporaryRedirect)
		case "/as-get":
			http.Redirect(w, r, "/moved", http.StatusFound)
		case "/same":
			http.Redirect(w, r, "/moved", http.StatusPermanentRedirect)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusTemporaryRedirect)
		case "/moved":
			b, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "data: %s %s %s\n\ndata: [DONE]\n\n", r.Method, b, r.Header.Get("Authorization"))
		}
	})
	for path, want := range map[string]string{
		"/away":   "p (status 307) points to " + other.URL + ", where the key must not go; the base_url may be wrong",
		"/as-get": "p (status 302) points to nowhere, where the key must not go; the base_url may be wrong",
		"/round":  "p (status 307) points to nowhere, where the key must not go; the base_url may be wrong",
		"/same":   "POST {} Bearer sk-secret",
	} {
		l := line(here.URL + path)
		turn, err := l.Ask(t.Context(), &model.Request{}, post(l), texts)
		got := ""
		if err == nil {
			got = turn.Say
		} else if f := failure(t, err); f.Class == model.Refused {
			got = f.Error()
		}
		if got != want {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	if n := others.Load(); n != 0 {
		t.Errorf("the other host was asked %d times", n)
	}
}

// A provider that says nothing is left; one that sends comments is not.
func TestSilence(t *testing.T) {
	for name, c := range map[string]struct {
		first string
		class model.Class
		says  string
	}{
		"from the start": {"", model.Network, "p said nothing for 0.2 s"},
		"in the middle":  {"data: x\n\n", model.Torn, "the answer of p ended in the middle: it said nothing for 0.2 s"},
		"after headers":  {"\n", model.Network, "p closed the connection before it answered: it said nothing for 0.2 s"},
	} {
		t.Run(name, func(t *testing.T) {
			gone := make(chan struct{})
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				defer close(gone)
				io.Copy(io.Discard, r.Body)
				if c.first != "" {
					io.WriteString(w, c.first)
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			})
			l := line(s.URL)
			l.waits = waits{200 * time.Millisecond, 200 * time.Millisecond, time.Minute}
			_, err := l.Ask(t.Context(), &model.Request{}, post(l), texts)
			if f := failure(t, err); f.Class != c.class || f.Error() != c.says {
				t.Errorf("%s %s", f.Class, f)
			}
			<-gone
		})
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for range 40 {
			io.WriteString(w, ": thinking\n\n")
			w.(http.Flusher).Flush()
			time.Sleep(50 * time.Millisecond)
		}
		io.WriteString(w, "data: x\n\ndata: [DONE]\n\n")
	})
	l := line(s.URL)
	l.waits = waits{time.Minute, time.Second, time.Minute}
	if turn, err := l.Ask(t.Context(), &model.Request{}, post(l), texts); err != nil || turn.Say != "x" || turn.By != "p/m" {
		t.Errorf("comments: %+v, %v", turn, err)
	}
}

// What an answer still sends once it is whole is not waited for long.
func TestRest(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: x\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	l := line(s.URL)
	l.waits = waits{time.Hour, time.Hour, 50 * time.Millisecond}
	turn, err := l.Ask(t.Context(), &model.Request{}, post(l), func(e *Events, say Say) (*model.Turn, error) {
		ev, err := e.Next()
		if err != nil {
			return nil, err
		}
		t := &model.Turn{Say: string(ev.Data)}
		e.Rest()
		if _, err := e.Next(); !Ended(err) {
			return nil, err
		}
		return t, nil
	})
	if err != nil || turn.Say != "x" {
		t.Errorf("%+v, %v", turn, err)
	}
}

// A cancelled turn closes the connection at once, whether it has begun or not.
func TestCancel(t *testing.T) {
	for _, begun := range []bool{false, true} {
		at, gone := make(chan struct{}), make(chan struct{})
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			if begun {
				io.WriteString(w, "data: x\n\n")
				w.(http.Flusher).Flush()
			}
			close(at)
			<-r.Context().Done()
			close(gone)
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-at
			cancel()
		}()
		l := line(s.URL)
		if _, err := l.Ask(ctx, &model.Request{}, post(l), texts); !errors.Is(err, context.Canceled) {
			t.Errorf("begun %v: %v", begun, err)
		}
		<-gone
	}
}

// Who listens may stop; that is no failure of the provider.
func TestListenerStops(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "data: x\n\ndata: y\n\n") })
	l := line(s.URL)
	stop := errors.New("enough")
	_, err := l.Ask(t.Context(), &model.Request{Said: func(string) error { return stop }}, post(l), texts)
	if err != stop {
		t.Errorf("%v", err)
	}
	_, err = l.Ask(t.Context(), &model.Request{Said: func(string) error { return nil }}, post(l), texts)
	if f := failure(t, err); f.Class != model.Torn || !f.Said || f.Again() || f.Elsewhere() {
		t.Errorf("%+v", f)
	}
	if _, err = l.Ask(t.Context(), &model.Request{}, post(l), texts); failure(t, err).Said {
		t.Errorf("nobody listened: %v", err)
	}
}

// endless repeats a text until somebody stops reading.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

func events(l *Line, body io.Reader) *Events {
	return newEvents(l, watch(context.Background(), time.Hour), &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body)})
}

func TestLimits(t *testing.T) {
	l := line("http://localhost")
	for name, body := range map[string]io.Reader{
		"a line":       io.MultiReader(strings.NewReader("data: x\n\ndata: "), endless("x")),
		"an event":     endless("data: " + strings.Repeat("x", 1<<20) + "\n"),
		"the answer":   io.MultiReader(strings.NewReader("{"), endless("x")),
		"a field name": endless("x"),
	} {
		e := events(l, body)
		var err error
		for err == nil {
			_, err = e.Next()
		}
		if f := failure(t, err); f.Class != model.Garbled || fail.Exit(err) != fail.ExitLimit || !strings.HasSuffix(f.Error(), "of p has more than 32 MiB") {
			t.Errorf("%s: %s", name, f)
		}
		if _, again := e.Next(); again != err {
			t.Errorf("%s again: %v", name, again)
		}
	}
	e := events(l, strings.NewReader(""))
	if err := e.Keep(maxAnswer); err != nil {
		t.Error(err)
	}
	if err := e.Keep(1); failure(t, err).Error() != "the answer of p has more than 64 MiB" {
		t.Error(err)
	}
	if err := e.Argument(maxArgument); err != nil {
		t.Error(err)
	}
	if err := e.Argument(maxArgument + 1); failure(t, err).Error() != "an argument of p has more than 16 MiB" {
		t.Error(err)
	}
}

// The body of an error is not read for ever.
func TestEndlessError(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		io.Copy(w, endless("x "))
	})
	l := line(s.URL)
	_, err := l.Ask(t.Context(), &model.Request{}, post(l), texts)
	if f := failure(t, err); f.Class != model.Overloaded || len(f.Error()) > 2*maxSaid {
		t.Errorf("%+v", f)
	}
}

func TestEvents(t *testing.T) {
	for body, want := range map[string]string{
		"data: a\n\ndata: b\n\n":                       "a|b|model_torn",
		"data: a\r\n\r\ndata:b\r\n\r\n":                "a|b|model_torn",
		"\xef\xbb\xbfdata: a\n\n":                      "a|model_torn",
		": hi\n\nid: 1\nretry: 3\n\nevent: x\ndata: a": "model_torn",
		"event: x\ndata: {\n":                          "model_torn", "event: x\ndata: {}\n": "x={}|model_torn",
		"data: a\ndata: b\n\n":           "a\nb|model_torn",
		"data:\n\ndata: \n\ndata: a\n\n": "a|model_torn",
		"event: x\n\ndata: a\n\n":        "a|model_torn",
		"data: [DONE]\n\n":               "DONE|model_torn",
		"data: a\xff\n\n":                "a\uFFFD|model_torn",
		"error: {\"a\":1}\n\n":           "error={\"a\":1}|model_torn",
		"data: a\n\n{\"error\":1}\n\n":   "a|{\"error\":1}|model_torn",
		" {\"a\":1}":                     "{\"a\":1}|model_torn",
		"":                               "model_network",
		"\n\n":                           "model_network",
		"<html><title>a\nb</title>":      "model_garbled",
		"nonsense\n":                     "model_torn",
	} {
		e := events(line("http://localhost"), strings.NewReader(body))
		var got []string
		for {
			ev, err := e.Next()
			if err != nil {
				got = append(got, fail.As(err).Code)
				break
			}
			s := string(ev.Data)
			if ev.Done {
				s = "DONE"
			}
			if ev.Name != "" {
				s = ev.Name + "=" + s
			}
			got = append(got, s)
		}
		if g := strings.Join(got, "|"); g != want {
			t.Errorf("%q: %s, want %s", body, g, want)
		}
	}
}

func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"event: a\ndata: {}\n\n", ": c\n\ndata: [DONE]\n\n", "{\"error\":{\"message\":\"x\"}}", "<html><title>x</title>", "data: \xff\r\n\r\n"} {
		f.Add([]byte(seed))
	}
	l := line("http://localhost")
	f.Fuzz(func(t *testing.T, body []byte) {
		e := events(l, bytes.NewReader(body))
		for range len(body) + 2 {
			ev, err := e.Next()
			if err != nil {
				failure(t, err)
				return
			}
			if len(ev.Data) == 0 || len(ev.Data) > 3*len(body) {
				t.Fatalf("%q", ev.Data)
			}
		}
		t.Fatal("there are more events than bytes")
	})
}

func FuzzComplaint(f *testing.F) {
	for _, seed := range []string{`{"error":{"message":"a","type":"b","code":429}}`, `[{"error":{"details":[{"retryDelay":"3s"}]}}]`, `{"detail":[{"msg":"x"}]}`, `"x"`, `{"error":"sk-secret"}`, `{"error":{"metadata":{"raw":"x"}}}`, "sk-se\ncret"} {
		f.Add([]byte(seed), "3")
	}
	l := line("http://localhost")
	f.Fuzz(func(t *testing.T, body []byte, after string) {
		h := http.Header{"Retry-After": {after}}
		failure := failure(t, l.complaint(500, h, body))
		if failure.Wait < 0 || len(failure.Error()) > 2*maxSaid || !json.Valid([]byte(String(failure.Error()))) {
			t.Fatalf("%+v", failure)
		}
	})
}
