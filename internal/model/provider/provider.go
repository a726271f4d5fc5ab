// Package provider is what the clients of all providers have in common: how a request
// goes out and its answer comes in, what went wrong with it, how pieces of tool calls
// become calls, and in which order the messages of a conversation must stand. The
// dialects of the providers are the packages that call it, and nobody else does.
//
// These always hold. A turn comes only from an answer that ended as its dialect says it
// must. The key goes to the host of the base address and to no other, and never into an
// error. What is read of an answer is bounded. A proxy counts as for any program:
// HTTPS_PROXY, HTTP_PROXY and NO_PROXY; no other variable is read.
package provider

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/kxtools/kx/internal/model"
)

const (
	// connect is how long a host may take to be connected to: two lost packets.
	connect = 20 * time.Second
	// firstWord is how long a provider may take before it sends anything: a local
	// one loads its model and reads a long prompt first.
	firstWord = 10 * time.Minute
	// idle is how long it may then be silent. Those that think send pings, or
	// comments, several times a minute.
	idle = 5 * time.Minute
	// rest is how long the end of a stream is waited for once the answer is whole:
	// what may still come is the count of tokens.
	rest = 5 * time.Second
	// maxHeader bounds the headers of an answer; those of providers have 4 KiB.
	maxHeader = 1 << 20
	// idleConns is how many connections to a host stay open between two turns.
	idleConns = 4
)

// Options say which model is asked, where, and on whose account.
type Options struct {
	Provider string // its name in the configuration, for By and for messages
	Account  string // its name in the configuration, for messages
	BaseURL  string // "" for the provider's own
	Key      string // "" for a server that wants none
	Model    string

	MaxOutput int    // tokens of an answer, 0 for what the model does by itself
	Thinking  int    // tokens of thinking, 0 for what the model does by itself
	Effort    string // low, medium, high..., "" for what the model does by itself

	HTTP *http.Client // nil for one that all share
}

// Line is the way to one model of one provider.
type Line struct {
	Options
	Client *http.Client
	Host   string // of the base address, for messages
	waits
}

// waits are the times of the constants above; tests have shorter ones.
type waits struct{ firstWord, idle, rest time.Duration }

// NewLine returns the way to the model; base is the provider's own address.
func NewLine(o Options, base string) *Line {
	if o.BaseURL == "" {
		o.BaseURL = base
	}
	if o.Account == "" {
		o.Account = "default"
	}
	l := &Line{Options: o, waits: waits{firstWord, idle, rest}}
	if u, err := url.Parse(o.BaseURL); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		l.Host = u.Host
	}
	client := o.HTTP
	if client == nil {
		client = shared()
	}
	own := *client
	own.CheckRedirect = sameHost
	own.Transport = bounded{client.Transport}
	l.Client = &own
	return l
}

// By says which model answered.
func (l *Line) By() string { return l.Provider + "/" + l.Model }

// Native returns the message in the provider's words, as it stands in a turn.
func (l *Line) Native(dialect string, content []byte) *model.Native {
	return &model.Native{Dialect: dialect, Model: l.Model, Content: content}
}

// Speaks reports whether n can be given back word for word.
func (l *Line) Speaks(dialect string, n *model.Native) bool {
	return n != nil && n.Dialect == dialect && n.Model == l.Model && len(n.Content) > 0
}

// Stop ends the connections that stay open. Those that all share end with the process.
func (l *Line) Stop() {
	if l.HTTP != nil {
		l.HTTP.CloseIdleConnections()
	}
}

// shared is the client of all who bring none, so that accounts share connections.
var shared = sync.OnceValue(func() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    connect,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    idleConns,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
	}}
})

// sameHost follows a redirect to the same host, in the same way of asking; any other
// is the answer. The key must not travel.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || r.Method != first.Method || r.URL.Scheme != first.URL.Scheme || !strings.EqualFold(r.URL.Host, first.URL.Host) {
		return http.ErrUseLastResponse
	}
	return nil
}

// bounded cuts the bodies of errors short: the SDKs read them whole.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	next := b.next
	if next == nil {
		next = http.DefaultTransport
	}
	res, err := next.RoundTrip(r)
	if err == nil && res.StatusCode >= 300 {
		res.Body = cut(res.Body, maxError)
	}
	return res, err
}
