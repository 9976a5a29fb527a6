package secret

import (
	"bytes"
	"encoding/binary"
)

// Bundle has the data that a host needs to use sealed content. It is not readable without an
// identity, so it can be stored on a disk. The zero Bundle is for a list without secrets.
type Bundle struct {
	Key     string `json:"key,omitempty"`      // ID
	KeyFile []byte `json:"key_file,omitempty"` // the key, encrypted to the recipients of the repository
	Values  []byte `json:"values,omitempty"`   // SealValues of the values in use, to mask them
}

// SealValues seals a set of values, in any order.
func (k Key) SealValues(values []string) []byte {
	var b []byte
	for _, v := range values {
		b = binary.AppendUvarint(b, uint64(len(v)))
		b = append(b, v...)
	}
	return k.Seal(b)
}

// OpenValues returns the values that SealValues sealed, or ErrDamaged.
func (k Key) OpenValues(sealed []byte) ([]string, error) {
	b, err := k.Open(sealed)
	if err != nil {
		return nil, err
	}
	var out []string
	for r := bytes.NewReader(b); r.Len() > 0; {
		n, err := binary.ReadUvarint(r)
		if err != nil || n > uint64(r.Len()) {
			return nil, ErrDamaged
		}
		v := make([]byte, n)
		_, _ = r.Read(v) // r has as much
		out = append(out, string(v))
	}
	return out, nil
}
