package web_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/web"
)

// fakeAPI is a hub that accepts one code, one session and any certificate.
type fakeAPI struct {
	asked    int
	signOuts []string
	err      error
}

// secretOfTest is the secret of the session.
const secretOfTest = "fettle-api-one"

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.asked++
	token := r.Header.Get("Authorization")
	if token != "Bearer "+secretOfTest && (token != "" || r.TLS == nil || len(r.TLS.PeerCertificates) == 0) {
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(document.Problem{Title: "The request is not authenticated", Status: 401})
		return
	}
	if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(document.Problem{Title: "Not allowed", Status: 403, Detail: "it needs operate"})
		return
	}
	_, _ = fmt.Fprint(w, `{"name":"kim","rights":["read"]}`)
}

func (f *fakeAPI) signIn(_ *http.Request, code string) (string, time.Duration, error) {
	if f.err != nil || code != "good" {
		return "", 0, errors.Join(f.err, fmt.Errorf("the link is wrong: %w", fleet.ErrDenied))
	}
	return secretOfTest, time.Hour, nil
}

func (f *fakeAPI) signOut(r *http.Request) error {
	f.signOuts = append(f.signOuts, r.Header.Get("Authorization"))
	return f.err
}

func newHubSite() (*fakeAPI, http.Handler) {
	f := &fakeAPI{}
	return f, web.ForHub(web.HubConfig{API: f, SignIn: f.signIn, SignOut: f.signOut,
		Changed: func() <-chan struct{} { return nil }})
}

// visitHub sends a request with or without the session.
func visitHub(h http.Handler, method, path, session, form string, header ...string) *http.Response {
	r := httptest.NewRequest(method, "https://hub.example.org"+path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if session != "" {
		r.AddCookie(&http.Cookie{Name: "__Host-fettle", Value: session})
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t *testing.T, r *http.Response) string {
	t.Helper()
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAnonymous: a request without credentials gets the page that explains how to sign in, at each path, and causes no
// request to the API.
func TestAnonymous(t *testing.T) {
	f, h := newHubSite()
	for _, path := range []string{"/", "/targets/web1", "/nothing", "/audit"} {
		r := visitHub(h, http.MethodGet, path, "", "")
		text := bodyOf(t, r)
		if r.StatusCode != http.StatusUnauthorized || !strings.Contains(text, "login --web") ||
			!strings.Contains(text, `href="`+path+`"`) || r.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %s", path, text)
		}
	}
	for _, path := range []string{"/freeze", "/targets/web1/job", "/live"} {
		if r := visitHub(h, http.MethodPost, path, "", "reason=x"); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s", path, r.Status)
		}
	}
	if r := visitHub(h, http.MethodGet, "/live?at=/", "", ""); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("the stream: %s", r.Status)
	}
	if f.asked > 0 {
		t.Errorf("anonymous requests cause %d requests", f.asked)
	}
}

// TestSignInOnAHub: a GET does not use the code, a POST exchanges it for a cookie that only the hub gets.
func TestSignInOnAHub(t *testing.T) {
	f, h := newHubSite()
	hostile := `"><script>x</script>`
	r := visitHub(h, http.MethodGet, "/sign-in?code="+url.QueryEscape(hostile), "", "")
	text := bodyOf(t, r)
	if r.StatusCode != http.StatusOK || len(r.Cookies()) > 0 || strings.Contains(text, "<script>x") ||
		!strings.Contains(text, `<form method="post" action="/sign-in">`) {
		t.Errorf("%s", text)
	}
	r = visitHub(h, http.MethodPost, "/sign-in", "", "code=good")
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/" || len(r.Cookies()) != 1 {
		t.Fatalf("%s %v", r.Status, r.Header)
	}
	c := r.Cookies()[0]
	if c.Name != "__Host-fettle" || c.Value != secretOfTest || c.Path+c.Domain != "/" || !c.Secure || !c.HttpOnly ||
		c.SameSite != http.SameSiteStrictMode || c.MaxAge != 3600 {
		t.Errorf("the cookie is %+v", c)
	}
	if r = visitHub(h, http.MethodGet, "/", c.Value, ""); r.StatusCode != http.StatusOK ||
		!strings.Contains(bodyOf(t, r), `action="/sign-out"`) {
		t.Errorf("with the session: %s", r.Status)
	}
	for _, err := range []error{nil, errors.New("no quorum")} {
		f.err = err
		r = visitHub(h, http.MethodPost, "/sign-in", "", "code=bad")
		if text := bodyOf(t, r); len(r.Cookies()) > 0 || r.StatusCode != http.StatusUnauthorized ||
			!strings.Contains(text, "You are not signed in") || strings.Contains(text, "not allowed") {
			t.Errorf("a wrong code: %s", text)
		}
	}
}

