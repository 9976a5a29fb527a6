package here

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fettle.dev/fettle/internal/sandbox"
	"fettle.dev/fettle/internal/secret/vault"
)

// IdentityFile is where a machine has its own identity, below its root.
const IdentityFile = "etc/fettle/identity"

// ReadIdentity reads a file of private keys, and excludes the memory of this process from
// core dumps from then on. The error wraps fs.ErrNotExist if the file is missing.
func ReadIdentity(file string) (vault.Identities, error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = sandbox.KeepMemory() // from here on there are secrets in it
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the identity: %w", err)
	}
	return vault.ParseIdentities(text, file)
}

// MakeIdentity writes a new identity for its owner alone, durably, and gives its
// public key. A file that is there is left, and its key given.
func MakeIdentity(file string) (public string, made bool, err error) {
	ids, err := ReadIdentity(file)
	if err == nil {
		if keys := vault.PublicOf(ids); len(keys) > 0 {
			return keys[0], false, nil
		}
		return "", false, fmt.Errorf(
			"cannot compute the public key of %q, because it is an SSH key; use the line in its .pub file", file)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false, err
	}
	text, public, err := vault.NewIdentity()
	if err != nil {
		return "", false, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", false, fmt.Errorf("cannot create an identity: %w", err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", false, fmt.Errorf("cannot create an identity: %w", err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", false, errors.Join(fmt.Errorf("cannot create an identity: %w", err), os.Remove(file))
	}
	return public, true, nil
}

// Identities returns the private keys that this process can use: the keys in the file
// named, or otherwise the keys of the user and of the machine. Without a file name,
// unreadable files are skipped. The error wraps fs.ErrNotExist if the named file is
// missing. env reads the environment.
func Identities(named string, env func(string) string, root string) (vault.Identities, error) {
	if named != "" {
		return ReadIdentity(named)
	}
	var out vault.Identities
	for _, file := range identityPlaces(env, root) {
		ids, err := ReadIdentity(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, ids...)
	}
	return out, nil
}

// identityPlaces are the files to try if no identity is named: the user's file first,
// then the file of the managed machine.
func identityPlaces(env func(string) string, root string) []string {
	var out []string
	if p := PersonalIdentity(env); p != "" {
		out = append(out, p)
	}
	out = append(out, filepath.Join(root, IdentityFile))
	if root != "/" {
		out = append(out, "/"+IdentityFile)
	}
	return out
}

// PersonalIdentity is the path of the user's identity file, "" without a home directory.
func PersonalIdentity(env func(string) string) string {
	if dir := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "fettle", "identity")
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "fettle", "identity")
	}
	return ""
}
