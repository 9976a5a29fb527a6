package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// User is a human or a program with access to the hub. The store of users contains it under
// UserKey.
type User struct {
	Name    string `json:"name"`
	Roles   []Role `json:"roles"`
	Locked  bool   `json:"locked,omitempty"` // refused with every credential
	Changed int64  `json:"changed"`          // seconds since 1970
	By      string `json:"by"`
	// Groups are names that approval gates can require. They give no rights.
	Groups []string `json:"groups,omitempty"`
	// Organization limits the user to an organization; "" means the whole fleet.
	Organization fleet.Organization `json:"organization,omitempty"`
	// Moves is the number of changes of the organization. A token from before a change is refused permanently.
	Moves int `json:"moves,omitempty"`
	// Grants give roles for some targets of the organization. They end when the organization changes.
	Grants []Grant `json:"grants,omitempty"`
}

// AllRoles returns the roles of a user and the roles of the grants, sorted.
func (u User) AllRoles() []Role {
	all := slices.Clone(u.Roles)
	for _, g := range u.Grants {
		all = append(all, g.Role)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// MayOn reports whether a user of the store has a right for a target now, by a role or by a grant. It does not consider
// roles that a provider gives.
func (u User) MayOn(r Right, t fleet.Target) bool {
	w := Principal{Organization: u.Organization, rights: rightsOf(u.Roles), grants: rightsOfGrants(u.Grants)}
	return !u.Locked && w.Boundary(r).Contains(t)
}

// CheckGroups returns an error if a list of groups has an unusable name, or the same name twice.
func CheckGroups(groups []string) error {
	for i, g := range groups {
		if err := pki.CheckUser(g); err != nil {
			return fmt.Errorf("cannot use the group %.60q: its name does not have the form of a name of a user", g)
		}
		if slices.Contains(groups[:i], g) {
			return fmt.Errorf("the group %s is given twice", g)
		}
	}
	return nil
}

// Bearer is the stored record of a token, under BearerKey. It contains a hash of the secret.
type Bearer struct {
	ID   string `json:"id"`
	User string `json:"user"`
	Hash string `json:"hash"`
	// Roles limit the rights of the token, which are never more than the rights of its user.
	Roles   []Role `json:"roles"`
	Expires int64  `json:"expires"` // seconds since 1970
	Created int64  `json:"made"`
	By      string `json:"by"`
	Note    string `json:"note,omitempty"`
	Revoked int64  `json:"revoked,omitempty"` // seconds since 1970; 0 means not revoked
	// Session means that the token is the session of a browser.
	Session bool `json:"session,omitempty"`
	// Of is the ID of the token that created the session; "" for other tokens. The session ends with that token.
	Of string `json:"of,omitempty"`
	// Issuer is the OIDC provider that authenticated the user of a session; "" means that the user is in the store.
	Issuer string `json:"issuer,omitempty"`
	// Organization is the organization of the user when the token was created, and Moves is User.Moves at that time. The
	// token is refused after they change.
	Organization fleet.Organization `json:"organization,omitempty"`
	Moves        int                `json:"moves,omitempty"`
}

// Prefix returns the public beginning of the token, which identifies it in logs and lists.
func (b Bearer) Prefix() string { return bearerWord + b.ID }

// BearerID returns the ID in the prefix of a token. It also accepts the ID alone.
func BearerID(prefix string) string { return strings.TrimPrefix(prefix, bearerWord) }

const (
	bearerWord = "fettle-api-"
	// MaxBearer limits the validity of a token.
	MaxBearer = 366 * 24 * time.Hour
)

var lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// UserKey returns the key of a user in the store. Names are encoded, because stores allow different
// characters in keys.
func UserKey(name string) string { return "user/" + lower.EncodeToString([]byte(name)) }

// BearerKey returns the key of a token in the store.
func BearerKey(id string) string { return "token/" + id }

// NewBearer creates a token for a user. The text contains the secret: show it once and never store
// it. Store b.
func NewBearer(user string, roles []Role, life time.Duration, by, note string,
	now time.Time) (text string, b Bearer, err error) {
	if err := errors.Join(pki.CheckUser(user), CheckRoles(roles)); err != nil {
		return "", Bearer{}, err
	}
	if life <= 0 || life > MaxBearer {
		return "", Bearer{}, fmt.Errorf("cannot create a token that is valid for %s: the limit is %s", life, MaxBearer)
	}
	id, hash, text := newSecret(bearerWord)
	return text, Bearer{ID: id, User: user, Hash: hash, Roles: roles, Expires: now.Add(life).Unix(), Created: now.Unix(),
		By: by, Note: note}, nil
}

// newSecret returns a new ID, the hash of a new secret, and the text that starts with a word and contains both.
func newSecret(word string) (id, hash, text string) {
	var public [5]byte
	var secret [20]byte
	_, _ = rand.Read(public[:]) // crypto/rand never fails
	_, _ = rand.Read(secret[:])
	id = lower.EncodeToString(public[:])
	body := word + id + "-" + lower.EncodeToString(secret[:])
	return id, hashOf(secret[:]), body + "-" + sumOf(body)
}

func hashOf(secret []byte) string {
	sum := sha256.Sum256(secret)
	return hex.EncodeToString(sum[:])
}

func sumOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return lower.EncodeToString(sum[:])[:6]
}

// parseSecret splits the text of newSecret. ok is false for invalid text, also after a typing error.
func parseSecret(word, text string) (id string, secret []byte, ok bool) {
	rest, ok := strings.CutPrefix(text, word)
	parts := strings.Split(rest, "-")
	if !ok || len(parts) != 3 || len(parts[0]) != 8 || len(parts[1]) != 32 {
		return "", nil, false
	}
	if sumOf(word+parts[0]+"-"+parts[1]) != parts[2] {
		return "", nil, false
	}
	if _, err := lower.DecodeString(parts[0]); err != nil {
		return "", nil, false
	}
	secret, err := lower.DecodeString(parts[1])
	return parts[0], secret, err == nil
}

// matches reports whether the secret belongs to the token, and the token is valid now.
func (b Bearer) matches(secret []byte, now time.Time) bool {
	return equalHash(secret, b.Hash) && b.valid(now)
}

// valid reports whether the token is valid now.
func (b Bearer) valid(now time.Time) bool { return b.Revoked == 0 && now.Unix() < b.Expires }

func equalHash(secret []byte, hash string) bool {
	return subtle.ConstantTimeCompare([]byte(hashOf(secret)), []byte(hash)) == 1
}
