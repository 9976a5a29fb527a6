package pki_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/pki"
)

// leaks returns true if a text contains a part of a token's secret, in any form.
func leaks(text string, token pki.Token) bool {
	secret := strings.Split(token.Text(), "-")[2]
	raw := [20]byte(token.Secret)
	forms := []string{secret, hex.EncodeToString(raw[:]), base64.StdEncoding.EncodeToString(raw[:]),
		base64.RawURLEncoding.EncodeToString(raw[:])}
	for _, f := range forms {
		for i := 0; i+8 <= len(f); i++ {
			if strings.Contains(strings.ToLower(text), strings.ToLower(f[i:i+8])) {
				return true
			}
		}
	}
	return strings.Contains(text, strings.Trim(fmt.Sprint(raw[:8]), "[]"))
}

// No output, stored document, audit record, answer or error contains a part of a token's secret.
func TestSecretsOfTokens(t *testing.T) {
	s := newSite(t, "acme")
	var noted bytes.Buffer
	s.registrar.Audit = func(_ context.Context, n pki.AuditRecord) error { fmt.Fprintf(&noted, "%+v\n", n); return nil }
	unknown := s.token(nil)
	unknown.ID = "aaaaaaaa"
	tokens := []pki.Token{
		s.token(nil), s.token(func(t *pki.Terms) { t.Names = "db*" }), s.token(func(t *pki.Terms) { t.Approve = true }),
		unknown,
	}
	var said []string
	for i, token := range tokens {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			said = append(said, fmt.Sprintf(verb, token), fmt.Sprintf(verb, &token), fmt.Sprintf(verb, token.Secret),
				fmt.Sprintf(verb, struct{ pki.Token }{token}))
		}
		b, err := json.Marshal(token)
		said = append(said, string(b), fmt.Sprint(err))
		for _, name := range []string{fmt.Sprintf("web%d", i), "-bad", "web0"} {
			c := s.host()
			_, err := c.Enrol(t.Context(), s.url, token, name)
			said = append(said, fmt.Sprint(err), fmt.Sprintf("%+v", err))
			known, _ := c.Directory.LoadKnown()
			said = append(said, fmt.Sprintf("%+v", known))
		}
		text := token.Text()
		for _, cut := range []string{text[:len(text)-1], text + "x", strings.ToUpper(text), text[30:]} {
			_, err := pki.ParseToken(cut)
			said = append(said, fmt.Sprint(err), raw(t, s,
				`{"format":"fettle.enrolment/1","token":"`+cut+`","request":"","name":"x"}`))
		}
		said = append(said, raw(t, s, `{"token":"`+text+`",`),
			raw(t, s, `{"format":"fettle.enrolment/1","token":"`+text+`","request":"`+text+`","name":"`+token.ID+`"}`))
	}
	for _, m := range []*memory{s.tokens, s.targets, s.names, s.facts} {
		all, _ := m.All(t.Context())
		for _, e := range all {
			said = append(said, string(e.Value))
		}
	}
	said = append(said, noted.String())
	if !leaks(tokens[0].Text(), tokens[0]) {
		t.Fatal("a leak would not be found")
	}
	for _, text := range said {
		for _, token := range tokens {
			if leaks(text, token) {
				t.Errorf("the secret of a token is in %.300q", text)
			}
		}
	}
}

// raw posts a body and returns the answer.
func raw(t *testing.T, s *site, body string) string {
	t.Helper()
	root := authorityOf(t, s.hub)
	trust := pki.Trust{Fleet: "acme", Authorities: []*x509.Certificate{root}}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust.ClientTLS(nil, s.clock.now, nil),
		DisableKeepAlives: true}}
	p, err := client.Post(s.url+"/v1/enrol", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Body.Close()
	b, err := io.ReadAll(p.Body)
	if err != nil {
		t.Fatal(err)
	}
	return p.Status + string(b)
}

// A directory whose keys other users can read is refused.
func TestOpenDirectory(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	s.enrolled(c, "web1")
	path := c.Directory.Dir + "/identity.json"
	st, err := c.Directory.FS.Lstat(path)
	if err != nil || st.Mode != 0o600 {
		t.Fatalf("%04o, %v", st.Mode, err)
	}
	dir, err := c.Directory.FS.Lstat(c.Directory.Dir)
	if err != nil || dir.Mode != 0o700 {
		t.Fatalf("%04o, %v", dir.Mode, err)
	}
	n, err := c.Directory.FS.OpenNode(path)
	if err == nil {
		err = n.Chmod(0o640)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Directory.Load(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
	if names, _ := c.Directory.FS.ReadDir(c.Directory.Dir); len(names) != 2 {
		t.Errorf("the directory has %v", names)
	}
}
