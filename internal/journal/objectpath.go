package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"strings"

	"fettle.dev/fettle/internal/host"
)

// objectPath returns the path of an object; false if digest is invalid.
func objectPath(digest string) (string, bool) {
	h, ok := strings.CutPrefix(digest, "sha256:")
	if !ok || len(h) != 64 || strings.Trim(h, "0123456789abcdef") != "" {
		return "", false
	}
	return "/objects/" + h[:2] + "/" + h[2:], true
}

func objectDir(digest string) string {
	p, _ := objectPath(digest)
	d, _ := host.SplitPath(p)
	return d
}

func named(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

// DigestOf names content: "sha256:" and 64 hex digits.
func DigestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return named(sum[:])
}

// makeDir makes the directory of an object.
func (s *Objects) makeDir(dir string) error {
	err := s.fs.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// packDir contains the packs, which have many small objects each.
const packDir = "/packs"
