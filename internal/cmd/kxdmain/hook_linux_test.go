package kxdmain_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A server that is a hook is asked by kxd, and allows as a program does.
func TestHookServer(t *testing.T) {
	u := newUser(t)
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var doc struct {
			Event   string
			Payload struct{ Input struct{ Path string } }
		}
		if json.NewDecoder(r.Body).Decode(&doc) != nil || doc.Event != "permission_request" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		asked.Add(1)
		if strings.HasSuffix(doc.Payload.Input.Path, "/docs.md") {
			io.WriteString(w, `{"permission":"allow"}`)
		}
	}))
	defer s.Close()
	u.write("config/config.toml", "[[hooks.permission_request]]\nurl = \""+s.URL+"/hook\"\n")
	u.env = append(u.env, "KX_KXD=/bin/false") // which no hook goes by
	u.kx(0, "call", "write_file", `{"path":"docs.md","content":"x"}`)
	u.kx(4, "call", "write_file", `{"path":"src.go","content":"x"}`)
	if got := u.read("home/ws/docs.md"); got != "x" || asked.Load() != 2 {
		t.Errorf("docs.md holds %q, asked %d times", got, asked.Load())
	}
}
