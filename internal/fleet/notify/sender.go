package notify

import (
	"context"
	"crypto/tls"
	"path"
	"strings"

	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// Sender sends notices. Its methods are safe for concurrent use.
type Sender struct {
	Files host.FS
	// Dir is the directory of the secrets and programs to which rules refer.
	Dir string
	// Run runs a program with stdin as its standard input, until ctx ends. If it is nil, commands
	// fail.
	Run func(ctx context.Context, argv []string, stdin []byte) error
	// TLS is the configuration for mail servers and webhooks. nil means the trusted certificates of
	// the system.
	TLS *tls.Config
}

// Secret reads a file of the directory, without leading and trailing white space.
func (s *Sender) Secret(name string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	text, err := smallfile.Read(s.Files, path.Join(s.Dir, name))
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(text)), nil
}
