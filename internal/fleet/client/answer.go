package client

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// response returns the buffered answer to a request.
func (a *answer) response(r *http.Request) (*http.Response, error) {
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
