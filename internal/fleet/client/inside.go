package client

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// Inside returns a client whose requests a handler in this process answers. They have the address, the TLS state and
// the user agent of the request on: the audit log and the limits must see its sender. The token may be "", if the
// certificate of the TLS state authenticates. It buffers answers, so it cannot follow a stream.
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
	a := &answer{header: http.Header{}}
	t.ServeHTTP(a, q)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if a.long {
		return nil, errors.New("the answer is too long")
	}
	status := max(a.status, http.StatusOK)
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: r}, nil
}

// answer is a http.ResponseWriter in memory.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
	long   bool
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(text []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.body.Len()+len(text) > maxAnswer {
		a.long = true
		return 0, errors.New("the answer is too long")
	}
	return a.body.Write(text)
}
