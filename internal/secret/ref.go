package secret

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Ref represents a sealed text if a list has a short value: in the environment of a command, the
// region of an EDIT, the password of an account.
type Ref struct {
	Key    string // ID
	Digest string // sha256:hex of the sealed text
}

const refWord = "sealed:"

// Ref names content by its sealed form, as lists do.
func (k Key) Ref(content []byte) Ref { return RefTo(k.ID(), k.Seal(content)) }

// RefTo returns the reference to content that was sealed with the key of an ID.
func RefTo(key string, sealed []byte) Ref {
	sum := sha256.Sum256(sealed)
	return Ref{Key: key, Digest: "sha256:" + hex.EncodeToString(sum[:])}
}

// String is "sealed:KEY:sha256:HEX", which ParseRef reads.
func (r Ref) String() string { return refWord + r.Key + ":" + r.Digest }

// LooksLikeRef reports whether a value could be mistaken for a reference.
func LooksLikeRef(s string) bool { return strings.HasPrefix(s, refWord) }

// ParseRef reads a reference; ok is false for any other text.
func ParseRef(s string) (r Ref, ok bool) {
	rest, ok := strings.CutPrefix(s, refWord)
	if !ok {
		return Ref{}, false
	}
	r.Key, r.Digest, ok = strings.Cut(rest, ":")
	if !ok || !IsID(r.Key) && r.Key != Placeholder {
		return Ref{}, false
	}
	h, ok := strings.CutPrefix(r.Digest, "sha256:")
	return r, ok && len(h) == 64 && strings.Trim(h, "0123456789abcdef") == ""
}
