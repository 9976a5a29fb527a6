package bus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/nats-io/nats.go"
)

// login is what a hub proves itself with to a cluster of others.
type login struct {
	say nats.Option // nil where a certificate is all, or nothing is asked
	// certificate is shown where the server wants one: verify, or verify_and_map.
	certificate *tls.Certificate
}

// login reads the credentials. Its errors repeat nothing of them.
func (f Foreign) login() (l login, err error) {
	text := string(f.Login)
	if strings.Contains(text, "-----BEGIN CERTIFICATE-----") || strings.Contains(text, "PRIVATE KEY-----") {
		pair, err := tls.X509KeyPair(f.Login, f.Login)
		if err != nil {
			return l, errors.New("cannot read the certificate in the credentials for the NATS cluster: the file has the certificate, those up to its authority, and its key without a password, as PEM")
		}
		l.certificate = &pair
		text = withoutCertificates(text)
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return l, nil
	case strings.Contains(text, "NATS USER JWT"):
		l.say = nats.UserCredentialBytes([]byte(text))
		return l, nil
	}
	user, password, ok := strings.Cut(text, ":")
	if !ok || user == "" || password == "" || strings.ContainsAny(text, "\r\n") {
		return l, errors.New("cannot read the credentials for the NATS cluster: the file is one of nsc or nats auth (-----BEGIN NATS USER JWT-----), the one line USER:PASSWORD, or a certificate and its key as PEM, alone or with one of these")
	}
	l.say = nats.UserInfo(user, password)
	return l, nil
}

// checkLogin says what is wrong with the credentials, as far as that can be told without the
// cluster.
func (f Foreign) checkLogin() error {
	l, err := f.login()
	if err == nil && l.certificate != nil && !f.isSecure() {
		return fmt.Errorf("cannot show a certificate without TLS: give tls:// in place of %s", f.URLs[0])
	}
	return err
}

func withoutCertificates(text string) string {
	return regexp.MustCompile(`(?s)-----BEGIN (CERTIFICATE|[A-Z ]*PRIVATE KEY)-----.*?-----END (CERTIFICATE|[A-Z ]*PRIVATE KEY)-----`).ReplaceAllString(text, "")
}

// apply has a connection prove itself.
func (l login) apply(o *nats.Options) error {
	if l.certificate != nil {
		// Given whatever authorities the server names: one that is not among them is refused
		// by the server in words, where nothing at all would only be missing.
		o.TLSConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return l.certificate, nil }
	}
	if l.say == nil {
		return nil
	}
	return l.say(o)
}
