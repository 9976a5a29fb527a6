// Package probe asks the network what a check wants to know: does a URL answer,
// does a port accept.
//
//	status, body, err := probe.Net{}.HTTP(ctx, "http://127.0.0.1/")
package probe

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// attempt is the default time limit of one attempt.
const attempt = 5 * time.Second

// maxBody is how much of an answer is read, in bytes.
const maxBody = 1 << 20

// Net is the real network. It keeps no connection open.
type Net struct {
	// Hubs sends a request about barriers and signals to the hubs of the fleet. nil: the host has no agent.
	Hubs func(ctx context.Context, request []byte) ([]byte, error)
	// Limit is the time limit of one attempt to connect, or to get a URL; 0 is 5 seconds.
	Limit time.Duration
}

func (n Net) limit() time.Duration { return cmp.Or(n.Limit, attempt) }

// HTTP gets a URL. It does not follow redirects, so that a check examines exactly its URL. The body is
// cut at 1 MiB.
func (n Net) HTTP(ctx context.Context, url string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, n.limit())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, fmt.Errorf("cannot request %s: %w", url, err)
	}
	c := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, maxBody))
	return res.StatusCode, body, err
}

// TCP connects to host:port and hangs up.
func (n Net) TCP(ctx context.Context, address string) error {
	d := net.Dialer{Timeout: n.limit()}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return c.Close()
}
