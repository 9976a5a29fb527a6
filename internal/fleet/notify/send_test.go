package notify_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/notify"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host/mem"
)

// sender is a Sender with its secrets in memory.
func sender(t *testing.T, secrets map[string]string) *notify.Sender {
	t.Helper()
	files := mem.New(mem.Options{})
	if err := smallfile.Directory(files, "/notify"); err != nil {
		t.Fatal(err)
	}
	for name, text := range secrets {
		if err := smallfile.Write(files, "/notify/"+name, []byte(text+"\n")); err != nil {
			t.Fatal(err)
		}
	}
	return &notify.Sender{Files: files, Dir: "/notify"}
}

func TestWebhook(t *testing.T) {
	status, got := http.StatusNoContent, &http.Request{}
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		if r.URL.Path == "/elsewhere" {
			http.Redirect(w, r, "/s3cret", http.StatusFound)
			return
		}
		w.WriteHeader(status)
	}))
	defer srv.Close()
	s := sender(t, map[string]string{"url": srv.URL + "/s3cret", "key": "k3y"})
	r := document.Notification{Name: "ops", Webhook: &document.Webhook{File: "url", Sign: "key"}}
	n := notify.Compose("acme", r, notify.Example(r, "id7", 0))
	if err := s.Send(t.Context(), r, n); err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte("k3y"))
	mac.Write(body)
	if got.URL.Path != "/s3cret" || got.Header.Get("Idempotency-Key") != "id7" ||
		got.Header.Get("X-Fettle-Signature") != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
		t.Errorf("%s %v", got.URL, got.Header)
	}
	var back document.Notice
	if err := json.Unmarshal(body, &back); err != nil || back.ID != "id7" || back.Format != document.NoticeFormat ||
		len(back.Items) != 1 {
		t.Errorf("%v %s", err, body)
	}
	status = http.StatusInternalServerError
	if err := s.Send(t.Context(), r, n); err == nil || !strings.Contains(err.Error(), "500") ||
		strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
	if err := s.Send(t.Context(), document.Notification{Webhook: &document.Webhook{URL: srv.URL + "/elsewhere"}},
		n); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("a redirect is followed: %v", err)
	}
	srv.Close()
	if err := s.Send(t.Context(), r, n); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
	if err := s.Send(t.Context(), document.Notification{Webhook: &document.Webhook{File: "none"}}, n); err == nil {
		t.Error("a URL that is not there is taken")
	}
}

func TestCommand(t *testing.T) {
	s := sender(t, nil)
	r := document.Notification{Name: "page", Command: &document.Command{Program: "page",
		Args: []string{"--to", "ann; rm -rf /"}}}
	n := notify.Compose("acme", r, notify.Example(r, "id7", 0))
	if err := s.Send(t.Context(), r, n); err == nil {
		t.Error("a hub that runs none has run one")
	}
	var argv []string
	var in []byte
	s.Run = func(ctx context.Context, a []string, stdin []byte) error {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("it may run for ever")
		}
		argv, in = a, stdin
		return errors.New("it ended with 3")
	}
	if err := s.Send(t.Context(), r, n); err == nil || err.Error() != "cannot run page: it ended with 3" {
		t.Error(err)
	}
	if strings.Join(argv, "|") != "/notify/page|--to|ann; rm -rf /" || !bytes.Contains(in, []byte(`"id":"id7"`)) {
		t.Errorf("%q %s", argv, in)
	}
}

// mailServer is a minimal SMTP server.
type mailServer struct {
	net.Listener
	tls      *tls.Config
	startTLS bool
	password string // "" lets everybody send

	mu      sync.Mutex
	letters []string
	lines   []string // all that was said, but for letters
}

func (m *mailServer) serve() {
	for {
		c, err := m.Accept()
		if err != nil {
			return
		}
		go m.talk(c)
	}
}

