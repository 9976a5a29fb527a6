package hubclient

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/ui/cli"
)

// SigningKey is the key that a user signs with: in a file, or in an SSH agent. flag names the
// file on the command line.
func SigningKey(ctx context.Context, s *cli.Printer, file,
	flag string) (key content.SigningKey, end func(), err error) {
	end = func() {}
	if file == "" {
		file = filepath.Join(s.App.Env("HOME"), ".ssh", "id_ed25519")
	}
	file = strings.TrimSuffix(file, ".pub")
	private, err := os.ReadFile(file)
	if err != nil {
		err = fmt.Errorf("cannot read the key: %w", err)
	} else {
		key, err = content.ReadSigningKey(private)
	}
	socket := s.App.Env("SSH_AUTH_SOCK")
	if err == nil || socket == "" {
		return key, end, cli.WithHint(err, "Name the key: "+flag+
			" FILE. A key with a passphrase must be in the SSH agent: ssh-add FILE")
	}
	public, perr := os.ReadFile(file + ".pub")
	if perr != nil {
		return key, end, cli.WithHint(errors.Join(err, perr), "Name the key: "+flag+" FILE")
	}
	conn, err := client.SSHAgent(ctx, socket)
	if err != nil {
		return key, end, err
	}
	key, err = content.AgentSigningKey(conn, public)
	return key, func() { _ = conn.Close() }, cli.WithHint(err, "Add it: ssh-add "+file)
}
