package client

import (
	"net/http"
)

// Inside returns a client whose requests a handler in this process answers. They have the address, the TLS state and
// the user agent of the request on: the audit log and the limits must see its sender. The token may be "", if the
// certificate of the TLS state authenticates. It buffers answers, so it cannot follow a stream of documents. Executors
// work.
func Inside(h http.Handler, token string, on *http.Request) *Client {
	c := &http.Client{Transport: inside{h, on},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Client{base: "https://hub", token: token, http: c, streams: c}
}

// inside is a transport without a network.
type inside struct {
	http.Handler
	on *http.Request
}

// RoundTrip implements http.RoundTripper.
func (t inside) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.Clone(r.Context())
	q.RemoteAddr, q.TLS, q.Host, q.RequestURI = t.on.RemoteAddr, t.on.TLS, t.on.Host, r.URL.RequestURI()
	q.Header.Set("User-Agent", t.on.UserAgent())
	q.Header.Del("Expect") // the body is here already
	if q.Body == nil {
		q.Body = http.NoBody
	}
	defer q.Body.Close()
	if q.Header.Get("Upgrade") != "" {
		return upgraded(t.Handler, q)
	}
	a := &answer{header: http.Header{}}
	t.ServeHTTP(a, q)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return a.response(r)
}