func (m *mailServer) talk(c net.Conn) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	secure, known := false, m.password == ""
	say := func(text string) { _, _ = io.WriteString(c, text+"\r\n") }
	say("220 mail")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		m.mu.Lock()
		m.lines = append(m.lines, line)
		m.mu.Unlock()
		switch word, rest, _ := strings.Cut(line, " "); strings.ToUpper(word) {
		case "EHLO":
			say("250-mail")
			if m.startTLS && !secure {
				say("250-STARTTLS")
			}
			say("250 AUTH PLAIN")
		case "STARTTLS":
			say("220 go on")
			t := tls.Server(c, m.tls)
			c, in, secure = t, bufio.NewReader(t), true
		case "AUTH":
			text, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
			if known = secure && strings.HasSuffix(string(text), "\x00"+m.password); known {
				say("235 welcome")
			} else {
				say("535 who are you")
			}
		case "MAIL":
			if known {
				say("250 ok")
			} else {
				say("530 log in")
			}
		case "RCPT":
			say("250 ok")
		case "DATA":
			say("354 go on")
			var text strings.Builder
			for l, err := in.ReadString('\n'); err == nil && l != ".\r\n"; l, err = in.ReadString('\n') {
				text.WriteString(l)
			}
			m.mu.Lock()
			m.letters = append(m.letters, text.String())
			m.mu.Unlock()
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("500 what")
		}
	}
}

func newMailServer(t *testing.T, startTLS bool, password string) (*mailServer, *tls.Config) {
	t.Helper()
	// The certificate of httptest is for 127.0.0.1.
	web := httptest.NewTLSServer(http.NotFoundHandler())
	defer web.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mailServer{Listener: l, tls: web.TLS.Clone(), startTLS: startTLS, password: password}
	t.Cleanup(func() { _ = l.Close() })
	go m.serve()
	return m, web.Client().Transport.(*http.Transport).TLSClientConfig
}

func TestMail(t *testing.T) {
	m, believed := newMailServer(t, true, "p4ss")
	s := sender(t, map[string]string{"password": "p4ss", "wrong": "other"})
	s.TLS = believed
	r := document.Notification{Name: "ops", Mail: &document.Mail{Server: m.Addr().String(), From: "fettle@example.org",
		To: []string{"ann@example.org", "Bob <bob@example.org>"}, User: "hub", Password: "password"}}
	n := notify.Compose("acme", r, notify.Example(r, "id7", time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC).UnixNano()))
	n.Subject = "ümlaut\r\nBcc: everybody@example.org"
	n.Text = "a line\n.\nand = another ü\n"
	if err := s.Send(t.Context(), r, n); err != nil {
		t.Fatal(err)
	}
	letter, err := mail.ReadMessage(strings.NewReader(m.letters[0]))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(letter.Header.Get("Subject"))
	if err != nil || !strings.HasPrefix(subject, "ümlaut") || letter.Header.Get("Bcc") != "" ||
		letter.Header.Get("Message-ID") != "<id7@fettle>" {
		t.Errorf("%q %v %v", subject, letter.Header, err)
	}
	if said := strings.Join(m.lines, "\n"); !strings.Contains(said, "RCPT TO:<bob@example.org>") ||
		!strings.Contains(said, "STARTTLS") {
		t.Error(said)
	}
	r.Mail.Password = "wrong"
	if err := s.Send(t.Context(), r, n); err == nil || strings.Contains(err.Error(), "other") ||
		!strings.Contains(err.Error(), "cannot log in") {
		t.Error(err)
	}
	s.TLS = nil // the certificate is nobody's
	r.Mail.Password = "password"
	if err := s.Send(t.Context(), r, n); err == nil || !strings.Contains(err.Error(), "cannot start TLS") {
		t.Error(err)
	}
	if len(m.letters) != 1 {
		t.Errorf("%d letters", len(m.letters))
	}
}

// Without TLS, no mail is sent to another host, and no password to any host.
func TestMailWithoutTLS(t *testing.T) {
	m, _ := newMailServer(t, false, "")
	s := sender(t, nil)
	r := document.Notification{Name: "ops", Mail: &document.Mail{Server: m.Addr().String(), From: "a@example.org",
		To: []string{"b@example.org"}}}
	n := notify.Compose("acme", r, notify.Example(r, "id7", 0))
	if err := s.Send(t.Context(), r, n); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Send(ctx, r, n); err == nil {
		t.Error("who is stopped sends")
	}
}
