package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/ui/web"
)

// visit sends a request to a host, and returns the answer.
func visit(h http.Handler, host, path string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = host
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestLocal: the code works once, and only the session that it begins has access.
func TestLocal(t *testing.T) {
	const host = "127.0.0.1:7480"
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a page")) })
	l := web.NewLocal(page, host)
	path := strings.TrimPrefix(l.Address(), "http://"+host)
	if w := visit(l, host, "/"); w.Code != 401 || strings.Contains(w.Body.String(), "a page") {
		t.Errorf("without a session: %d %s", w.Code, w.Body)
	}
	if w := visit(l, host, "/sign-in?code="); w.Code != 401 {
		t.Errorf("an empty code: %d", w.Code)
	}
	if w := visit(l, "attacker.example:7480", path); w.Code != 421 {
		t.Errorf("another name of the host: %d", w.Code)
	}
	w := visit(l, host, path)
	cookies := w.Result().Cookies()
	if w.Code != 303 || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("%d %v", w.Code, cookies)
	}
	if w := visit(l, host, "/", cookies[0]); w.Code != 200 || w.Body.String() != "a page" {
		t.Errorf("with the session: %d %s", w.Code, w.Body)
	}
	wrong := *cookies[0]
	wrong.Value += "x"
	if w := visit(l, host, "/", &wrong); w.Code != 401 {
		t.Errorf("another session: %d", w.Code)
	}
	for _, again := range []string{path, "/sign-in?code="} {
		if w := visit(l, host, again); w.Code != 401 {
			t.Errorf("%s after the use of the code: %d", again, w.Code)
		}
	}
	if w := visit(l, "attacker.example:7480", "/", cookies[0]); w.Code != 421 {
		t.Errorf("another name of the host with the session: %d", w.Code)
	}
}

// TestTunnel: the pages at a socket answer for each port of the loopback address, and for no other name.
func TestTunnel(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a page")) })
	l := web.NewLocal(page, "")
	if w := visit(l, "attacker.example:7480", l.Address()); w.Code != 421 {
		t.Errorf("another name of the host: %d", w.Code)
	}
	if w := visit(l, "127.0.0.1:7480", "/"); w.Code != 401 {
		t.Errorf("without a session: %d", w.Code)
	}
	w := visit(l, "127.0.0.1:7480", l.Address())
	cookies := w.Result().Cookies()
	if w.Code != 303 || len(cookies) != 1 {
		t.Fatalf("%d %v", w.Code, cookies)
	}
	for host, want := range map[string]int{"127.0.0.1:7480": 200, "localhost:99": 200, "[::1]:99": 200, "socket": 421} {
		if w := visit(l, host, "/", cookies[0]); w.Code != want {
			t.Errorf("%s: %d", host, w.Code)
		}
	}
}
