package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// tlsPort is the port on which mail servers expect TLS from the start.
const tlsPort = "465"

func mailServer(address string) (name, port string, err error) {
	name, port, err = net.SplitHostPort(address)
	if err != nil || name == "" || port == "" {
		return "", "", fmt.Errorf("cannot send mail by %.80q: write the server as HOST:PORT", address)
	}
	return name, port, nil
}

// mail sends one mail. The notice is delivered when the server has accepted it.
func (s *Sender) mail(ctx context.Context, m document.Mail, n document.Notice) error {
	c, err := s.mailConnection(ctx, m)
	if err != nil {
		return err
	}
	defer c.Close()
	from, err := mail.ParseAddress(m.From)
	if err != nil {
		return err
	}
	if err := c.Mail(from.Address); err != nil {
		return fmt.Errorf("cannot send mail as %s: %w", from.Address, err)
	}
	for _, text := range m.To {
		to, err := mail.ParseAddress(text)
		if err != nil {
			return err
		}
		if err := c.Rcpt(to.Address); err != nil {
			return fmt.Errorf("cannot send mail to %s: %w", to.Address, err)
		}
	}
	w, err := c.Data()
	if err == nil {
		_, err = w.Write(letter(m, n, from))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return fmt.Errorf("cannot send mail by %s: %w", m.Server, err)
	}
	_ = c.Quit() // the mail is accepted already
	return nil
}

// mailConnection returns an authenticated connection. It uses TLS, except to the local host.
func (s *Sender) mailConnection(ctx context.Context, m document.Mail) (*smtp.Client, error) {
	name, port, err := mailServer(m.Server)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", m.Server)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the mail server %s: %w", m.Server, err)
	}
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end)
	}
	conf := s.mailTLS(name)
	if port == tlsPort {
		conn = tls.Client(conn, conf)
	}
	c, err := smtp.NewClient(conn, name)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot communicate with the mail server %s: %w", m.Server, err), conn.Close())
	}
	if err := s.secure(c, m, name, port, conf); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (s *Sender) mailTLS(name string) *tls.Config {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.TLS != nil {
		conf = s.TLS.Clone()
	}
	conf.ServerName = name
	return conf
}

// secure starts TLS and logs in. It refuses a remote server without TLS.
func (s *Sender) secure(c *smtp.Client, m document.Mail, name, port string, conf *tls.Config) error {
	if port != tlsPort {
		if can, _ := c.Extension("STARTTLS"); can {
			if err := c.StartTLS(conf); err != nil {
				return fmt.Errorf("cannot start TLS with the mail server %s: %w", m.Server, err)
			}
		} else if !nearby(name) {
			return fmt.Errorf("cannot send mail by %s: it offers no STARTTLS", m.Server)
		}
	}
	if m.User == "" {
		return nil
	}
	password, err := s.secret(m.Password)
	if err != nil {
		return err
	}
	if err := c.Auth(smtp.PlainAuth("", m.User, password, name)); err != nil {
		return fmt.Errorf("cannot log in to the mail server %s as %s: %w", m.Server, m.User, err)
	}
	return nil
}

func nearby(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// letter returns the mail. Texts of a notice appear in its headers only encoded.
func letter(m document.Mail, n document.Notice, from *mail.Address) []byte {
	var out bytes.Buffer
	header := func(name, value string) {
		fmt.Fprintf(&out, "%s: %s\r\n", name, strings.Map(oneLine, value))
	}
	header("From", from.String())
	header("To", strings.Join(m.To, ", "))
	header("Subject", mime.QEncoding.Encode("utf-8", n.Subject))
	header("Date", time.Unix(0, n.At).UTC().Format(time.RFC1123Z))
	header("Message-ID", "<"+n.ID+"@fettle>")
	header("Auto-Submitted", "auto-generated")
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	out.WriteString("\r\n")
	w := quotedprintable.NewWriter(&out)
	_, _ = w.Write([]byte(n.Text)) // in memory, so it cannot fail
	_ = w.Close()
	return out.Bytes()
}

// oneLine replaces line breaks in headers.
func oneLine(r rune) rune {
	if r == '\r' || r == '\n' || r == 0 {
		return ' '
	}
	return r
}
