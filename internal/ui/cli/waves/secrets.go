package waves

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/fleet/notify"
)

// secrets are files in the directory notify of the user's configuration. It implements gates.Secrets.
type secrets struct{ env func(string) string }

// Secret returns the content of a file that only its owner can read.
func (s secrets) Secret(name string) (string, error) {
	if err := notify.CheckName(name); err != nil {
		return "", err
	}
	identity := here.PersonalIdentity(s.env)
	if identity == "" {
		return "", fmt.Errorf("cannot find the secret %s: set HOME or XDG_CONFIG_HOME", name)
	}
	file := filepath.Join(filepath.Dir(identity), "notify", name)
	st, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("cannot read the secret of a gate: %w", err)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("cannot use the secret %s, because other users can read it: chmod 600 %[1]s", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("cannot read the secret of a gate: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
