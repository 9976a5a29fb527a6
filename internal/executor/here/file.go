package here

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"fettle.dev/fettle/internal/executor"
)

// Describe reads a regular file of this machine once, and returns its size and digest, so that the file
// can be copied to many machines. The caller sets path, owner and mode.
func Describe(name string) (executor.File, error) {
	var out executor.File
	st, err := os.Stat(name)
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return out, fmt.Errorf("cannot copy: %w", err)
	}
	f, err := os.Open(name)
	if err != nil {
		return out, fmt.Errorf("cannot copy: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if out.Size, err = io.Copy(h, f); err != nil {
		return out, fmt.Errorf("cannot copy %s: %w", name, err)
	}
	out.Digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return out, nil
}
