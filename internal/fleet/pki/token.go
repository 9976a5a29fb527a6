package pki

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Secret is what a token proves: 160 random bits. It prints as nothing but a word; only
// Token.Text has it.
type Secret [20]byte

// String hides it.
func (Secret) String() string { return "(secret)" }

// GoString hides it as well.
func (Secret) GoString() string { return "(secret)" }

// Format hides it from every verb, %x and %d too.
func (Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, "(secret)") }

// MarshalJSON hides it, and nothing reads it back.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"(secret)"`), nil }

// hash is how a secret is kept. It has too many bits to be guessed from that.
func (s Secret) hash() string {
	sum := sha256.Sum256(s[:])
	return hex.EncodeToString(sum[:])
}

// Token lets hosts in. Its text is shown once, when it is made:
//
//	fettle-ID-SECRET-AUTHORITY-CHECK
//
// AUTHORITY is the digest of the authority's certificate, so that the first contact with
// a hub is not blind; CHECK finds typing mistakes. All parts are of a-z and 2-7.
type Token struct {
	ID        string // 8 characters, no secret
	Secret    Secret
	Authority [sha256.Size]byte
}

const (
	tokenWord    = "fettle"
	tokenID      = 8  // characters
	tokenSecret  = 32 // of 20 bytes
	tokenDigest  = 52 // of 32 bytes
	tokenCheck   = 6
	tokenAllSize = len(tokenWord) + tokenID + tokenSecret + tokenDigest + tokenCheck + 4
)

// errToken never says what of a token it was.
var errToken = errors.New("cannot read this token: it is cut off or mistyped. Copy it whole, from fettle- on; if it is lost, make another with fettle token create")

// Text is the token for whoever uses it: a secret.
func (t Token) Text() string {
	body := strings.Join([]string{tokenWord, t.ID, lower.EncodeToString(t.Secret[:]), lower.EncodeToString(t.Authority[:])}, "-")
	return body + "-" + tokenSum(body)
}

// String is the token without its secret.
func (t Token) String() string { return tokenWord + "-" + t.ID + "-…" }

func tokenSum(body string) string {
	sum := sha256.Sum256([]byte(body))
	return lower.EncodeToString(sum[:])[:tokenCheck]
}

// ParseToken reads the text of a token; space around it does not matter. The error never
// has any part of it.
func ParseToken(text string) (Token, error) {
	text = strings.TrimSpace(text)
	parts := strings.Split(text, "-")
	if len(text) != tokenAllSize || len(parts) != 5 {
		return Token{}, errToken
	}
	// Errors show below: a token is read only if its Text is the text.
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

// newToken makes the secret parts of a token.
func newToken(authority [sha256.Size]byte) Token {
	t := Token{Authority: authority}
	var id [5]byte
	_, _ = rand.Read(id[:]) // it never fails
	_, _ = rand.Read(t.Secret[:])
	t.ID = lower.EncodeToString(id[:])
	return t
}
