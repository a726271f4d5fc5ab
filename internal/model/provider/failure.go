package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/model"
)

// kinds say how each class of failures is told, and what a person may type next.
var kinds = map[model.Class]struct {
	code string
	exit int
	hint string // with PROVIDER and ACCOUNT
}{
	model.RateLimited: {"model_rate_limited", fail.ExitUnavailable, "kx model test PROVIDER"},
	model.Overloaded:  {"model_overloaded", fail.ExitUnavailable, "kx model test PROVIDER"},
	model.Network:     {"model_network", fail.ExitUnavailable, "kx model test PROVIDER"},
	model.Torn:        {"model_torn", fail.ExitFailed, "kx model test PROVIDER"},
	model.Auth:        {"model_auth", fail.ExitUnavailable, "kx secret set model.PROVIDER.ACCOUNT"},
	model.Quota:       {"model_quota", fail.ExitUnavailable, "kx model list"},
	model.Overflow:    {"model_overflow", fail.ExitLimit, ""},
	model.Refused:     {"model_refused", fail.ExitFailed, "kx model test PROVIDER"},
	model.Garbled:     {"model_garbled", fail.ExitUnavailable, "kx model test PROVIDER"},
}

// failure returns a failure of the class, in words.
func (l *Line) failure(class model.Class, status int, format string, args ...any) *model.Failure {
	k := kinds[class]
	err := fail.New(k.code, k.exit, format, args...)
	if k.hint != "" {
		err = err.WithHint("%s", strings.NewReplacer("PROVIDER", l.Provider, "ACCOUNT", l.Account).Replace(k.hint))
	}
	return &model.Failure{Class: class, Status: status, Err: err}
}

// garbled is what is no answer of this kind of provider.
func (l *Line) garbled(status int, format string, args ...any) *model.Failure {
	return l.failure(model.Garbled, status, "what %s sends is no answer of a model: %s", l.Provider, l.clean(fmt.Sprintf(format, args...)))
}

// page is a web page where an answer should be: that of a proxy, of a gateway, or of a
// base address that is not right.
func (l *Line) page(status int, body []byte) *model.Failure {
	says := l.clean(title(body))
	switch {
	case status == http.StatusTooManyRequests:
		return l.failure(model.RateLimited, status, "%s has too many requests: a web page (status %d) says %q", l.Provider, status, says)
	case status >= 500:
		return l.failure(model.Overloaded, status, "%s can't answer now: a web page (status %d) says %q", l.Provider, status, says)
	}
	return l.garbled(status, "a web page (status %d), %q", status, says)
}

// refusal reads the answer to a request that was not taken. A prompt that a filter
// stopped is a turn: asked again, it is stopped again.
func (l *Line) refusal(res *http.Response, body []byte) (*model.Turn, error) {
	status := res.StatusCode
	if status < 400 {
		return nil, l.elsewhere(res)
	}
	if isPage(body) {
		f := l.page(status, body)
		f.Wait, _ = wait(res.Header, nil)
		return nil, f
	}
	c := read(body)
	if c.filtered() {
		return &model.Turn{End: model.EndRefusal, By: l.By()}, nil
	}
	return nil, l.complain(status, res.Header, c)
}

// elsewhere is a redirect, which is not followed to another host.
func (l *Line) elsewhere(res *http.Response) *model.Failure {
	to := "nowhere"
	if u, err := url.Parse(res.Header.Get("Location")); err == nil && u.Host != "" {
		to = u.Scheme + "://" + u.Host
	}
	return l.failure(model.Refused, res.StatusCode,
		"%s (status %d) points to %s, where the key must not go; the base_url may be wrong", l.Provider, res.StatusCode, l.clean(to))
}

// complaint is a failure that stands in an answer that began well.
func (l *Line) complaint(status int, h http.Header, body []byte) *model.Failure {
	c := read(body)
	if c.status >= 400 {
		status = c.status
	} else if status < 400 {
		status = 0
	}
	return l.complain(status, h, c)
}

// complain makes a failure of what a provider complains about.
func (l *Line) complain(status int, h http.Header, c complaint) *model.Failure {
	after, told := wait(h, &c)
	class := c.class(status, told)
	if class == model.RateLimited && h.Get("X-Should-Retry") == "false" {
		class = model.Quota // of the week, or of the month
	}
	who := l.Provider
	how := ""
	if status > 0 {
		how = fmt.Sprintf(" (status %d)", status)
	}
	says := ""
	if said := l.clean(c.text); said != "" {
		says = ": " + said
	}
	var f *model.Failure
	switch class {
	case model.RateLimited:
		if after > 0 {
			how += ", to be asked again in " + span(after)
		}
		f = l.failure(class, status, "%s has too many requests%s%s", who, how, says)
	case model.Overloaded:
		f = l.failure(class, status, "%s can't answer now%s%s", who, how, says)
	case model.Auth:
		if l.Key == "" {
			f = l.failure(class, status, "%s wants a key%s, and none is set%s", who, how, says)
		} else {
			f = l.failure(class, status, "%s refuses the key of the account %s%s%s", who, l.Account, how, says)
		}
	case model.Quota:
		f = l.failure(class, status, "nothing is left on the account %s of %s%s%s", l.Account, who, how, says)
	case model.Overflow:
		f = l.failure(class, status, "the conversation is longer than %s takes%s%s", l.By(), how, says)
	default:
		f = l.failure(class, status, "%s does not take the request%s%s", who, how, says)
		if status == http.StatusNotFound {
			f.Err = f.Err.WithHint("kx model list")
		}
	}
	f.Wait = after
	f.Safe = h.Get("X-Should-Retry") == "true"
	return f
}

// unreached is why no answer came.
func (l *Line) unreached(w *watchdog, err error) error {
	var f *model.Failure
	switch {
	case errors.As(err, &f):
		return f
	case w.silent():
		return l.failure(model.Network, 0, "%s said nothing for %s", l.Provider, span(l.firstWord))
	}
	return l.failure(model.Network, 0, "%s can't be reached at %s: %s", l.Provider, l.Host, l.clean(cause(err)))
}

// cause words an error of the network. The errors of net/http name the whole address,
// with whatever secret stands in it.
func cause(err error) string {
	var (
		dns   *net.DNSError
		cert  *tls.CertificateVerificationError
		alert tls.AlertError
		at    *url.Error
	)
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "there is no host " + dns.Name
	case errors.As(err, &dns):
		return "the name " + dns.Name + " can't be looked up"
	case errors.As(err, &cert):
		return "its certificate does not hold: " + cert.Err.Error()
	case errors.As(err, &alert):
		return alert.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there (connection refused)"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was reset"
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long"
	case errors.As(err, &at):
		err = at.Err
	}
	if strings.HasSuffix(err.Error(), "EOF") {
		return "the connection was closed"
	}
	return err.Error()
}
