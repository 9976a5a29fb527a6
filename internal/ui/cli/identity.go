package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/secret/vault"
)

// Identities returns the private keys of the user, or the keys in the file of --identity or
// FETTLE_IDENTITY.
func (s *Session) Identities() (vault.Identities, error) {
	m, err := s.Machine()
	if err != nil {
		return nil, err
	}
	named := s.NamedIdentity()
	ids, err := here.Identities(named, s.App.Env, m.Root)
	if named != "" && errors.Is(err, fs.ErrNotExist) {
		return nil, Refuse("Create it: fettle secret identity "+named,
			fmt.Sprintf("cannot read the identity %q: there is no such file", named))
	}
	return ids, err
}

// NamedIdentity is the file of --identity or FETTLE_IDENTITY, "" if there is none.
func (s *Session) NamedIdentity() string {
	if s.identity != "" {
		return s.identity
	}
	return s.App.Env("FETTLE_IDENTITY")
}
