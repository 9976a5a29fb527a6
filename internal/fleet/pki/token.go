package pki

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Secret is the secret part of a token: 160 random bits. All ways to print it print a placeholder;
// only Token.Text contains it.
type Secret [20]byte

// String returns a placeholder.
func (Secret) String() string { return "(secret)" }

// GoString returns a placeholder.
func (Secret) GoString() string { return "(secret)" }

// Format prints a placeholder for each verb, including %x and %d.
func (Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, "(secret)") }

// MarshalJSON returns a placeholder. There is no inverse.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"(secret)"`), nil }

// hash returns the digest of the secret for the store. The secret has too many bits to be guessed
// from it.
func (s Secret) hash() string {
	sum := sha256.Sum256(s[:])
	return hex.EncodeToString(sum[:])
}

// Token lets hosts enrol. Its text is shown once, when it is created:
//
//	fettle-ID-SECRET-AUTHORITY-CHECK
//
// AUTHORITY is the digest of the certificate of the fleet CA, so that a new host can verify its
// first hub. CHECK detects typing errors. All parts consist of a-z and 2-7.
type Token struct {
	ID        string // 8 characters, not secret
	Secret    Secret
	Authority [sha256.Size]byte
}

const (
	tokenWord    = "fettle"
	tokenID      = 8  // characters
	tokenSecret  = 32 // characters, of 20 bytes
	tokenDigest  = 52 // characters, of 32 bytes
	tokenCheck   = 6
	tokenAllSize = len(tokenWord) + tokenID + tokenSecret + tokenDigest + tokenCheck + 4
)

// errToken never contains a part of the token.
var errToken = errors.New("cannot read this token: it is incomplete or mistyped. Copy all of it, from fettle- on. If it is lost, create another: fettle token create")

// Text returns the complete token, which is a secret.
func (t Token) Text() string {
	body := strings.Join([]string{tokenWord, t.ID, lower.EncodeToString(t.Secret[:]),
		lower.EncodeToString(t.Authority[:])}, "-")
	return body + "-" + tokenSum(body)
}

// String returns the token without its secret.
func (t Token) String() string { return tokenWord + "-" + t.ID + "-…" }

func tokenSum(body string) string {
	sum := sha256.Sum256([]byte(body))
	return lower.EncodeToString(sum[:])[:tokenCheck]
}

// ParseToken parses the text of a token; surrounding space is ignored. The error never contains a
// part of the token.
func ParseToken(text string) (Token, error) {
	text = strings.TrimSpace(text)
	parts := strings.Split(text, "-")
	if len(text) != tokenAllSize || len(parts) != 5 {
		return Token{}, errToken
	}
	// The comparison with Text below detects decoding errors.
	secret, _ := lower.DecodeString(parts[2])
	digest, _ := lower.DecodeString(parts[3])
	t := Token{ID: parts[1]}
	copy(t.Secret[:], secret)
	copy(t.Authority[:], digest)
	if _, err := lower.DecodeString(t.ID); err != nil || t.Text() != text {
		return Token{}, errToken
	}
	return t, nil
}

// newToken creates the random parts of a token.
func newToken(authority [sha256.Size]byte) Token {
	t := Token{Authority: authority}
	var id [5]byte
	_, _ = rand.Read(id[:]) // crypto/rand never fails
	_, _ = rand.Read(t.Secret[:])
	t.ID = lower.EncodeToString(id[:])
	return t
}
