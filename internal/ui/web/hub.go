package web

import (
	"errors"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// HubConfig contains what the pages on a hub need of it. All fields except Provider must be set.
type HubConfig struct {
	API http.Handler
	// SignIn uses the code of a link. It returns the secret of a new session and its duration. If the code is not valid,
	// the error wraps fleet.ErrDenied.
	SignIn func(r *http.Request, code string) (secret string, life time.Duration, err error)
	// SignOut revokes the session of a request.
	SignOut func(r *http.Request) error
	// Provider is the name of the OIDC provider with which users can sign in; "" means that there is none.
	Provider string
	// StartSignIn returns the address at the provider, and the attempt for a cookie of the browser.
	StartSignIn func(r *http.Request) (address, attempt string, err error)
	// FinishSignIn uses the answer of the provider in the address of a request. It returns the same as SignIn.
	FinishSignIn func(r *http.Request, attempt string) (secret string, life time.Duration, err error)
	// Changed returns a channel that is closed when the fleet may have changed.
	Changed func() <-chan struct{}
}

// hubSite is the site on a hub.
type hubSite struct {
	HubConfig
	site *Site
	sign signInPages
}

// ForHub returns the pages of a hub, for its HTTPS port. A request needs a session or the certificate of a user.
func ForHub(c HubConfig) http.Handler {
	h := &hubSite{HubConfig: c, sign: signInPages{c.Provider}}
	h.site = New(Config{Client: h.client, Changed: c.Changed, SignOut: "/sign-out", Unauthenticated: h.refuse})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sign-in", h.showSignIn)
	mux.HandleFunc("POST /sign-in", h.signIn)
	at := atProvider{h.sign, c.StartSignIn, c.FinishSignIn}
	mux.HandleFunc("GET /sign-in/oidc", at.begin)
	mux.HandleFunc("GET /sign-in/oidc/callback", at.end)
	mux.HandleFunc("POST /sign-out", h.signOut)
	mux.Handle("GET /assets/", h.site)
	mux.HandleFunc("/live", h.live)
	mux.HandleFunc("/", h.page)
	return http.NewCrossOriginProtection().Handler(secured(mux))
}

// client returns a client with the credentials of a request.
func (h *hubSite) client(r *http.Request) (*client.Client, error) {
	return client.Inside(h.API, sessionOf(r), r), nil
}

// sessionOf returns the secret of the session, or "".
func sessionOf(r *http.Request) string {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return ""
	}
	return c.Value
}

// isAnonymous reports whether a request has no credentials. Its answer must cost little.
func isAnonymous(r *http.Request) bool {
	return sessionOf(r) == "" && (r.TLS == nil || len(r.TLS.PeerCertificates) == 0)
}

func (h *hubSite) page(w http.ResponseWriter, r *http.Request) {
	if isAnonymous(r) {
		h.refuse(w, r)
		return
	}
	h.site.ServeHTTP(w, r)
}

// live refuses a stream without a session with a status that browsers do not try again.
func (h *hubSite) live(w http.ResponseWriter, r *http.Request) {
	if isAnonymous(r) {
		http.Error(w, "the session is over", http.StatusUnauthorized)
		return
	}
	c, err := h.client(r)
	if err == nil {
		_, err = client.Get(r.Context(), c, route.WhoAmI())
	}
	if err != nil {
		http.Error(w, err.Error(), problemOf(err).Status)
		return
	}
	h.site.ServeHTTP(w, r)
}

// refuse answers a request without a valid session: with the page that explains how to get one.
func (h *hubSite) refuse(w http.ResponseWriter, r *http.Request) {
	d := signInData{}
	if r.Method == http.MethodGet {
		d.Path = r.URL.RequestURI()
	}
	if sessionOf(r) != "" {
		removeSession(w)
		d.Path, d.Text = "", "Your session is over."
	}
	h.sign.page(w, r, http.StatusUnauthorized, d)
}

// showSignIn shows a button. It does not use the code, because programs that preview links would use it.
func (h *hubSite) showSignIn(w http.ResponseWriter, r *http.Request) {
	h.sign.page(w, r, http.StatusOK, signInData{Code: r.URL.Query().Get("code")})
}

// signIn exchanges the code for a session.
func (h *hubSite) signIn(w http.ResponseWriter, r *http.Request) {
	secret, life, err := h.SignIn(r, r.PostFormValue("code"))
	if err != nil {
		h.sign.failed(w, r, err)
		return
	}
	setSession(w, secret, life)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// signOut revokes the session at all hubs, and removes it from the browser.
func (h *hubSite) signOut(w http.ResponseWriter, r *http.Request) {
	removeSession(w)
	secret := sessionOf(r)
	if secret == "" {
		h.sign.page(w, r, http.StatusOK, signInData{Text: "You have no session in this browser."})
		return
	}
	q := r.Clone(r.Context())
	q.Header.Set("Authorization", "Bearer "+secret)
	err := h.SignOut(q)
	if err != nil && !errors.Is(err, fleet.ErrDenied) { // such a session is over already
		p := &document.Problem{Title: "The session was not revoked", Status: http.StatusServiceUnavailable,
			Detail: "This browser no longer has the session, but the hubs accept it until it ends: " + err.Error(),
			Hint:   "Revoke it later: fettle user logins NAME, fettle user revoke NAME LOGIN"}
		h.sign.page(w, r, p.Status, signInData{Problem: p})
		return
	}
	h.sign.page(w, r, http.StatusOK, signInData{Text: "You are signed out."})
}
