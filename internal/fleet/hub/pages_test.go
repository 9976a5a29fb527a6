package hub_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/fleet/route"
)

// stubPages answers POST /sign-in with the secret of a session, and all other paths with the user of the session.
func stubPages(p hub.Pages) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sign-in", func(w http.ResponseWriter, r *http.Request) {
		secret, _, err := p.SignIn(r, r.PostFormValue("code"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, secret)
	})
	mux.HandleFunc("POST /sign-out", func(w http.ResponseWriter, r *http.Request) {
		if err := p.SignOut(r); err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		c := client.Inside(p.API, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r)
		who, err := client.Get(r.Context(), c, route.WhoAmI())
		if r.Method == http.MethodPost && err == nil {
			_, err = client.Post(r.Context(), c, route.FreezeAll(), document.FreezeRequest{Reason: "fire"})
		}
		if err != nil {
			http.Error(w, err.Error(), err.(*document.Problem).Status)
			return
		}
		_, _ = io.WriteString(w, who.Name)
	})
	return mux
}

// page requests a path of the HTTPS port.
func (w *world) page(method, path, secret, form string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.api+path, strings.NewReader(form))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	a, err := transport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return a, string(text)
}

// signIn signs a browser of the reader kim in, and returns its secret and the code that it used.
func (w *world) signIn() (secret, code string) {
	w.t.Helper()
	w.ask("POST", "/v1/users", document.UserRequest{Name: "kim", Roles: []string{"read"}}, &document.Done{})
	var l document.WebLogin
	w.ask("POST", "/v1/web-logins", document.WebLoginRequest{User: "kim"}, &l)
	u, err := url.Parse(l.Link)
	if err != nil || !strings.HasPrefix(l.Link, w.api+"/sign-in?") {
		w.t.Fatal(l, err)
	}
	code = u.Query().Get("code")
	a, secret := w.page("POST", "/sign-in", "", "code="+code)
	if a.StatusCode != http.StatusOK {
		w.t.Fatal(a.Status, secret)
	}
	return secret, code
}

// A hub serves pages at all paths except those of the API, and not on the socket of root. A session of a reader
// changes nothing, and is in the audit log.
func TestPagesOnAHub(t *testing.T) {
	w := newWorld(t)
	w.pages = stubPages
	w.commit(map[string]string{"fettle.hcl": "\n"})
	w.birth()
	w.start()
	secret, code := w.signIn()
	for _, c := range []struct {
		method, path, secret string
		status               int
		text                 string
	}{
		{"GET", "/", secret, 200, "kim"}, {"GET", "/targets/web1", secret, 200, "kim"}, {"GET", "/", "", 401, ""},
		{"POST", "/freeze", secret, 403, "operate"}, {"GET", "/v1/nothing", secret, 404, `"title"`},
		{"GET", "/v1/whoami", secret, 200, `"kim"`}, {"GET", "/healthz", "", 200, "ok"},
		{"POST", "/sign-in", "", 401, "used before"},
	} {
		form := ""
		if c.method == http.MethodPost {
			form = "code=" + code
		}
		a, text := w.page(c.method, c.path, c.secret, form)
		if a.StatusCode != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s %s: %s %s", c.method, c.path, a.Status, text)
		}
		if (a.TLS == nil || !a.Close) && c.secret == "" && c.path != "/healthz" {
			t.Errorf("%s %s keeps the connection of a stranger", c.method, c.path)
		}
	}
	if err := socketClient(w.dir+"/hub.sock").do(t.Context(), "GET", "/targets/web1", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "nothing at this path") {
		t.Errorf("the socket has pages: %v", err)
	}
	w.inAudit("POST /v1/freeze", "kim", "127.0.0.1:")
	w.inAudit("POST /sign-in", "denied", "127.0.0.1:")
	if a, text := w.page("POST", "/sign-out", secret, ""); a.StatusCode != http.StatusOK {
		t.Error(a.Status, text)
	}
	if a, _ := w.page("GET", "/", secret, ""); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("after the sign-out: %s", a.Status)
	}
	w.inAudit("POST /sign-out", "kim", "done")
}
