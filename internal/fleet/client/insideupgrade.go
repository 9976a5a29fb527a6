package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
)

// upgraded returns the answer of a handler to a request that turns its connection into a stream. The context of the
// request limits only the answer: the stream ends when one end closes it.
func upgraded(h http.Handler, r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	stop := context.AfterFunc(r.Context(), cancel)
	a := &upgradable{answer: answer{header: http.Header{}}, taken: make(chan net.Conn, 1)}
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- a.serve(h, r.WithContext(ctx))
	}()
	select {
	case conn := <-a.taken:
		stop()
		return switched(r, conn)
	case err := <-ended:
		if err == nil {
			err = r.Context().Err()
		}
		if err != nil {
			return nil, err
		}
	}
	select { // it can have ended as a stream already
	case conn := <-a.taken:
		return switched(r, conn)
	default:
		return a.response(r)
	}
}

// switched reads the answer of a handler from the stream. The rest of the stream is the body.
func switched(r *http.Request, conn net.Conn) (*http.Response, error) {
	from := bufio.NewReader(conn)
	out, err := http.ReadResponse(from, r)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	out.Body = readAhead{from, conn}
	return out, nil
}

// readAhead is a connection of which a reader has buffered the next bytes.
type readAhead struct {
	io.Reader
	net.Conn
}

// Read implements io.Reader.
func (b readAhead) Read(p []byte) (int, error) { return b.Reader.Read(p) }

// upgradable is an answer that can become a stream.
type upgradable struct {
	answer
	taken chan net.Conn // the other end of the stream
}

// serve calls a handler. A panic is an error, as in a server.
func (a *upgradable) serve(h http.Handler, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the handler failed: %v", p)
		}
	}()
	h.ServeHTTP(a, r)
	return nil
}

// Hijack implements http.Hijacker.
func (a *upgradable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	theirs, ours := net.Pipe()
	select {
	case a.taken <- ours:
	default:
		return nil, nil, http.ErrHijacked
	}
	return theirs, bufio.NewReadWriter(bufio.NewReader(theirs), bufio.NewWriter(theirs)), nil
}
