package bus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/nats-io/nats.go"
)

// login has the credentials of a hub for a NATS cluster that others run.
type login struct {
	say nats.Option // nil if the certificate suffices, or no credentials are needed
	// certificate is shown if the server requests one: verify, or verify_and_map.
	certificate *tls.Certificate
}

// login parses the credentials. Its errors never contain a part of them.
func (f ExternalNats) login() (l login, err error) {
	text := string(f.Login)
	if strings.Contains(text, "-----BEGIN CERTIFICATE-----") || strings.Contains(text, "PRIVATE KEY-----") {
		pair, err := tls.X509KeyPair(f.Login, f.Login)
		if err != nil {
			return l, errors.New("cannot read the certificate in the credentials for the NATS cluster: the file must have the certificate, its intermediate CAs, and its key without a password, as PEM")
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
		return l, errors.New("cannot read the credentials for the NATS cluster: the file must be from nsc or nats auth (-----BEGIN NATS USER JWT-----), or have the line USER:PASSWORD. A certificate and its key as PEM can stand alone or before these")
	}
	l.say = nats.UserInfo(user, password)
	return l, nil
}

// checkLogin returns an error if the credentials are wrong. It does not connect to the cluster.
func (f ExternalNats) checkLogin() error {
	l, err := f.login()
	if err == nil && l.certificate != nil && !f.isSecure() {
		return fmt.Errorf("cannot use a client certificate without TLS: give a tls:// address instead of %s", f.URLs[0])
	}
	return err
}

func withoutCertificates(text string) string {
	return regexp.MustCompile(`(?s)-----BEGIN (CERTIFICATE|[A-Z ]*PRIVATE KEY)-----.*?-----END (CERTIFICATE|[A-Z ]*PRIVATE KEY)-----`).ReplaceAllString(
		text, "")
}

// apply adds the credentials to connection options.
func (l login) apply(o *nats.Options) error {
	if l.certificate != nil {
		// The certificate is sent even if its CA is not in the server's list: the server then
		// refuses it with a clear error, instead of reporting that the certificate is missing.
		o.TLSConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate,
			error) {
			return l.certificate, nil
		}
	}
	if l.say == nil {
		return nil
	}
	return l.say(o)
}
