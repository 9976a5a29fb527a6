package host

import "fettle.dev/fettle/internal/secret"

// Veiled is a host that shows the content of some files only sealed, so that
// whoever looks at them, compares and keeps them never has what is in them.
type Veiled interface {
	// Sealing is the ID of the key under which the file at a path, or the account
	// with an address, is read, "" for one that is read as it is.
	Sealing(path string) string
	// Under reads as this host does, but the file at path with the key of this
	// ID, or as it is where that is "".
	Under(path, key string) Reader
	// Unseal gives what was sealed with the key of this ID, to be written.
	Unseal(key string, sealed []byte) ([]byte, error)
	// Conceal gives the sealed form of content, with the key of this ID.
	Conceal(key string, content []byte) ([]byte, error)
	// Reveal gives the content that a reference of a list stands for, to be written.
	Reveal(ref secret.Ref) ([]byte, error)
}

// Sealing is that of a Veiled, and "" of any other reader.
func Sealing(r Reader, path string) string {
	if v, ok := r.(Veiled); ok {
		return v.Sealing(path)
	}
	return ""
}
