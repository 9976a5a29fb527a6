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

// reachWithin is the time limit of a connection to a hub.
const reachWithin = 8 * time.Second

// OnWait sets a function that is called before each request. The function that it returns is
// called when the answer begins or the request fails. OnWait must be called before any request.
func (c *Client) OnWait(begin func() (end func())) { c.onWait = begin }

// do sends a request. If there is no answer, the error says whether the hub could have executed the
// request.
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

// unanswered returns the error of a request without an answer. mayBeDone reports that the hub
// received a request for a change.
func (c *Client) unanswered(err error, mayBeDone bool) error {
	var late net.Error
	switch {
	case mayBeDone:
		return fmt.Errorf(
			"the result of the request is unknown: the hub at %s received it and did not answer: %w. "+
				"Check the result before you try again", c.base, err)
	case errors.As(err, &late) && late.Timeout():
		return fmt.Errorf(
			"cannot reach the hub at %s: it does not answer: %w. Check that it runs, or log in to another hub: "+
				"fettle login https://HOST:PORT", c.base, err)
	}
	return fmt.Errorf("cannot reach the hub at %s: %w", c.base, err)
}
