package content

import (
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
)

// BinaryNamespace is the namespace of the signatures of fettle's binaries.
const BinaryNamespace = "fettle-program"

// VerifyBinary returns the principal that signed a binary, if t trusts the key.
func VerifyBinary(p fleet.Binary, t Trust) (by string, err error) {
	if p.Signature == "" {
		return "", errors.New("the binary is not signed, and this target accepts only signed binaries")
	}
	key, err := verifySSH([]byte(p.Signature), p.Text(), BinaryNamespace)
	if err != nil {
		return "", fmt.Errorf("the signature of the binary is not valid: %w", err)
	}
	by, err = t.Signers.find(key, BinaryNamespace, t.Now)
	if err != nil {
		return "", fmt.Errorf("the signature of the binary is not valid: %w", err)
	}
	return by, nil
}
