// Package secret defines the form of secrets outside of the language. A secret is content that is
// sealed under a key of the repository, and named by the digest of the sealed content. The
// environment of a command has a reference to it.
//
//	sealed := key.Seal(content)        // the same bytes each time
//	content, err := key.Open(sealed)   // ErrDamaged, or what was sealed
//
// Sealing is deterministic, so that a list is the same on every compiler. The name of sealed
// content shows whether it is the same. Without the key, guesses of the content cannot be verified.
// Sealing is encryption with a synthetic initialization vector. HMAC-SHA256 of the content is the
// tag, whose first half begins AES-256-CTR.
//
//	sealed: "fettle-sealed 1\n"  tag [32]byte  ciphertext
package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

const (
	header   = "fettle-sealed 1\n"
	keyWord  = "fettle-sealing-key-1 "
	tagSize  = sha256.Size
	keyBytes = 32
)

// Placeholder is the ID of a key that does not exist. Content sealed with it was compiled without
// access to the secrets, and never reaches a host.
const Placeholder = "placeholder"

// ErrDamaged: the bytes were not sealed with this key, or were changed since.
var ErrDamaged = errors.New("it is damaged, or sealed with another key")

// Key seals and opens. Its methods are pure; the zero Key is the placeholder's.
// Printing one shows its ID alone.
type Key struct{ raw [keyBytes]byte }

// NewKey makes a key from the system's randomness.
func NewKey() Key {
	var k Key
	_, _ = rand.Read(k.raw[:]) // never fails
	return k
}

// ParseKey parses the output of Text.
func ParseKey(text []byte) (Key, error) {
	var k Key
	h, ok := strings.CutPrefix(strings.TrimSpace(string(text)), keyWord)
	raw, err := hex.DecodeString(h)
	if !ok || err != nil || len(raw) != keyBytes {
		return k, errors.New(
			"cannot read the sealing key: its file is damaged; restore it from the history of the repository")
	}
	copy(k.raw[:], raw)
	if k == (Key{}) {
		return k, errors.New("cannot use the sealing key: it is the placeholder for a missing key")
	}
	return k, nil
}

// Text is the key itself, to be encrypted and sent, never shown.
func (k Key) Text() []byte { return []byte(keyWord + hex.EncodeToString(k.raw[:]) + "\n") }

// ID names the key: 16 hex digits, or Placeholder.
func (k Key) ID() string {
	if k == (Key{}) {
		return Placeholder
	}
	return hex.EncodeToString(k.derive("id"))[:16]
}

// IsID reports whether s is the ID of a key other than the placeholder's.
func IsID(s string) bool {
	return len(s) == 16 && strings.Trim(s, "0123456789abcdef") == ""
}

// Format implements fmt.Formatter for every verb, so that no log shows a key.
func (k Key) Format(f fmt.State, _ rune) { fmt.Fprint(f, "key "+k.ID()) }

func (k Key) derive(what string) []byte {
	m := hmac.New(sha256.New, k.raw[:])
	m.Write([]byte("fettle " + what))
	return m.Sum(nil)
}

// Seal returns the sealed form of content, which it does not retain.
func (k Key) Seal(content []byte) []byte {
	out := make([]byte, len(header)+tagSize+len(content))
	copy(out, header)
	tag := k.tag(content)
	copy(out[len(header):], tag)
	k.stream(tag).XORKeyStream(out[len(header)+tagSize:], content)
	return out
}

// Open returns the content that was sealed, or ErrDamaged.
func (k Key) Open(sealed []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(sealed, []byte(header))
	if !ok || len(rest) < tagSize {
		return nil, ErrDamaged
	}
	tag := rest[:tagSize]
	content := make([]byte, len(rest)-tagSize)
	k.stream(tag).XORKeyStream(content, rest[tagSize:])
	if !hmac.Equal(tag, k.tag(content)) {
		return nil, ErrDamaged
	}
	return content, nil
}

// IsSealed reports whether bytes begin like sealed content.
func IsSealed(b []byte) bool { return bytes.HasPrefix(b, []byte(header)) }

func (k Key) tag(content []byte) []byte {
	m := hmac.New(sha256.New, k.derive("tag"))
	m.Write(content)
	return m.Sum(nil)
}

func (k Key) stream(tag []byte) cipher.Stream {
	block, err := aes.NewCipher(k.derive("content"))
	if err != nil {
		return nil // a key of 32 bytes always fits
	}
	return cipher.NewCTR(block, tag[:aes.BlockSize])
}
