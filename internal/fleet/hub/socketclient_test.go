package hub_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet/pki"
)

type socketAPI struct{ http http.Client }

func socketClient(file string) socketAPI {
	return socketAPI{http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", file)
		}}}}
}

func (c socketAPI) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://hub"+path, body)
	if err != nil {
		return err
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%d %s %w", resp.StatusCode, text, err)
	}
	return json.Unmarshal(text, out)
}

// idTLS returns the settings for connections of a target.
func idTLS(id *pki.Identity) func() (*tls.Config, error) {
	return func() (*tls.Config, error) {
		return id.TLS(nil, time.Now, func() time.Time { return time.Time{} }), nil
	}
}
