// Package vault contains the secrets of a repository: files encrypted with age, their recipients,
// and the key under which lists seal them.
//
//	secrets/recipients      who can open them: people and hosts
//	secrets/sealing-key     the sealing key, encrypted to all of them
//	secrets/db/password.age the secret db/password, to those who may have it
//
// It reads and encodes files; the command line writes them.
//
//	v := vault.New(tree, identities)         // asked for when they are needed
//	content, err := v.Secret("db/password")   // *NotOpenError without a key that fits
package vault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"filippo.io/age"
	"filippo.io/age/armor"

	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
)

// The files, relative to the top of the repository.
const (
	RecipientsFile = secret.Directory + "/recipients"
	KeyFile        = secret.Directory + "/sealing-key"
)

// Largest is the size of a secret, in bytes.
const Largest = 1 << 20

// NotOpenError: none of the identities opens the file.
type NotOpenError struct {
	Name string // of the secret, or the sealing key
	None bool   // there is no identity at all
}

func (e *NotOpenError) Error() string {
	if e.None {
		return fmt.Sprintf("there is no identity that could decrypt %s", e.Name)
	}
	return fmt.Sprintf("this identity is not a recipient of %s", e.Name)
}

// Vault opens the secrets of a tree. It is safe for concurrent use.
type Vault struct {
	tree repo.Tree
	ids  func() (Identities, error)

	mu      sync.Mutex
	key     secret.Key
	keyFile []byte
	keyErr  error
	opened  bool
}

// New returns a Vault that decrypts nothing yet, and calls ids only when it does.
func New(tree repo.Tree, ids func() (Identities, error)) *Vault { return &Vault{tree: tree, ids: ids} }

// Secret is the content of one. fs.ErrNotExist is in the chain where there is no
// such secret, a *NotOpenError where it is not for these identities.
func (v *Vault) Secret(name string) ([]byte, error) {
	b, err := v.tree.ReadFile(secret.PathOf(name))
	if err != nil {
		return nil, err
	}
	ids, err := v.ids()
	if err != nil {
		return nil, err
	}
	return decrypt(b, ids, fmt.Sprintf("the secret %q", name))
}

// Key is the sealing key, with its file as it is in the repository.
func (v *Vault) Key() (secret.Key, []byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.opened {
		v.opened = true
		v.key, v.keyFile, v.keyErr = v.openKey()
		if errors.Is(v.keyErr, fs.ErrNotExist) {
			v.keyErr = fmt.Errorf("there is no %s in the repository; create it with: fettle secret init", KeyFile)
		}
	}
	return v.key, v.keyFile, v.keyErr
}

func (v *Vault) openKey() (secret.Key, []byte, error) {
	file, err := v.tree.ReadFile(KeyFile)
	if err != nil {
		return secret.Key{}, nil, err
	}
	ids, err := v.ids()
	if err != nil {
		return secret.Key{}, nil, err
	}
	key, err := OpenKey(file, ids)
	return key, file, err
}

// OpenKey opens the file of a sealing key.
func OpenKey(file []byte, ids Identities) (secret.Key, error) {
	text, err := decrypt(file, ids, "the sealing key")
	if err != nil {
		return secret.Key{}, err
	}
	return secret.ParseKey(text)
}

// HandOver encrypts the sealing key of a file again, only to the public key of the target. If no
// identity can decrypt the file, it is returned unchanged.
func HandOver(file []byte, ids Identities, public string) ([]byte, error) {
	text, err := decrypt(file, ids, "the sealing key")
	var closed *NotOpenError
	if errors.As(err, &closed) {
		return file, nil
	}
	if err != nil {
		return nil, err
	}
	return Seal(text, Recipients{{Kind: "host", Name: "the target", Key: public}})
}

func decrypt(b []byte, ids Identities, name string) ([]byte, error) {
	if len(ids) == 0 {
		return nil, &NotOpenError{Name: name, None: true}
	}
	var in io.Reader = bytes.NewReader(b)
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte(armor.Header)) {
		in = armor.NewReader(in)
	}
	r, err := age.Decrypt(in, ids...)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return nil, &NotOpenError{Name: name}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot decrypt %s: %w", name, err)
	}
	out, err := io.ReadAll(io.LimitReader(r, Largest+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot decrypt %s: %w", name, err)
	case len(out) > Largest:
		return nil, fmt.Errorf("cannot decrypt %s: it has more than 1 MiB", name)
	}
	return out, nil
}

// Seal encrypts content to recipients, as the armored text of a file.
func Seal(content []byte, to Recipients) ([]byte, error) {
	if len(to) == 0 {
		return nil, errors.New("cannot encrypt: there are no recipients, so no user or host could decrypt it; " +
			"add a recipient with fettle secret add-recipient")
	}
	if len(content) > Largest {
		return nil, fmt.Errorf("cannot encrypt %d bytes: the limit of a secret is 1 MiB", len(content))
	}
	var keys []age.Recipient
	for _, r := range to {
		k, err := parseKey(r.Key)
		if err != nil {
			return nil, fmt.Errorf("cannot encrypt to %s %s: %w", r.Kind, r.Name, err)
		}
		keys = append(keys, k)
	}
	var b bytes.Buffer
	a := armor.NewWriter(&b)
	w, err := age.Encrypt(a, keys...)
	if err != nil {
		return nil, fmt.Errorf("cannot encrypt: %w; recipients with age1pq keys cannot be combined with other recipients",
			err)
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := errors.Join(w.Close(), a.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
