// Package post sends the documents of hooks to their servers. It is a job of kxd: a
// client of HTTP would make kx slow to start.
//
// The address is the user's word, so any host goes. No proxy is asked, no redirect
// followed, and what is not a plain success is a failure.
package post

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/hook"
)

// Send posts a document and returns the answer.
func Send(ctx context.Context, r hook.Request) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, fail.Usage("the address of the hook can't be used: %v", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "kx")
	c := http.Client{
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true, MaxResponseHeaderBytes: 32 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := c.Do(req)
	if err != nil {
		return nil, fail.Unavailable("no_hook", "%v", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, hook.MaxAnswer+1))
	switch {
	case err != nil:
		return nil, fail.Unavailable("no_hook", "its answer broke off: %v", err)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return nil, fail.Failed("hook_failed", "it answered with status %d", res.StatusCode)
	case len(body) > hook.MaxAnswer:
		return nil, fmt.Errorf("its answer has more than %d bytes", hook.MaxAnswer)
	}
	return body, nil
}
