package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	langsource "fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/secret/vault"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// secretsDir is the top of the repository that is worked with: the directory of the
// main file, here or above.
func secretsDir(s *cli.Session) (string, error) {
	if s.Rev != "" {
		return "", cli.Refuse("Leave --rev out", "cannot change secrets of a revision: change the files, and commit them")
	}
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return "", fmt.Errorf("cannot find -C %q: %w", s.Dir, err)
	}
	for top := dir; ; top = filepath.Dir(top) {
		if workspace.HasMain(top, cli.FileExists) {
			return top, nil
		}
		if top == filepath.Dir(top) {
			return "", workspace.NoMain(dir)
		}
	}
}

// secretBox is the secrets of a work tree, opened.
type secretBox struct {
	dir        string
	tree       repo.Tree
	vault      *vault.Vault
	recipients vault.Recipients
}

// openSecrets refuses a repository that keeps none.
func openSecrets(s *cli.Session) (*secretBox, error) {
	dir, err := secretsDir(s)
	if err != nil {
		return nil, err
	}
	b := &secretBox{dir: dir, tree: langsource.FSTree(os.DirFS(dir))}
	text, err := b.tree.ReadFile(vault.RecipientsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Refuse("Set them up: fettle secret init", "cannot find secrets: there is no "+vault.RecipientsFile)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", vault.RecipientsFile, err)
	}
	if b.recipients, err = vault.ParseRecipients(text); err != nil {
		return nil, err
	}
	b.vault = vault.New(b.tree, s.Identities)
	return b, nil
}

// names are all secrets, sorted.
func (b *secretBox) names() ([]string, error) {
	var out []string
	err := fs.WalkDir(os.DirFS(b.dir), secret.Directory, func(p string, d fs.DirEntry, err error) error {
		if name, ok := secret.NameOf(p); ok && err == nil && d.Type().IsRegular() {
			out = append(out, name)
		}
		return err
	})
	slices.Sort(out)
	return out, err
}

// opened explains a secret that cannot be opened.
func opened(err error) error {
	var closed *vault.NotOpenError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cli.WithHint(errors.New("cannot open the secret: it does not exist"), "List them: fettle secret list")
	case errors.As(err, &closed):
		return cli.WithHint(fmt.Errorf("cannot open it: %w", err),
			"Name the file of your private key: --identity FILE\nOr ask one of its recipients: fettle secret list")
	}
	return err
}

// newVaultFiles are the files of a repository that begins to keep secrets.
func newVaultFiles(rs vault.Recipients) (map[string][]byte, error) {
	key, err := vault.Seal(secret.NewKey().Text(), rs)
	return map[string][]byte{vault.RecipientsFile: rs.Text(), vault.KeyFile: key}, err
}

// rekeyed returns all files, encrypted again for other recipients. It decrypts all files before it
// writes one.
func (b *secretBox) rekeyed(rs vault.Recipients, newKey bool) (map[string][]byte, error) {
	key, _, err := b.vault.Key()
	if err != nil {
		return nil, opened(err)
	}
	if newKey {
		key = secret.NewKey()
	}
	files := map[string][]byte{vault.RecipientsFile: rs.Text()}
	if files[vault.KeyFile], err = vault.Seal(key.Text(), rs); err != nil {
		return nil, err
	}
	names, err := b.names()
	if err != nil {
		return nil, fmt.Errorf("cannot list the secrets: %w", err)
	}
	for _, name := range names {
		content, err := b.vault.Secret(name)
		if err != nil {
			return nil, opened(err)
		}
		if files[secret.PathOf(name)], err = vault.Seal(content, rs.For(name)); err != nil {
			return nil, fmt.Errorf("the secret %q: %w", name, err)
		}
	}
	return files, nil
}
