package pattern

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// URL is a condition on an address: scheme, then a glob over host and
// path, in which * does not cross a slash.
type URL struct {
	scheme string // "*" for any
	glob   string
}

func ParseURL(text string) (URL, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme == "" || rest == "" {
		return URL{}, fmt.Errorf("expected something like https://example.com/**")
	}
	if strings.ContainsAny(rest, "?#@") {
		return URL{}, fmt.Errorf("only scheme, host and path are compared; leave out user, query and fragment")
	}
	host, tail, hasPath := strings.Cut(rest, "/")
	if !hasPath {
		tail = "**" // a host is everything on it
	}
	p := URL{scheme: strings.ToLower(scheme), glob: dropPort(defaultPort(scheme), strings.ToLower(host)) + "/" + tail}
	if !doublestar.ValidatePattern(p.glob) {
		return p, fmt.Errorf("it is not a valid glob")
	}
	return p, nil
}

// defaultPort returns the default port of a scheme, as it stands behind a host.
func defaultPort(scheme string) string {
	switch strings.ToLower(scheme) {
	case "http", "ws":
		return ":80"
	case "https", "wss":
		return ":443"
	}
	return ""
}

func dropPort(port, host string) string {
	if port == "" {
		return host
	}
	return strings.TrimSuffix(host, port)
}

// Address is a URL in the form that patterns are compared with.
type Address struct {
	scheme string
	rest   string // host/path
}

// ParseAddress reads an address. One with a user name in it, or without a host, is
// not understood.
func ParseAddress(text string) (Address, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme == "" {
		return Address{}, false
	}
	scheme := strings.ToLower(u.Scheme)
	host := strings.TrimSuffix(dropPort(defaultPort(scheme), strings.ToLower(u.Host)), ".")
	tail := path.Clean("/" + u.Path)
	if strings.HasSuffix(u.Path, "/") && tail != "/" {
		tail += "/"
	}
	return Address{scheme: scheme, rest: host + tail}, true
}

func (p *URL) Matches(a Address) bool {
	if p.scheme != "*" && p.scheme != a.scheme {
		return false
	}
	return doublestar.MatchUnvalidated(p.glob, a.rest)
}
