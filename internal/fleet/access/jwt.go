package access

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"time"
)

// maxJWT limits an ID token, in bytes.
const maxJWT = 16 << 10

// leeway is the tolerated difference between the clocks of a hub and a provider.
const leeway = time.Minute

// jwt is a parsed ID token that is not verified.
type jwt struct {
	alg, kid  string
	signed    string
	signature []byte
	claims    claims
}

// claims are the claims that are verified.
type claims struct {
	Issuer    string   `json:"iss"`
	Subject   string   `json:"sub"`
	Audience  audience `json:"aud"`
	Party     string   `json:"azp"`
	Expires   seconds  `json:"exp"`
	NotBefore seconds  `json:"nbf"`
	Issued    seconds  `json:"iat"`
	Nonce     string   `json:"nonce"`
	all       map[string]any
}

// seconds is a time in seconds since 1970. Providers may send fractions.
type seconds float64

func (s seconds) time() time.Time { return time.Unix(int64(s), 0) }

// audience is a string or a list of strings.
type audience []string

func (a *audience) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(a))
}

// parseJWT returns nil for an invalid token.
func parseJWT(text string) *jwt {
	parts := strings.Split(text, ".")
	if len(text) > maxJWT || len(parts) != 3 {
		return nil
	}
	raw := make([][]byte, len(parts))
	for i, p := range parts {
		b, err := base64.RawURLEncoding.Strict().DecodeString(p)
		if err != nil {
			return nil
		}
		raw[i] = b
	}
	var head struct {
		Alg  string `json:"alg"`
		Kid  string `json:"kid"`
		Crit any    `json:"crit"`
	}
	t := &jwt{signed: parts[0] + "." + parts[1], signature: raw[2]}
	if json.Unmarshal(raw[0], &head) != nil || head.Crit != nil || json.Unmarshal(raw[1], &t.claims) != nil ||
		json.Unmarshal(raw[1], &t.claims.all) != nil {
		return nil
	}
	t.alg, t.kid = head.Alg, head.Kid
	return t
}

// signedBy reports whether a key signed the token, and false for a nil key. The type of the key
// determines the algorithm; the algorithm in the token must be the same.
func (t jwt) signedBy(key crypto.PublicKey) bool {
	sum := sha256.Sum256([]byte(t.signed))
	switch k := key.(type) {
	case *rsa.PublicKey:
		return t.alg == "RS256" && rsa.VerifyPKCS1v15(k, crypto.SHA256, sum[:], t.signature) == nil
	case *ecdsa.PublicKey:
		if t.alg != "ES256" || len(t.signature) != 64 {
			return false
		}
		r, s := new(big.Int).SetBytes(t.signature[:32]), new(big.Int).SetBytes(t.signature[32:])
		return ecdsa.Verify(k, sum[:], r, s)
	}
	return false
}

// holds reports whether the claims match the issuer and the client, and are valid now.
func (c claims) holds(issuer, client string, now time.Time) bool {
	named := false
	for _, a := range c.Audience {
		named = named || a == client
	}
	if len(c.Audience) > 1 || c.Party != "" {
		named = named && c.Party == client
	}
	return named && c.Issuer == issuer && c.Subject != "" && c.Expires > 0 &&
		now.Before(c.Expires.time().Add(leeway)) && !now.Add(leeway).Before(c.NotBefore.time()) &&
		!now.Add(leeway).Before(c.Issued.time())
}

// jwk is a key in the form that providers publish.
type jwk struct {
	Type  string `json:"kty"`
	ID    string `json:"kid"`
	Use   string `json:"use"`
	Alg   string `json:"alg"`
	Curve string `json:"crv"`
	N     string `json:"n"`
	E     string `json:"e"`
	X     string `json:"x"`
	Y     string `json:"y"`
}

// key returns the public key, or nil if the key is not for signatures or too weak.
func (j jwk) key() crypto.PublicKey {
	if j.Use != "" && j.Use != "sig" {
		return nil
	}
	switch {
	case j.Type == "RSA" && (j.Alg == "" || j.Alg == "RS256"):
		n, e := number(j.N), number(j.E)
		if n.BitLen() < 2048 || n.BitLen() > 8192 || n.Bit(0) == 0 || e.BitLen() > 31 || e.Int64() < 3 || e.Bit(0) == 0 {
			return nil
		}
		return &rsa.PublicKey{N: n, E: int(e.Int64())}
	case j.Type == "EC" && j.Curve == "P-256" && (j.Alg == "" || j.Alg == "ES256"):
		x, y := decode(j.X), decode(j.Y)
		if len(x) != 32 { // the size of both is checked below
			return nil
		}
		k, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
		if err != nil {
			return nil
		}
		return k
	}
	return nil
}

func decode(text string) []byte {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return b
}

func number(text string) *big.Int { return new(big.Int).SetBytes(decode(text)) }
