package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/pki"
)

// User is somebody who may come in, or a program that may. It is kept in the store of
// users under UserKey.
type User struct {
	Name    string `json:"name"`
	Roles   []Role `json:"roles"`
	Locked  bool   `json:"locked,omitempty"` // may not come in, however they prove it
	Changed int64  `json:"changed"`          // seconds since 1970
	By      string `json:"by"`
}

// Bearer is a token of a person or program, as it is kept under BearerKey: without what
// it takes to use it.
type Bearer struct {
	ID   string `json:"id"`
	User string `json:"user"`
	Hash string `json:"hash"`
	// Roles bound what it is good for; it is never good for more than its person is.
	Roles   []Role `json:"roles"`
	Expires int64  `json:"expires"` // seconds since 1970
	Made    int64  `json:"made"`
	By      string `json:"by"`
	Note    string `json:"note,omitempty"`
	Revoked int64  `json:"revoked,omitempty"` // seconds since 1970; 0 was not
}

// Prefix is how a token begins. It is no secret: logs and lists name a token by it.
func (b Bearer) Prefix() string { return bearerWord + b.ID }

// BearerID is the identity of the token that begins so. It may be given by itself.
func BearerID(prefix string) string { return strings.TrimPrefix(prefix, bearerWord) }

const (
	bearerWord = "fettle-api-"
	// MaxBearer is how long a token may last.
	MaxBearer = 366 * 24 * time.Hour
)

var lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// UserKey is where the store of users has a person. Names are not alike in all stores,
// so it is made of the name's letters.
func UserKey(name string) string { return "user/" + lower.EncodeToString([]byte(name)) }

// BearerKey is where the store of users has a token.
func BearerKey(id string) string { return "token/" + id }

// NewBearer makes a token for a person. The text is to be shown once and never kept; the
// rest is stored.
func NewBearer(user string, roles []Role, life time.Duration, by, note string, now time.Time) (text string, b Bearer, err error) {
	if err := errors.Join(pki.CheckUser(user), CheckRoles(roles)); err != nil {
		return "", Bearer{}, err
	}
	if life <= 0 || life > MaxBearer {
		return "", Bearer{}, fmt.Errorf("cannot make a token for %s: it lasts up to %s", life, MaxBearer)
	}
	var id [5]byte
	var secret [20]byte
	_, _ = rand.Read(id[:]) // it never fails
	_, _ = rand.Read(secret[:])
	b = Bearer{ID: lower.EncodeToString(id[:]), User: user, Hash: hashOf(secret[:]), Roles: roles, Expires: now.Add(life).Unix(), Made: now.Unix(), By: by, Note: note}
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

// parseBearer takes a token apart; ok is false for what is none, or has a typing mistake.
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

// good tells whether a token that is kept is the one that is shown, now.
func (b Bearer) good(secret []byte, now time.Time) bool {
	same := subtle.ConstantTimeCompare([]byte(hashOf(secret)), []byte(b.Hash)) == 1
	return same && b.Revoked == 0 && now.Unix() < b.Expires
}
