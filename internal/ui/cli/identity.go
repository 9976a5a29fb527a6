package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/secret/vault"
)

// identities returns the private keys of the user, or the keys in the file of --identity or
// FETTLE_IDENTITY.
func (s *session) identities() (vault.Identities, error) {
	m, err := s.machine()
	if err != nil {
		return nil, err
	}
	named := s.namedIdentity()
	ids, err := here.Identities(named, s.app.Env, m.Root)
	if named != "" && errors.Is(err, fs.ErrNotExist) {
		return nil, refuse("Create it: fettle secret identity "+named,
			fmt.Sprintf("cannot read the identity %q: there is no such file", named))
	}
	return ids, err
}

func (s *session) namedIdentity() string {
	if s.identity != "" {
		return s.identity
	}
	return s.app.Env("FETTLE_IDENTITY")
}
