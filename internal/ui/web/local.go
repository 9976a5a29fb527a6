package web

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"sync"
)

// Local protects a site on the loopback address: other users of this machine, and other sites in the browser, can
// reach its port. The first request of a browser contains a code, which works once. It is safe for concurrent use.
type Local struct {
	site   http.Handler
	host   string // HOST:PORT of the listener
	cookie string // its name: cookies of different ports share one space of names

	mu      sync.Mutex
	code    string // "" after its use
	session string
}

// NewLocal returns a Local for the site of a listener at host, such as 127.0.0.1:7480.
func NewLocal(site http.Handler, host string) *Local {
	_, port, _ := net.SplitHostPort(host) // of a listener, so it has a port
	return &Local{site: site, host: host, cookie: "fettle-session-" + port, code: rand.Text(), session: rand.Text()}
}

// Address returns the address for the browser, with the code.
func (l *Local) Address() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return "http://" + l.host + "/sign-in?code=" + url.QueryEscape(l.code)
}

// ServeHTTP begins a session, or passes a request with a session to the site.
func (l *Local) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Host != l.host { // a name that an attacker lets point to this machine
		http.Error(w, "cannot answer for this host name", http.StatusMisdirectedRequest)
		return
	}
	if r.URL.Path == "/sign-in" {
		l.signIn(w, r)
		return
	}
	c, err := r.Cookie(l.cookie)
	if err != nil || !equal(c.Value, l.session) {
		http.Error(w, "This page needs the address that fettle ui has printed. It works once: start fettle ui again.",
			http.StatusUnauthorized)
		return
	}
	l.site.ServeHTTP(w, r)
}

// signIn exchanges the code for a session.
func (l *Local) signIn(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.code == "" || !equal(r.URL.Query().Get("code"), l.code) {
		http.Error(w, "The code is wrong, or was used before: start fettle ui again.", http.StatusUnauthorized)
		return
	}
	l.code = ""
	http.SetCookie(w, &http.Cookie{Name: l.cookie, Value: l.session, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
