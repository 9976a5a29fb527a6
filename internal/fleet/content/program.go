package content

import (
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
)

// ProgramNamespace is that of the signatures of programs.
const ProgramNamespace = "fettle-program"

// VerifyProgram tells who signed a program, where somebody did whom t believes.
func VerifyProgram(p fleet.Program, t Trust) (by string, err error) {
	if p.Signature == "" {
		return "", errors.New("the program is not signed, and this target takes signed ones only")
	}
	key, err := verifySSH([]byte(p.Signature), p.Text(), ProgramNamespace)
	if err != nil {
		return "", fmt.Errorf("the signature of the program does not hold: %w", err)
	}
	by, err = t.Signers.find(key, ProgramNamespace, t.Now)
	if err != nil {
		return "", fmt.Errorf("the signature of the program does not hold: %w", err)
	}
	return by, nil
}
