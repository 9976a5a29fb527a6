package bus

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"
)

// KeySize is the size of ExternalNats.Key, in bytes.
const KeySize = chacha20poly1305.KeySize

// sealedAs is the first byte of sealed data: its format.
const sealedAs = 1

// sealRoom is more than sealing adds, in bytes.
const sealRoom = 4 << 10

// errUnsealed means that no hub of this fleet wrote the data, or that it was moved from another
// key.
var errUnsealed = errors.New("no hub of this fleet wrote it: another user of the NATS cluster did")

// seal encrypts and authenticates data that others transport or store. They cannot read or forge
// it, or move it to another place. They can withhold it, or restore an older version. A nil seal
// does nothing.
type seal struct{ aead cipher.AEAD }

func newSeal(key []byte) (*seal, error) {
	a, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, fmt.Errorf("cannot seal with a key of %d bytes: a key has %d", len(key), KeySize)
	}
	return &seal{a}, nil
}

// close seals data for a place.
func (s *seal) close(place string, plain []byte) []byte {
	if s == nil {
		return plain
	}
	out := make([]byte, 1+s.aead.NonceSize(), 1+s.aead.NonceSize()+len(plain)+s.aead.Overhead())
	out[0] = sealedAs
	_, _ = rand.Read(out[1:]) // crypto/rand never fails
	return s.aead.Seal(out, out[1:], plain, []byte(place))
}

// open decrypts data that was sealed for the place.
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

// parts joins byte slices; records splits the result.
func parts(all ...[]byte) []byte {
	var out []byte
	for _, p := range all {
		out = binary.AppendUvarint(out, uint64(len(p)))
		out = append(out, p...)
	}
	return out
}
