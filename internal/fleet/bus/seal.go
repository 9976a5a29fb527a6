package bus

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"
)

// KeySize is that of the key of a Foreign bus, in bytes.
const KeySize = chacha20poly1305.KeySize

// sealedAs is the first byte of what is sealed: its format.
const sealedAs = 1

// sealRoom is more than sealing adds to anything.
const sealRoom = 4 << 10

// errUnsealed is about what no hub of this fleet wrote, or not there.
var errUnsealed = errors.New("no hub of this fleet wrote that there: whoever may write on the NATS cluster did")

// seal closes what others carry or keep: they cannot read it, nor make it, nor put it in
// another place. They can hold it back, and give an older one again. nil closes nothing.
type seal struct{ aead cipher.AEAD }

func newSeal(key []byte) (*seal, error) {
	a, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, fmt.Errorf("cannot seal with a key of %d bytes: it has %d", len(key), KeySize)
	}
	return &seal{a}, nil
}

// close seals something for a place.
func (s *seal) close(place string, plain []byte) []byte {
	if s == nil {
		return plain
	}
	out := make([]byte, 1+s.aead.NonceSize(), 1+s.aead.NonceSize()+len(plain)+s.aead.Overhead())
	out[0] = sealedAs
	_, _ = rand.Read(out[1:]) // it never fails: crypto/rand
	return s.aead.Seal(out, out[1:], plain, []byte(place))
}

// open reads what was sealed for a place.
func (s *seal) open(place string, b []byte) ([]byte, error) {
	if s == nil {
		return b, nil
	}
	head := 1 + s.aead.NonceSize()
	if len(b) < head || b[0] != sealedAs {
		return nil, errUnsealed
	}
	plain, err := s.aead.Open(nil, b[1:head], b[head:], []byte(place))
	if err != nil {
		return nil, errUnsealed
	}
	return plain, nil
}

// parts makes one of several, which records takes apart.
func parts(all ...[]byte) []byte {
	var out []byte
	for _, p := range all {
		out = binary.AppendUvarint(out, uint64(len(p)))
		out = append(out, p...)
	}
	return out
}
