package kind

import (
	"crypto/sha256"
	"encoding/hex"

	"fettle.dev/fettle/internal/repo"
)

// Inline makes a blob of text.
func Inline(text string) Blob {
	sum := sha256.Sum256([]byte(text))
	return Blob{Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(text)), Data: []byte(text)}
}

// wholeTree is what a module's Files may be able to: name the repository's own
// tree behind it.
type wholeTree interface {
	Whole(p string) (repo.Tree, string)
}

// FileBlob makes a blob of a file of the module, which is not read now but for
// its digest.
func (s State) FileBlob(p string) (Blob, error) {
	digest, size, err := s.Files.Digest(p)
	b := Blob{Digest: digest, Size: size, Tree: s.Files, Path: p}
	if w, ok := s.Files.(wholeTree); ok {
		b.Tree, b.Path = w.Whole(p)
	}
	return b, err
}
