package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/cli"
)

func newSecretEdit(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "edit NAME",
		Short: "Edit a secret",
		Long: `Opens the value in $VISUAL or $EDITOR, and encrypts the saved file. Only you can
read this file. It is in memory if the host has a directory for that, and is
removed afterwards. If the secret does not exist yet, the file is empty.`,
		Example: "  fettle secret edit db/password",
		Args:    cli.Args(1, 1),
		RunE:    func(c *cobra.Command, a []string) error { return secretEdit(c.Context(), s, a[0]) },
	}
}

func secretEdit(ctx context.Context, s *cli.Session, name string) error {
	if s.App.Console.Interactive == nil {
		return cli.Refuse("Use: fettle secret set "+name, "cannot start an editor here")
	}
	if err := secret.CheckName(name); err != nil {
		return fmt.Errorf("cannot edit the secret: %w", err)
	}
	b, err := openSecrets(s)
	if err != nil {
		return err
	}
	before, err := b.vault.Secret(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return opened(err)
	}
	after, err := edited(ctx, s.Printer, filepath.Base(name), before)
	switch {
	case err != nil:
		return err
	case bytes.Equal(before, after):
		s.Printf("Nothing has changed.\n")
		return nil
	case len(bytes.TrimSpace(after)) == 0:
		return errors.New("cannot store the value: it is empty; the secret is unchanged")
	}
	return secretSet(s, name, after)
}

// edited starts an editor for the text, in a directory that only the user can enter.
func edited(ctx context.Context, s *cli.Printer, name string, text []byte) (after []byte, err error) {
	dir, err := os.MkdirTemp(privateDirectory(s), "fettle-secret-*") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("cannot create a directory to edit in: %w", err)
	}
	defer func() {
		if rerr := os.RemoveAll(dir); rerr != nil {
			err = errors.Join(err, fmt.Errorf("cannot remove %s, which contains the secret; remove it yourself: %w", dir, rerr))
		}
	}()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, fmt.Errorf("cannot write the file to edit: %w", err)
	}
	argv, err := editor(s)
	if err != nil {
		return nil, err
	}
	if err := s.App.Console.Interactive(ctx, append(argv, file)); err != nil {
		return nil, fmt.Errorf("the editor failed, and the secret is unchanged: %w", err)
	}
	return os.ReadFile(file)
}

func editor(s *cli.Printer) ([]string, error) {
	words := s.App.Env("VISUAL")
	if words == "" {
		words = s.App.Env("EDITOR")
	}
	if words == "" {
		words = "editor" // Debian's choice
	}
	argv, err := step.SplitWords(words)
	if err != nil || len(argv) == 0 {
		return nil, cli.Refuse("Set it to a program: EDITOR=nano", "cannot determine the editor from $VISUAL or $EDITOR")
	}
	return argv, nil
}

// privateDirectory is in memory where that is possible; "" is the usual one.
func privateDirectory(s *cli.Printer) string {
	for _, dir := range []string{s.App.Env("XDG_RUNTIME_DIR"), "/dev/shm"} {
		if info, err := os.Stat(dir); dir != "" && err == nil && info.IsDir() {
			return dir
		}
	}
	return ""
}
