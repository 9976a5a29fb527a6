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
	var id [5]byte
	var secret [20]byte
	_, _ = rand.Read(id[:]) // crypto/rand never fails
	_, _ = rand.Read(secret[:])
	b = Bearer{ID: lower.EncodeToString(id[:]), User: user, Hash: hashOf(secret[:]), Roles: roles,
		Expires: now.Add(life).Unix(), Created: now.Unix(), By: by, Note: note}
	body := b.Prefix() + "-" + lower.EncodeToString(secret[:])
	return body + "-" + sumOf(body), b, nil
}

func hashOf(secret []byte) string {
	sum := sha256.Sum256(secret)
	return hex.EncodeToString(sum[:])
}

func sumOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return lower.EncodeToString(sum[:])[:6]
}

// parseBearer splits a token. ok is false for invalid text, also after a typing error.
func parseBearer(text string) (id string, secret []byte, ok bool) {
	rest, ok := strings.CutPrefix(text, bearerWord)
	parts := strings.Split(rest, "-")
	if !ok || len(parts) != 3 || len(parts[0]) != 8 || len(parts[1]) != 32 {
		return "", nil, false
	}
	if sumOf(bearerWord+parts[0]+"-"+parts[1]) != parts[2] {
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
	same := subtle.ConstantTimeCompare([]byte(hashOf(secret)), []byte(b.Hash)) == 1
	return same && b.Revoked == 0 && now.Unix() < b.Expires
}
