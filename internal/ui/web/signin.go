package web

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// sessionCookie contains the secret of a session. Because of its prefix, browsers accept it only over HTTPS and from
// the hub itself.
const sessionCookie = "__Host-fettle"

// signInData is the data of the page that signs in.
type signInData struct {
	Code string // of the link; "" means that the page explains how to get one
	// Path is the page that the user requested; "" means none. Browsers omit the cookie if another site leads here.
	Path    string
	Problem *document.Problem
	Text    string // the result of a change
	// Provider is the name of the OIDC provider, or "".
	Provider string
	// Done is the page that the browser opens at once, after a sign-in; "" means none.
	Done string
}

// signInPages shows the page that signs a browser in. provider is the name of the OIDC provider, or "".
type signInPages struct{ provider string }

// failed shows why a browser is not signed in.
func (s signInPages) failed(w http.ResponseWriter, r *http.Request, err error) {
	p := &document.Problem{Title: "You are not signed in", Status: http.StatusServiceUnavailable, Detail: err.Error()}
	if errors.Is(err, fleet.ErrDenied) {
		p.Status = http.StatusUnauthorized
		p.Detail = strings.TrimSuffix(p.Detail, ": "+fleet.ErrDenied.Error())
	}
	s.page(w, r, p.Status, signInData{Problem: p})
}

// setSession gives the browser its session. It ends after a duration, because the clock of the browser can differ from
// the clock of the hub.
func setSession(w http.ResponseWriter, secret string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{Name: sessionCookie, Value: secret, Path: "/", Secure: true, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, MaxAge: max(1, int(life.Seconds()))})
}

func removeSession(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{Name: sessionCookie, Path: "/", Secure: true, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, MaxAge: -1})
}

// page shows the page that signs in.
func (s signInPages) page(w http.ResponseWriter, r *http.Request, status int, d signInData) {
	var b bytes.Buffer
	d.Provider = s.provider
	if err := templates()["signin"].ExecuteTemplate(&b, "page", d); err != nil {
		http.Error(w, "cannot render the page: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	writeCompressed(w, r, status, b.Bytes())
}
