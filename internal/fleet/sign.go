package fleet

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Types of what is signed, as DSSE has them.
const (
	AssignmentType = "application/vnd.fettle.assignment+json"
	FactType       = "application/vnd.fettle.fact+json" // revocations, holds, floors
)

// Signed is an envelope of DSSE 1.0 (github.com/secure-systems-lab/dsse): the type of
// the payload is signed with it, so that one thing is never taken for another.
type Signed struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"` // base64
	Signatures  []Signature `json:"signatures"`
}

// Signature is one of an envelope.
type Signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"` // base64
}

// Keys are public keys that are believed, by KeyID.
type Keys map[string]ed25519.PublicKey

// KeyID names a public key by its SHA-256, in hex.
func KeyID(k ed25519.PublicKey) string {
	sum := sha256.Sum256(k)
	return hex.EncodeToString(sum[:])
}

// KeysOf is the set of some keys.
func KeysOf(keys ...ed25519.PublicKey) Keys {
	out := Keys{}
	for _, k := range keys {
		out[KeyID(k)] = k
	}
	return out
}

// ErrUnsigned is in the chain of the error about an envelope that no believed key signed.
var ErrUnsigned = errors.New("no key that is believed here signed it")

// preauth is the pre-authentication encoding of DSSE.
func preauth(payloadType string, payload []byte) []byte {
	out := make([]byte, 0, len(payload)+len(payloadType)+64)
	return append(fmt.Appendf(out, "DSSEv1 %d %s %d ", len(payloadType), payloadType, len(payload)), payload...)
}

// SignPayload makes the signature of an envelope.
func SignPayload(payload []byte, payloadType string, key ed25519.PrivateKey) (Signature, error) {
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok || len(key) != ed25519.PrivateKeySize {
		return Signature{}, errors.New("cannot sign without a key")
	}
	return Signature{KeyID: KeyID(public), Sig: base64.StdEncoding.EncodeToString(ed25519.Sign(key, preauth(payloadType, payload)))}, nil
}

// VerifyPayload gives ErrUnsigned in the chain where none of the keys made one of the
// signatures.
func VerifyPayload(payload []byte, payloadType string, signatures []Signature, keys Keys) error {
	for _, sig := range signatures {
		key, known := keys[sig.KeyID]
		raw, err := base64.StdEncoding.DecodeString(sig.Sig)
		if known && err == nil && ed25519.Verify(key, preauth(payloadType, payload), raw) {
			return nil
		}
	}
	return fmt.Errorf("cannot believe what is signed: %w", ErrUnsigned)
}

// Sign makes the envelope, as one line of JSON.
func Sign(payload []byte, payloadType string, key ed25519.PrivateKey) ([]byte, error) {
	signature, err := SignPayload(payload, payloadType, key)
	if err != nil {
		return nil, err
	}
	return Envelope(payload, payloadType, signature)
}

// Envelope is what Sign makes, of signatures that were made before.
func Envelope(payload []byte, payloadType string, signatures ...Signature) ([]byte, error) {
	return json.Marshal(struct { // Signed, whose payload becomes base64 where it lies: it is large, and a hub makes one for each agent
		PayloadType string      `json:"payloadType"`
		Payload     []byte      `json:"payload"`
		Signatures  []Signature `json:"signatures"`
	}{payloadType, payload, signatures})
}

// Open gives the payload of an envelope that one of the keys signed.
func Open(envelope []byte, payloadType string, keys Keys) ([]byte, error) {
	payload, _, err := open(envelope, payloadType, keys)
	return payload, err
}

// open is Open, and gives the signatures as well, of which one is right.
func open(envelope []byte, payloadType string, keys Keys) (payload []byte, signatures []Signature, err error) {
	var s Signed
	if err := json.Unmarshal(envelope, &s); err != nil {
		return nil, nil, fmt.Errorf("cannot read what is signed: %w", err)
	}
	if s.PayloadType != payloadType {
		return nil, nil, fmt.Errorf("cannot take %.60q for %s", s.PayloadType, payloadType)
	}
	if payload, err = base64.StdEncoding.Strict().DecodeString(s.Payload); err != nil {
		return nil, nil, fmt.Errorf("cannot read what is signed: %w", err)
	}
	if err := VerifyPayload(payload, payloadType, s.Signatures, keys); err != nil {
		return nil, nil, err
	}
	return payload, s.Signatures, nil
}

// OpenAssignment opens and parses an assignment, in this order. One that cannot be read
// although it is signed is a *NewerError.
func OpenAssignment(envelope []byte, keys Keys) (Assignment, error) {
	a, _, err := OpenSigned(envelope, keys)
	return a, err
}

// OpenSigned is OpenAssignment, and gives the signatures as well: one of them is right, and of
// the others nothing is known.
func OpenSigned(envelope []byte, keys Keys) (Assignment, []Signature, error) {
	if len(envelope) > 2*MaxAssignment {
		return Assignment{}, nil, fmt.Errorf("cannot read an assignment of %d bytes", len(envelope))
	}
	payload, signatures, err := open(envelope, AssignmentType, keys)
	if err != nil {
		return Assignment{}, nil, err
	}
	a, err := ParseAssignment(payload)
	if err != nil {
		return a, nil, newerError(payload, err)
	}
	return a, signatures, nil
}
