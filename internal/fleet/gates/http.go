package gates

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// maxBytes limits an answer.
const maxBytes = 1 << 20

// send sends a request, and returns the status and the body of the answer. Its errors do not contain the URL.
func send(req *http.Request) (status int, body []byte, err error) {
	c := http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req.Header.Set("User-Agent", "fettle")
	resp, err := c.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return 0, nil, fmt.Errorf("cannot reach %s: %w", req.URL.Host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxBytes+1))
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("cannot read the answer of %s: %w", req.URL.Host, err)
	case len(body) > maxBytes:
		return 0, nil, fmt.Errorf("the answer of %s is longer than 1 MiB", req.URL.Host)
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return 0, nil, fmt.Errorf("%s answers with a redirect, so set url to the final address", req.URL.Host)
	}
	return resp.StatusCode, body, nil
}
