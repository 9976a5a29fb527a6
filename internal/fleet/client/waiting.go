package client

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

// reachWithin is how long a hub may take until it is connected.
const reachWithin = 8 * time.Second

// OnWait sets a function that is called before each request. The function that it returns is
// called when the answer begins or the request fails. OnWait must be called before any request.
func (c *Client) OnWait(begin func() (end func())) { c.onWait = begin }

// do sends a request. Without an answer, it returns an error that contains whether the hub may have executed it.
func (c *Client) do(by *http.Client, r *http.Request) (*http.Response, error) {
	if c.onWait != nil {
		defer c.onWait()()
	}
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) { sent.Store(i.Err == nil) }}
	answer, err := by.Do(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	if err == nil {
		return answer, nil
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the message has the address already
	}
	return nil, c.unanswered(err, sent.Load() && r.Method != http.MethodGet)
}

// unanswered is the error about a request without an answer; mayBeDone tells that the hub received
// a request to change something.
func (c *Client) unanswered(err error, mayBeDone bool) error {
	var late net.Error
	switch {
	case mayBeDone:
		return fmt.Errorf("it is not known whether it was done: the hub at %s received the request and did not answer: %w. Check the result before you try again", c.base, err)
	case errors.As(err, &late) && late.Timeout():
		return fmt.Errorf("cannot ask the hub at %s: it does not answer: %w. Check that it runs, or log in to another hub: fettle login https://HOST:PORT", c.base, err)
	}
	return fmt.Errorf("cannot ask the hub at %s: %w", c.base, err)
}
