package content

import (
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
)

// BinaryNamespace is that of the signatures of programs.
const BinaryNamespace = "fettle-program"

// VerifyBinary tells who signed a program, where somebody did whom t believes.
func VerifyBinary(p fleet.Binary, t Trust) (by string, err error) {
	if p.Signature == "" {
		return "", errors.New("the program is not signed, and this target takes signed ones only")
	}
	key, err := verifySSH([]byte(p.Signature), p.Text(), BinaryNamespace)
	if err != nil {
		return "", fmt.Errorf("the signature of the program does not hold: %w", err)
	}
	by, err = t.Signers.find(key, BinaryNamespace, t.Now)
	if err != nil {
		return "", fmt.Errorf("the signature of the program does not hold: %w", err)
	}
	return by, nil
}
