package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"fettle.dev/fettle/internal/fleet/route"
)

// Call sends the request of a route with its values and its document, and returns the answer.
//
// The body of a request waits until the hub has the header and answers 100 Continue (RFC 9110,
// section 10.1.1). If the network delays a request until the caller has given up, the hub gets a header
// without a body, and does nothing. Otherwise a freeze could take effect minutes after its caller saw
// an error, and after an unfreeze through another hub.
func Call[A, In, Out any](ctx context.Context, c *Client, r route.Route[A, In, Out], at A, in In) (Out, error) {
	var out Out
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	var body any // of a route without a document
	if r.In != nil {
		body = in
	}
	request, err := c.request(ctx, r.Method, r.Address(at), body)
	if err != nil {
		return out, err
	}
	if body != nil {
		request.Header.Set("Expect", "100-continue")
	}
	answer, err := c.send(request)
	if err != nil {
		return out, err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&out); err != nil {
		return out, fmt.Errorf("cannot read the answer of the hub: %w", err)
	}
	return out, nil
}

// Get is Call for a route that only returns a document.
func Get[Out any](ctx context.Context, c *Client, r route.Route[route.None, route.None, Out]) (Out, error) {
	return Call(ctx, c, r, route.None{}, route.None{})
}

// GetAt is Call for a route whose requests have no document.
func GetAt[A, Out any](ctx context.Context, c *Client, r route.Route[A, route.None, Out], at A) (Out, error) {
	return Call(ctx, c, r, at, route.None{})
}

// Post is Call for a route whose requests have only a document.
func Post[In, Out any](ctx context.Context, c *Client, r route.Route[route.None, In, Out], in In) (Out, error) {
	return Call(ctx, c, r, route.None{}, in)
}
