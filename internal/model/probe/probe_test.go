package probe

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/pkg/wire"
)

// caller is a model behind a server: each line of what that answers is a piece, and
// its status says what is wrong.
type caller struct {
	client *http.Client
	url    string
	turn   *model.Turn
}

func (c *caller) Close() error { return nil }

func (c *caller) Turn(ctx context.Context, q *model.Request) (*model.Turn, error) {
	failed := func(class model.Class, err error) error {
		f := &model.Failure{Class: class, Err: fail.Unavailable("model_"+string(class), "%v", err)}
		if f.Again() {
			if err := q.Retry(f); err != nil {
				return err
			}
		}
		return f
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, nil)
	if err != nil {
		return nil, err
	}
	res, err := c.client.Do(req)
	if err != nil {
		return nil, failed(model.Network, err)
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case 401:
		return nil, failed(model.Auth, errors.New("the key is refused"))
	case 404:
		return nil, failed(model.Refused, errors.New("there is no such model"))
	case 529:
		return nil, failed(model.Overloaded, errors.New("it is busy"))
	}
	body, err := io.ReadAll(res.Body)
	for _, piece := range strings.Fields(string(body)) {
		if err := q.Said(piece); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, failed(model.Torn, errors.New("the answer ended in the middle"))
	}
	return c.turn, nil
}

func TestProbe(t *testing.T) {
	call := model.Call{Tool: toolName, Input: json.RawMessage(`{"word":"ready"}`)}
	good := &model.Turn{Say: "ready", Calls: []model.Call{call}, Usage: &model.Usage{Input: 40, Output: 9}}
	broken := call
	broken.Broken = "no JSON"
	for name, tc := range map[string]struct {
		status int
		body   string
		turn   *model.Turn
		tls    bool
		broken string // the way to the server is broken there
		want   string // the states of the stages by their first letters
		exit   int
		words  string
	}{
		"a good one":            {200, "re ady", good, false, "", "sosooOo", 0, ""},
		"a whole answer":        {200, "", good, false, "", "sosooOo", 0, ""},
		"a tool alone":          {200, "", &model.Turn{Calls: []model.Call{call}}, false, "", "sosooso", 0, ""},
		"no tools":              {200, "ready", &model.Turn{Say: "ready"}, false, "", "sosoooF", 1, "calls no tool"},
		"another tool":          {200, "", &model.Turn{Calls: []model.Call{{Tool: "bash"}}}, false, "", "sosoosF", 1, `calls "bash"`},
		"broken arguments":      {200, "", &model.Turn{Calls: []model.Call{broken}}, false, "", "sosoosF", 1, "can't be read: no JSON"},
		"a refusal":             {200, "no", &model.Turn{Say: "no", End: model.EndRefusal}, false, "", "sosoooF", 1, "refuses"},
		"a key that is wrong":   {401, "", nil, false, "", "sosFsss", 5, "the key is refused"},
		"a model that isn't":    {404, "", nil, false, "", "sosoFss", 5, "no such model"},
		"a busy one":            {529, "", nil, false, "", "sosoFss", 5, "it is busy"},
		"a torn answer":         {200, "torn", nil, false, "", "sosooFs", 5, "ended in the middle"},
		"nobody listens":        {0, "", nil, false, TCP, "sFsssss", 5, "refused"},
		"no such host":          {0, "", nil, false, DNS, "Fssssss", 5, "no names here"},
		"a certificate":         {200, "", good, true, TLS, "soFssss", 5, "certificate"},
		"a certificate we know": {200, "ready", good, true, "", "soooooo", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tc.body == "torn" {
					w.Header().Set("Content-Length", "100")
				}
				w.WriteHeader(tc.status)
				io.WriteString(w, tc.body)
			})
			s := httptest.NewUnstartedServer(handler)
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			if tc.tls {
				s.StartTLS()
			} else {
				s.Start()
			}
			defer s.Close()
			c := &caller{client: s.Client(), url: s.URL, turn: tc.turn}
			switch tc.broken {
			case TCP:
				s.Close()
			case TLS:
				c.client = &http.Client{}
			case DNS:
				nobody := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no names here") }}
				c.client = &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Resolver: nobody}).DialContext}}
				c.url = "http://host.invalid/"
			}
			var doc wire.ModelTest
			_, err := Run(t.Context(), c, true, time.Now, &doc)
			got := ""
			for i, s := range doc.Stages {
				if s.Stage != stages[i] {
					t.Errorf("stage %d is %s", i, s.Stage)
				}
				letter := s.State[:1]
				if s.State == failed {
					letter = "F"
					if !strings.Contains(s.Detail, tc.words) {
						t.Errorf("%s says %q, want %q", s.Stage, s.Detail, tc.words)
					}
				}
				got += letter
			}
			if want := strings.ReplaceAll(tc.want, "O", "o"); got != want {
				t.Errorf("%s, want %s: %+v", got, want, doc.Stages)
			}
			if fail.Exit(err) != tc.exit || doc.OK != (err == nil) || (doc.Error == nil) != (err == nil) {
				t.Errorf("%v, want %d; %+v", err, tc.exit, doc)
			}
		})
	}
}

// A server that says nothing is left after a while, and at once when somebody says so.
func TestInterrupt(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer s.CloseClientConnections()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(200*time.Millisecond))
	defer cancel()
	var doc wire.ModelTest
	if _, err := Run(ctx, &caller{client: s.Client(), url: s.URL}, false, time.Now, &doc); fail.Exit(err) != fail.ExitTimeout || doc.Stages[4].State != failed {
		t.Errorf("%v, %+v", err, doc.Stages)
	}
}