// TestOtherSitesOnAHub: a form of another site changes nothing, also with the cookie.
func TestOtherSitesOnAHub(t *testing.T) {
	f, h := newHubSite()
	for _, path := range []string{"/sign-in", "/sign-out", "/freeze"} {
		for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
			{"Origin", "https://evil.example.org"}} {
			r := visitHub(h, http.MethodPost, path, secretOfTest, "code=good&reason=x", header...)
			if r.StatusCode != http.StatusForbidden || len(r.Cookies()) > 0 {
				t.Errorf("%s with %v: %s", path, header, r.Status)
			}
		}
	}
	if f.asked+len(f.signOuts) > 0 {
		t.Errorf("they cause %d requests, and %d sign-outs", f.asked, len(f.signOuts))
	}
	r := visitHub(h, http.MethodPost, "/freeze", secretOfTest, "reason=x", "Sec-Fetch-Site", "same-origin")
	if r.StatusCode != http.StatusForbidden || !strings.Contains(bodyOf(t, r), "it needs operate") {
		t.Errorf("a reader freezes: %s", r.Status)
	}
}

// TestEndOfSession: a session that is over is removed from the browser, and its streams are refused for good.
func TestEndOfSession(t *testing.T) {
	_, h := newHubSite()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		path := map[string]string{http.MethodGet: "/targets/web1", http.MethodPost: "/freeze"}[method]
		r := visitHub(h, method, path, "fettle-api-over", "reason=x")
		if r.StatusCode != http.StatusUnauthorized || len(r.Cookies()) != 1 || r.Cookies()[0].MaxAge >= 0 ||
			!strings.Contains(bodyOf(t, r), "Your session is over") {
			t.Errorf("%s: %s %v", path, r.Status, r.Header)
		}
	}
	if r := visitHub(h, http.MethodGet, "/live?at=/", "fettle-api-over", ""); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("the stream: %s", r.Status)
	}
}

// TestSignOutOnAHub: the session is revoked and removed from the browser, also if the hub cannot revoke it now.
func TestSignOutOnAHub(t *testing.T) {
	f, h := newHubSite()
	for err, want := range map[error]string{nil: "You are signed out", fleet.ErrDenied: "You are signed out",
		errors.New("no quorum"): "accept it until it ends: no quorum"} {
		f.err = err
		r := visitHub(h, http.MethodPost, "/sign-out", secretOfTest, "")
		if len(r.Cookies()) != 1 || r.Cookies()[0].MaxAge >= 0 || !strings.Contains(bodyOf(t, r), want) {
			t.Errorf("%v: %s %v", err, r.Status, r.Header)
		}
	}
	if len(f.signOuts) != 3 || f.signOuts[0] != "Bearer "+secretOfTest {
		t.Errorf("%q", f.signOuts)
	}
	if visitHub(h, http.MethodPost, "/sign-out", "", ""); len(f.signOuts) != 3 {
		t.Error("a browser without a session signs out")
	}
	if r := visitHub(h, http.MethodGet, "/sign-out", secretOfTest, ""); len(f.signOuts) != 3 || len(r.Cookies()) > 0 {
		t.Error("a link signs out")
	}
}

// TestCertificate: the certificate of a user opens the pages without a session.
func TestCertificate(t *testing.T) {
	_, h := newHubSite()
	r := httptest.NewRequest(http.MethodGet, "https://hub.example.org/", nil)
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
