package web

import (
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/access"
)

// attemptCookie contains an attempt to sign in at an OIDC provider, and the page that the user requested. Browsers send
// it when the provider, another site, sends them back.
const attemptCookie = "__Host-fettle-oidc"

// atProvider signs browsers in at an OIDC provider. start and finish are functions of HubConfig.
type atProvider struct {
	sign   signInPages
	start  func(r *http.Request) (address, attempt string, err error)
	finish func(r *http.Request, attempt string) (secret string, life time.Duration, err error)
}

// begin sends the browser to the provider.
func (p atProvider) begin(w http.ResponseWriter, r *http.Request) {
	address, attempt, err := p.start(r)
	if err != nil {
		p.sign.failed(w, r, err)
		return
	}
	next := base64.RawURLEncoding.EncodeToString([]byte(pathWithin(r.URL.Query().Get("next"))))
	setAttempt(w, attempt+"~"+next, int(access.AttemptLife.Seconds()))
	http.Redirect(w, r, address, http.StatusSeeOther)
}

func setAttempt(w http.ResponseWriter, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{Name: attemptCookie, Value: value, Path: "/", Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, MaxAge: maxAge})
}

// pathWithin returns a path of this site, or the first page for any other address.
func pathWithin(text string) string {
	if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.ContainsAny(text, "\\\r\n\t") ||
		strings.HasPrefix(text, "/sign-") || len(text) > 1000 {
		return "/"
	}
	return text
}

// end uses the answer of the provider. It answers with a page that opens the next one: after a redirect, the
// browser would still be on its way from another site, and would not send the cookie of the session.
func (p atProvider) end(w http.ResponseWriter, r *http.Request) {
	attempt, next := "", "/"
	if c, err := r.Cookie(attemptCookie); err == nil {
		coded := ""
		attempt, coded, _ = strings.Cut(c.Value, "~")
		text, _ := base64.RawURLEncoding.DecodeString(coded)
		next = pathWithin(string(text))
	}
	setAttempt(w, "", -1)
	secret, life, err := p.finish(r, attempt)
	if err != nil {
		p.sign.failed(w, r, err)
		return
	}
	setSession(w, secret, life)
	p.sign.page(w, r, http.StatusOK, signInData{Done: next})
}
