package host

import "fettle.dev/fettle/internal/secret"

// Veiled is a host that returns the content of some files only in sealed form. Readers that compare
// and store these files never have their content.
type Veiled interface {
	// Sealing returns the ID of the key that seals the file at a path, or the account with an
	// address. It is "" if the content is not sealed.
	Sealing(path string) string
	// Under reads as this host does, except for the file at path: its content is sealed with the
	// key of this ID, or not sealed if the ID is "".
	Under(path, key string) Reader
	// Unseal decrypts content that was sealed with the key of this ID, for writing.
	Unseal(key string, sealed []byte) ([]byte, error)
	// Conceal returns the sealed form of content, with the key of this ID.
	Conceal(key string, content []byte) ([]byte, error)
	// Reveal returns the content of a reference in a list, for writing.
	Reveal(ref secret.Ref) ([]byte, error)
}

// Sealing returns r.Sealing(path) if r is Veiled, and "" for any other reader.
func Sealing(r Reader, path string) string {
	if v, ok := r.(Veiled); ok {
		return v.Sealing(path)
	}
	return ""
}
