package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fettle.dev/fettle/internal/sandbox"
	"fettle.dev/fettle/internal/secret/vault"
)

// identityFile is where a machine has its own identity, below its root.
const identityFile = "etc/fettle/identity"

// identities are the private keys of whoever runs this command: of the file
// that --identity or FETTLE_IDENTITY names, else the person's and the machine's.
// One that only somebody else may read is as if it were not there.
func (s *session) identities() (vault.Identities, error) {
	if named := s.namedIdentity(); named != "" {
		ids, err := readIdentity(named)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, refuse("Make it: fettle secret identity "+named, fmt.Sprintf("cannot read the identity %q: there is no such file", named))
		}
		return ids, err
	}
	var out vault.Identities
	for _, file := range s.identityPlaces() {
		ids, err := readIdentity(file)
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

func (s *session) namedIdentity() string {
	if s.identity != "" {
		return s.identity
	}
	return s.app.Env("FETTLE_IDENTITY")
}

// identityPlaces are looked at where no identity is named: the person's, then
// that of the machine which is managed.
func (s *session) identityPlaces() []string {
	var out []string
	if p := s.personalIdentity(); p != "" {
		out = append(out, p)
	}
	if m, err := s.machine(); err == nil {
		out = append(out, filepath.Join(m.Root, identityFile))
		if m.Root != "/" {
			out = append(out, "/"+identityFile)
		}
	}
	return out
}

// personalIdentity is where a person has an identity, "" for nobody's home.
func (s *session) personalIdentity() string {
	if dir := s.app.Env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "fettle", "identity")
	}
	if home := s.app.Env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "fettle", "identity")
	}
	return ""
}

func readIdentity(file string) (vault.Identities, error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = sandbox.KeepMemory() // from here on there are secrets in it
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the identity: %w", err)
	}
	return vault.ParseIdentities(text, file)
}

// makeIdentity writes a new identity for its owner alone, durably, and gives its
// public key. A file that is there is left, and its key given.
func makeIdentity(file string) (public string, made bool, err error) {
	ids, err := readIdentity(file)
	if err == nil {
		if keys := vault.PublicOf(ids); len(keys) > 0 {
			return keys[0], false, nil
		}
		return "", false, fmt.Errorf("cannot tell the public key of %q: it is an SSH key; give the line of its .pub file", file)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false, err
	}
	text, public, err := vault.NewIdentity()
	if err != nil {
		return "", false, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", false, fmt.Errorf("cannot make an identity: %w", err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", false, fmt.Errorf("cannot make an identity: %w", err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", false, errors.Join(fmt.Errorf("cannot make an identity: %w", err), os.Remove(file))
	}
	return public, true, nil
}
