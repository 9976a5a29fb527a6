package sealed

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/secret"
)

// Accounts implements host.Host: of an account whose password a list speaks of,
// the hash is a reference, and the line that has it is sealed.
func (h *Host) Accounts() host.Accounts { return accounts{h.Host.Accounts(), h} }

type accounts struct {
	host.Accounts
	h *Host
}

const (
	shadow     = "shadow"  // the line with the hash, among the lines of an account
	sealedLine = "sealed:" // instead of it: the ID of the key after the prefix, and the sealed line
)

// User implements host.Accounts.
func (a accounts) User(name string) (image.User, error) {
	u, err := a.Accounts.User(name)
	key := a.h.Sealing(string(addr.New(addr.KindUser, name)))
	if err != nil || key == "" || !u.Present {
		return u, err
	}
	line, there := u.Lines[shadow]
	if !there && u.Lines[shadow+".at"] != "" {
		return u, fmt.Errorf("cannot read the password of %q without privileges; run as root", name)
	}
	k, err := a.h.keys.Key(key)
	if err != nil {
		return u, err
	}
	if f := strings.Split(line, ":"); len(f) > 1 {
		u.Password = k.Ref([]byte(f[1])).String()
	}
	if there {
		u.Lines = maps.Clone(u.Lines)
		delete(u.Lines, shadow)
		u.Lines[sealedLine+key] = base64.StdEncoding.EncodeToString(k.Seal([]byte(line)))
	}
	return u, nil
}

// SetUser implements host.Accounts.
func (a accounts) SetUser(ctx context.Context, name string, to image.User, create host.NewUser) error {
	to, err := a.opened(to)
	if err != nil {
		return err
	}
	return a.Accounts.SetUser(ctx, name, to, create)
}

// opened returns the account without sealing. A restored account has its hash in its lines.
func (a accounts) opened(to image.User) (image.User, error) {
	ref, is := secret.ParseRef(to.Password)
	if to.Password = ""; is && len(to.Lines) == 0 {
		hash, err := a.h.Reveal(ref)
		if err != nil {
			return to, fmt.Errorf("cannot set the password of the account: %w", err)
		}
		to.Password = string(hash)
	}
	for key, text := range to.Lines {
		id, is := strings.CutPrefix(key, sealedLine)
		if !is {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(text)
		if err == nil {
			b, err = a.h.Unseal(id, b)
		}
		if err != nil {
			return to, errors.Join(errors.New("cannot decrypt the earlier password of the account"), err)
		}
		to.Lines = maps.Clone(to.Lines)
		delete(to.Lines, key)
		to.Lines[shadow] = string(b)
	}
	return to, nil
}
