package child

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/secret/vault"
	"fettle.dev/fettle/internal/step"
)

// Vault decrypts secrets for the holder. The child gets only the secrets that it requests, one by
// one.
type Vault interface {
	Secret(name string) ([]byte, error)
	Key() (secret.Key, []byte, error)
}

var _ Vault = (*vault.Vault)(nil)

// side is a revision with its secrets.
type side struct {
	tree    repo.Tree
	secrets *secrets
}

// secrets has the secrets that the holder decrypted for questions. A child that answers a question
// about another target can already have a secret.
type secrets struct {
	vault Vault // nil: every secret is a placeholder
	must  bool  // a secret that cannot be decrypted is an error
	used  map[string]string
}

// answer writes a secret, or the reason why it is missing.
func (s *secrets) answer(w *writer, name string) error {
	k, err := s.open(name)
	if err != nil {
		return err
	}
	w.text(string(k.Key.Text()))
	w.text(string(k.Content))
	return nil
}

func (s *secrets) open(name string) (kind.Secret, error) {
	if err := secret.CheckName(name); err != nil {
		return kind.Secret{}, err
	}
	if s.vault == nil {
		return kind.Secret{}, source.ErrPlaceholder
	}
	content, err := s.vault.Secret(name)
	key := secret.Key{}
	if err == nil {
		key, _, err = s.vault.Key()
	}
	var closed *vault.NotOpenError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return kind.Secret{}, fs.ErrNotExist
	case errors.As(err, &closed) && !s.must:
		return kind.Secret{}, source.ErrPlaceholder
	case errors.As(err, &closed):
		return kind.Secret{}, needed(name, closed)
	case err != nil:
		return kind.Secret{}, err
	}
	if s.used == nil {
		s.used = map[string]string{}
	}
	s.used[name] = string(content)
	return kind.Secret{Content: content, Key: key}, nil
}

// needed describes how to get access to a secret that a run needs.
func needed(name string, e *vault.NotOpenError) error {
	if e.None {
		return fmt.Errorf(
			"the secret %q cannot be decrypted: %v. Create a key with: fettle secret identity — then, on a host that can decrypt the secrets: "+
				"fettle secret add-recipient host NAME KEY", name, e)
	}
	return fmt.Errorf(
		"the secret %q cannot be decrypted: %v. Print the key of this host with: fettle secret identity — then, "+
			"on a host that can decrypt the secret: fettle secret add-recipient host NAME KEY", name, e)
}

// bundle returns the keys that a host needs for the sealed content of a list.
func (s *secrets) bundle(l step.List) (secret.Bundle, error) {
	opens := func(st step.Step) bool {
		return slices.ContainsFunc(st.Keys(), secret.IsID)
	}
	if len(s.used) == 0 || !slices.ContainsFunc(l, opens) {
		return secret.Bundle{}, nil
	}
	key, file, err := s.vault.Key()
	if err != nil {
		return secret.Bundle{}, err
	}
	values := make([]string, 0, len(s.used))
	for _, name := range slices.Sorted(maps.Keys(s.used)) {
		values = append(values, s.used[name])
	}
	return secret.Bundle{Key: key.ID(), KeyFile: file, Values: key.SealValues(values)}, nil
}

// Secret implements source.Secrets with a request to the holder.
func (t *remoteTree) Secret(name string) (kind.Secret, error) {
	r, err := t.ask(opSecret, name)
	if err != nil {
		return kind.Secret{}, err
	}
	text, content := r.bytes(), r.bytes()
	if err := t.finish(r); err != nil {
		return kind.Secret{}, err
	}
	key, err := secret.ParseKey(text)
	if err != nil {
		t.broken = nonsense("a sealing key of %d bytes", len(text))
		return kind.Secret{}, t.broken
	}
	return kind.Secret{Content: []byte(strings.Clone(string(content))), Key: key}, nil
}
