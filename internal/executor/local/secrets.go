package local

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"fettle.dev/fettle/internal/apply"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/secret/vault"
	"fettle.dev/fettle/internal/step"
)

func newKeyring(store *journal.Store, ids func() (vault.Identities, error)) *keyring {
	if ids == nil {
		ids = func() (vault.Identities, error) { return nil, nil }
	}
	return &keyring{store: store, ids: ids, keys: map[string]secret.Key{}, files: map[string][]byte{},
		values: map[string]bool{}}
}

// hide masks texts in all output and records from now on.
func (k *keyring) hide(texts []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hidden, k.masker = append(k.hidden, texts...), nil
}

// offer takes what a request brings. It is opened when it is needed.
func (k *keyring) offer(b secret.Bundle, blobs map[string]kind.Blob) error {
	k.mu.Lock()
	k.blobs = blobs
	if b.Key != "" {
		k.files[b.Key] = b.KeyFile
	}
	k.mu.Unlock()
	if b.Key == "" {
		return nil
	}
	key, err := k.Key(b.Key)
	if err != nil {
		return err
	}
	values, err := key.OpenValues(b.Values)
	if err != nil {
		return fmt.Errorf("cannot decrypt the secrets of the list: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, v := range values {
		k.values[v] = true
	}
	k.masker = nil
	return nil
}

// keep writes what a run and every later rollback need of a bundle, durably.
func (k *keyring) keep(b secret.Bundle) error {
	if b.Key == "" {
		return nil
	}
	key, err := k.Key(b.Key)
	if err != nil {
		return err
	}
	if err := k.store.SaveKey(b.Key, b.KeyFile); err != nil {
		return fmt.Errorf("cannot store the sealing key: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.load()
	values := make([]string, 0, len(k.values))
	for v := range k.values {
		values = append(values, v)
	}
	slices.Sort(values)
	if err := k.store.SaveKey(b.Key+valuesOf, key.SealValues(values)); err != nil {
		return fmt.Errorf("cannot store the values to be masked: %w", err)
	}
	return nil
}

// valuesOf is the suffix after a key's ID in the file name of the values that the key
// seals.
const valuesOf = ".values"

// Key implements sealed.Keys.
func (k *keyring) Key(id string) (secret.Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.key(id)
}

func (k *keyring) key(id string) (secret.Key, error) {
	if key, ok := k.keys[id]; ok {
		return key, nil
	}
	if id == secret.Placeholder {
		return secret.Key{},
			errors.New("cannot use a placeholder instead of a secret: the list was compiled without a key that decrypts its secrets; compile it with such a key (see fettle secret)")
	}
	if !secret.IsID(id) {
		return secret.Key{}, fmt.Errorf("cannot use the sealing key %q: this is not the ID of a key", id)
	}
	file, ok := k.files[id]
	if !ok {
		var err error
		if file, err = k.store.Key(id); errors.Is(err, fs.ErrNotExist) {
			return secret.Key{},
				fmt.Errorf("cannot find the sealing key %s: neither the list nor an earlier run contains it; run fettle apply in the repository",
					id)
		} else if err != nil {
			return secret.Key{}, err
		}
	}
	ids, err := k.ids()
	if err != nil {
		return secret.Key{}, err
	}
	key, err := vault.OpenKey(file, ids)
	if err != nil {
		return secret.Key{},
			fmt.Errorf("cannot decrypt the secrets of this host: %w; to see its key: fettle secret identity", err)
	}
	if key.ID() != id {
		return secret.Key{}, fmt.Errorf("cannot use the sealing key %s: its file contains another key", id)
	}
	k.keys[id] = key
	return key, nil
}

// Content implements sealed.Keys.
func (k *keyring) Content(digest string) ([]byte, error) {
	k.mu.Lock()
	b, ok := k.blobs[digest]
	k.mu.Unlock()
	if ok && b.Tree == nil {
		return b.Data, nil
	}
	if ok {
		return b.Tree.ReadFile(b.Path)
	}
	return k.store.ReadObject(digest)
}

// Masker implements sealed.Keys.
func (k *keyring) Masker() *secret.Masker {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.load()
	if k.masker == nil && len(k.values)+len(k.hidden) > 0 {
		values := slices.Clone(k.hidden)
		for v := range k.values {
			values = append(values, v)
		}
		k.masker = secret.NewMasker(values)
	}
	return k.masker
}

// load adds the values of earlier runs, as far as they can be opened: without an
// identity nothing secret reaches the machine either.
func (k *keyring) load() {
	if k.loaded {
		return
	}
	k.loaded = true
	for _, id := range k.store.Keys() {
		b, err := k.store.Key(id + valuesOf)
		if err != nil || !secret.IsID(id) {
			continue
		}
		key, err := k.key(id)
		if err != nil {
			continue
		}
		values, err := key.OpenValues(b)
		if err != nil {
			continue
		}
		for _, v := range values {
			k.values[v] = true
		}
	}
	k.masker = nil
}

func (k *keyring) mask(text string) string { return k.Masker().Text(text) }

// masked keeps an error as it is where there is nothing to hide.
func (k *keyring) masked(err error) error {
	if err == nil {
		return nil
	}
	if text := k.mask(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// unseal opens the secrets of a list and of the applied state. It refuses a list if this
// machine cannot decrypt its secrets.
func (x *planner) unseal(b secret.Bundle, blobs map[string]kind.Blob, list step.List,
	entries ...[]journal.Entry) error {
	if err := x.keys.offer(b, blobs); err != nil {
		return err
	}
	for _, s := range list {
		for _, id := range s.Keys() {
			if _, err := x.keys.Key(id); err != nil {
				return fmt.Errorf("%s: %w", s.Addr(), err)
			}
		}
	}
	x.host.Seal(apply.Sealed([]step.List{list}, entries...))
	return nil
}
