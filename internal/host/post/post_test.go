package post

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kxtools/kx/internal/gate/hook"
)

func TestSend(t *testing.T) {
	got := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.Header.Get("Content-Type") + " " + string(body)
		switch r.URL.Path {
		case "/ok":
			io.WriteString(w, `{"permission":"allow"}`)
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/moved":
			http.Redirect(w, r, "/ok", http.StatusTemporaryRedirect)
		case "/large":
			io.WriteString(w, strings.Repeat("x", hook.MaxAnswer+1))
		case "/torn":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, `{"permission":"allow"}`)
		default:
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, `{"permission":"allow"}`)
		}
	}))
	defer s.Close()
	for path, want := range map[string]string{"/ok": `{"permission":"allow"}`, "/none": "", "/moved": "error", "/large": "error", "/torn": "error", "/failed": "error"} {
		b, err := Send(t.Context(), hook.Request{URL: s.URL + path, Body: []byte(`{"a":1}`)})
		answer := string(b)
		if err != nil {
			answer = "error"
		}
		if answer != want {
			t.Errorf("%s: %q, %v", path, answer, err)
		}
		if got != `POST application/json {"a":1}` {
			t.Errorf("%s: the server got %s", path, got)
		}
	}
	if _, err := Send(t.Context(), hook.Request{URL: "http://127.0.0.1:1/"}); err == nil {
		t.Error("nobody answers, and it is no failure")
	}
}
