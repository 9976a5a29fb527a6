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

// mailChannel is the channel that sends mail by SMTP.
type mailChannel document.Mail

// Check requires addresses, a server, and either no login or a complete one.
func (m *mailChannel) Check() error {
	errs := []error{checkFiles(m.Password)}
	if len(m.To) == 0 || len(m.To) > 50 {
		errs = append(errs, errors.New("cannot send mail: a rule needs 1 to 50 addresses"))
	}
	for _, a := range append([]string{m.From}, m.To...) {
		if _, err := mail.ParseAddress(a); err != nil {
			errs = append(errs, fmt.Errorf("cannot send mail from or to %.80q: %w", a, err))
		}
	}
	if _, _, err := mailServer(m.Server); err != nil {
		errs = append(errs, err)
	}
	if (m.User == "") != (m.Password == "") {
		errs = append(errs, errors.New("cannot log in to the mail server: give both a user and the file of its password"))
	}
	return errors.Join(errs...)
}

// Send sends one mail. The notice is delivered when the server has accepted it.
func (m *mailChannel) Send(ctx context.Context, s *Sender, n document.Notice) error {
	c, err := m.connect(ctx, s)
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
		_, err = w.Write(m.letter(n, from))
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

// connect returns an authenticated connection. It uses TLS, except to the local host.
func (m *mailChannel) connect(ctx context.Context, s *Sender) (*smtp.Client, error) {
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
	conf := mailTLS(s.TLS, name)
	if port == tlsPort {
		conn = tls.Client(conn, conf)
	}
	c, err := smtp.NewClient(conn, name)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot communicate with the mail server %s: %w", m.Server, err), conn.Close())
	}
	if err := m.secure(s, c, name, port, conf); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func mailTLS(base *tls.Config, name string) *tls.Config {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if base != nil {
		conf = base.Clone()
	}
	conf.ServerName = name
	return conf
}

// secure starts TLS and logs in. It refuses a remote server without TLS.
func (m *mailChannel) secure(s *Sender, c *smtp.Client, name, port string, conf *tls.Config) error {
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
	password, err := s.Secret(m.Password)
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
func (m *mailChannel) letter(n document.Notice, from *mail.Address) []byte {
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
