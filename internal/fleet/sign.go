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

// Types of signed data, as DSSE payload types.
const (
	AssignmentType = "application/vnd.fettle.assignment+json"
	FactType       = "application/vnd.fettle.fact+json" // revocations
)

// Signed is an envelope of DSSE 1.0 (github.com/secure-systems-lab/dsse). The type of the payload
// is signed too, so that data of one type is never accepted as another type.
type Signed struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"` // base64
	Signatures  []Signature `json:"signatures"`
}

// Signature is one signature of an envelope.
type Signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"` // base64
}

// Keys are trusted public keys, by KeyID.
type Keys map[string]ed25519.PublicKey

// KeyID returns the SHA-256 of a public key, in hex.
func KeyID(k ed25519.PublicKey) string {
	sum := sha256.Sum256(k)
	return hex.EncodeToString(sum[:])
}

// KeysOf returns a set of keys.
func KeysOf(keys ...ed25519.PublicKey) Keys {
	out := Keys{}
	for _, k := range keys {
		out[KeyID(k)] = k
	}
	return out
}

// ErrUnsigned means that an envelope has no signature of a trusted key.
var ErrUnsigned = errors.New("no trusted key signed it")

// preauth returns the pre-authentication encoding of DSSE.
func preauth(payloadType string, payload []byte) []byte {
	out := make([]byte, 0, len(payload)+len(payloadType)+64)
	return append(fmt.Appendf(out, "DSSEv1 %d %s %d ", len(payloadType), payloadType, len(payload)), payload...)
}

// SignPayload returns a signature for an envelope.
func SignPayload(payload []byte, payloadType string, key ed25519.PrivateKey) (Signature, error) {
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok || len(key) != ed25519.PrivateKeySize {
		return Signature{}, errors.New("cannot sign without a key")
	}
	return Signature{KeyID: KeyID(public), Sig: base64.StdEncoding.EncodeToString(ed25519.Sign(key,
		preauth(payloadType, payload)))}, nil
}

// VerifyPayload returns an error with ErrUnsigned in its chain if none of the signatures is valid
// for one of the keys.
func VerifyPayload(payload []byte, payloadType string, signatures []Signature, keys Keys) error {
	for _, sig := range signatures {
		key, known := keys[sig.KeyID]
		raw, err := base64.StdEncoding.DecodeString(sig.Sig)
		if known && err == nil && ed25519.Verify(key, preauth(payloadType, payload), raw) {
			return nil
		}
	}
	return fmt.Errorf("cannot trust the signed data: %w", ErrUnsigned)
}

// Sign returns a signed envelope, as one line of JSON.
func Sign(payload []byte, payloadType string, key ed25519.PrivateKey) ([]byte, error) {
	signature, err := SignPayload(payload, payloadType, key)
	if err != nil {
		return nil, err
	}
	return Envelope(payload, payloadType, signature)
}

// Envelope returns an envelope with existing signatures.
func Envelope(payload []byte, payloadType string, signatures ...Signature) ([]byte, error) {
	// Signed, but the payload is encoded as base64 in place: it is large, and a hub makes one for
	// each agent
	return json.Marshal(struct {
		PayloadType string      `json:"payloadType"`
		Payload     []byte      `json:"payload"`
		Signatures  []Signature `json:"signatures"`
	}{payloadType, payload, signatures})
}

// Open returns the payload of an envelope that one of the keys signed.
func Open(envelope []byte, payloadType string, keys Keys) ([]byte, error) {
	payload, _, err := open(envelope, payloadType, keys)
	return payload, err
}

// open is Open, and also returns the signatures, one of which is valid.
func open(envelope []byte, payloadType string, keys Keys) (payload []byte, signatures []Signature, err error) {
	var s Signed
	if err := json.Unmarshal(envelope, &s); err != nil {
		return nil, nil, fmt.Errorf("cannot read the signed data: %w", err)
	}
	if s.PayloadType != payloadType {
		return nil, nil, fmt.Errorf("cannot accept signed data of the type %.60q instead of %s", s.PayloadType, payloadType)
	}
	if payload, err = base64.StdEncoding.Strict().DecodeString(s.Payload); err != nil {
		return nil, nil, fmt.Errorf("cannot read the signed data: %w", err)
	}
	if err := VerifyPayload(payload, payloadType, s.Signatures, keys); err != nil {
		return nil, nil, err
	}
	return payload, s.Signatures, nil
}

// OpenAssignment verifies and then parses an assignment. If it is signed but cannot be read, the
// error is a *NewerError.
func OpenAssignment(envelope []byte, keys Keys) (Assignment, error) {
	a, _, err := OpenSigned(envelope, keys)
	return a, err
}

// OpenSigned is OpenAssignment, and also returns the signatures: one of them is valid; the other
// ones are not verified.
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
