package repository

import (
	"bytes"

	"fettle.dev/fettle/internal/fleet/smallfile"
)

// HookSecret returns the secret of webhooks for a repository, or nil if the fleet does not follow
// it.
func (f *Follower) HookSecret(source string) []byte {
	if source != f.Repository().Name {
		return nil
	}
	text, err := smallfile.Read(f.Files, f.HookFile)
	if err != nil {
		return nil
	}
	return bytes.TrimSpace(text)
}
