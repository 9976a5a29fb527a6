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
	host   string // HOST:PORT of the listener; "" means any port of the loopback address, which a tunnel forwards
	cookie string // its name: cookies of different ports share one space of names

	mu      sync.Mutex
	code    string // "" after its use
	session string
}

// NewLocal returns a Local for the site of a listener at host, such as 127.0.0.1:7480. "" means a socket: the browser
// reaches it through a tunnel, which can have any port.
func NewLocal(site http.Handler, host string) *Local {
	port := "socket-" + rand.Text()[:8]
	if host != "" {
		_, port, _ = net.SplitHostPort(host) // of a listener, so it has a port
	}
	return &Local{site: site, host: host, cookie: "fettle-session-" + port, code: rand.Text(), session: rand.Text()}
}

// Address returns the address for the browser, with the code. For a socket, it has no host.
func (l *Local) Address() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	path := "/sign-in?code=" + url.QueryEscape(l.code)
	if l.host == "" {
		return path
	}
	return "http://" + l.host + path
}

// answersFor reports whether a name of the host is the name of the listener, or of the end of a tunnel to it. An
// attacker can let other names point to this machine.
func (l *Local) answersFor(host string) bool {
	if l.host != "" {
		return host == l.host
	}
	name, _, err := net.SplitHostPort(host)
	return err == nil && (name == "127.0.0.1" || name == "::1" || name == "localhost")
}

// ServeHTTP begins a session, or passes a request with a session to the site.
func (l *Local) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !l.answersFor(r.Host) {
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
