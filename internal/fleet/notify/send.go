package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// SendTimeout limits the duration of one attempt.
const SendTimeout = 20 * time.Second

// Sender sends notices. Its methods are safe for concurrent use.
type Sender struct {
	Files host.FS
	// Dir is the directory of the secrets and programs to which rules refer.
	Dir string
	// Run runs a program with stdin as its standard input, until ctx ends. If it is nil, commands
	// fail.
	Run func(ctx context.Context, argv []string, stdin []byte) error
	// TLS is the configuration for mail servers and webhooks. nil means the trusted certificates of
	// the system.
	TLS *tls.Config
}

// Send makes one attempt to deliver a notice. Its errors contain no secrets.
func (s *Sender) Send(ctx context.Context, r document.Notification, n document.Notice) error {
	ctx, stop := context.WithTimeout(ctx, SendTimeout)
	defer stop()
	switch {
	case r.Webhook != nil:
		return s.webhook(ctx, *r.Webhook, n)
	case r.Mail != nil:
		return s.mail(ctx, *r.Mail, n)
	case r.Command != nil:
		return s.command(ctx, *r.Command, n)
	}
	return errors.New("cannot send a notice: the rule has no webhook, mail or command")
}

// secret reads a file of the directory, without leading and trailing white space.
func (s *Sender) secret(name string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	text, err := smallfile.Read(s.Files, path.Join(s.Dir, name))
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(text)), nil
}

func (s *Sender) webhook(ctx context.Context, w document.Webhook, n document.Notice) error {
	address := w.URL
	if w.File != "" {
		var err error
		if address, err = s.secret(w.File); err != nil {
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
		secret, err := s.secret(w.Sign)
		if err != nil {
			return err
		}
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		req.Header.Set("X-Fettle-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
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

// withoutURL removes the URL from an error, because it may be a secret.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func (s *Sender) command(ctx context.Context, c document.Command, n document.Notice) error {
	if s.Run == nil {
		return errors.New("cannot run a program: this hub was started without this ability")
	}
	if err := CheckName(c.Program); err != nil {
		return err
	}
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := s.Run(ctx, append([]string{path.Join(s.Dir, c.Program)}, c.Args...), append(body, '\n')); err != nil {
		return fmt.Errorf("cannot run %s: %w", c.Program, err)
	}
	return nil
}
