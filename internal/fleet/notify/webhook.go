package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
)

// webhookChannel is the channel that sends JSON by HTTP.
type webhookChannel document.Webhook

// Check requires a URL, or the name of a file with the URL.
func (w *webhookChannel) Check() error {
	if (w.URL == "") == (w.File == "") {
		return errors.New("cannot send to the webhook: give either its URL, or a file with the URL")
	}
	if w.URL != "" {
		if _, err := webhookURL(w.URL); err != nil {
			return err
		}
	}
	return checkFiles(w.File, w.Sign)
}

func webhookURL(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return nil, errors.New("cannot send to this URL: write https://HOST/PATH, without a password")
	}
	return u, nil
}

// Send posts the notice as JSON. A signature proves the sender if the rule has a secret.
func (w *webhookChannel) Send(ctx context.Context, s *Sender, n document.Notice) error {
	address := w.URL
	if w.File != "" {
		var err error
		if address, err = s.Secret(w.File); err != nil {
			return err
		}
	}
	u, err := webhookURL(address)
	if err != nil {
		return err
	}
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return errors.New("cannot create a request for the URL of the webhook")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "fettle")
	req.Header.Set("Idempotency-Key", n.ID)
	if w.Sign != "" {
		secret, err := s.Secret(w.Sign)
		if err != nil {
			return err
		}
		req.Header.Set(SignatureHeader, Signature(secret, body))
	}
	c := http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: s.TLS, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := c.Do(req)
	if err != nil {
		return fmt.Errorf("cannot reach the webhook at %s: %w", u.Host, withoutURL(err))
	}
	_ = resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("cannot notify the webhook at %s: it answers %s", u.Host, resp.Status)
	}
	return nil
}

// SignatureHeader is the header with the Signature of a request.
const SignatureHeader = "X-Fettle-Signature"

// Signature returns the proof that the owner of a secret sent the body of a request.
func Signature(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// withoutURL removes the URL from an error, because it may be a secret.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
