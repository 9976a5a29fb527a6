package vault

import (
	"bytes"
	"fmt"

	"filippo.io/age"
	"filippo.io/age/agessh"
)

// Identities are private keys that are tried in turn.
type Identities []age.Identity

// ParseIdentities reads a file of identities: age's own, or an SSH key without passphrase. from is
// for the error, which never repeats the content.
func ParseIdentities(text []byte, from string) (Identities, error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("-----BEGIN")) {
		id, err := agessh.ParseIdentity(text)
		if err != nil {
			return nil, fmt.Errorf("cannot use the identity %s: it is not an SSH key of type ed25519 without a passphrase; create an identity with: fettle secret identity", from)
		}
		return Identities{id}, nil
	}
	ids, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("cannot use the identity %s: no line begins with AGE-SECRET-KEY-; create an identity with: fettle secret identity", from)
	}
	return ids, nil
}

// NewIdentity makes one: the text of its file, and its public key.
func NewIdentity() (file []byte, public string, err error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, "", fmt.Errorf("cannot create an identity: %w", err)
	}
	public = id.Recipient().String()
	return fmt.Appendf(nil, "# fettle identity; public key: %s\n%s\n", public, id), public, nil
}

// PublicOf are the public keys of a file of age identities.
func PublicOf(ids Identities) []string {
	var out []string
	for _, id := range ids {
		switch x := id.(type) {
		case *age.X25519Identity:
			out = append(out, x.Recipient().String())
		case *age.HybridIdentity:
			out = append(out, x.Recipient().String())
		}
	}
	return out
}
