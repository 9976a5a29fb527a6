package access

import (
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// The times of browsers. A link is valid for a short time, because it can be read on a screen and in the history of a
// browser.
const (
	WebLoginLife = 2 * time.Minute
	SessionLife  = 12 * time.Hour
)

// WebLogin is the stored record of a link that signs a browser in once, under WebLoginKey. It contains a hash of the
// secret. The session is a Bearer.
type WebLogin struct {
	ID    string `json:"id"`
	User  string `json:"user"`
	Hash  string `json:"hash"`
	Roles []Role `json:"roles"`        // of the session
	Of    string `json:"of,omitempty"` // Bearer.Of of the session
	By    string `json:"by"`
	// Expires is the end of the link, and Latest limits the end of the session, in seconds since 1970. 0 means that
	// only SessionLife limits it.
	Expires int64 `json:"expires"`
	Latest  int64 `json:"latest,omitempty"`
	// Organization and Moves are the values of the user when the link was created: see Bearer.
	Organization fleet.Organization `json:"organization,omitempty"`
	Moves        int                `json:"moves,omitempty"`
}

// WebLoginPrefix is the beginning of the key of each WebLogin.
const WebLoginPrefix = "weblogin/"

// webLoginWord is the beginning of the code of each WebLogin.
const webLoginWord = "fettle-web-"

// WebLoginKey returns the key of a WebLogin in the store.
func WebLoginKey(id string) string { return WebLoginPrefix + id }

// NewWebLogin creates a link for a user, on behalf of by. The session has at most the rights of both, and ends at the
// latest with the credential of by. The code contains the secret: return it once and never store it.
func NewWebLogin(user User, by Principal, now time.Time) (code string, w WebLogin) {
	id, hash, code := newSecret(webLoginWord)
	w = WebLogin{ID: id, User: user.Name, Hash: hash, Roles: rolesWithin(both(rightsOf(user.AllRoles()), by.anywhere())),
		Of: by.Login, By: by.Name, Expires: now.Add(WebLoginLife).Unix(), Organization: user.Organization,
		Moves: user.Moves}
	if !by.Expires.IsZero() {
		w.Latest = by.Expires.Unix()
	}
	return code, w
}

// ParseWebLogin returns the ID and the secret in the code of a link. ok is false for invalid text.
func ParseWebLogin(code string) (id string, secret []byte, ok bool) {
	return parseSecret(webLoginWord, code)
}

// Matches reports whether the secret belongs to the link, and the link is valid now.
func (w WebLogin) Matches(secret []byte, now time.Time) bool {
	return equalHash(secret, w.Hash) && now.Unix() < w.Expires
}

// NewSession creates the session of a link. The text is the secret of the browser; store b.
func (w WebLogin) NewSession(now time.Time) (text string, b Bearer, err error) {
	end := now.Add(SessionLife)
	if latest := time.Unix(w.Latest, 0); w.Latest > 0 && latest.Before(end) {
		end = latest
	}
	text, b, err = NewBearer(w.User, w.Roles, end.Sub(now), w.By, "browser", now)
	b.Session, b.Of, b.Organization, b.Moves = true, w.Of, w.Organization, w.Moves
	return text, b, err
}
