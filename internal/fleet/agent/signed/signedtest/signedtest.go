// Package signedtest has users for tests who sign commands.
//
//	u, err := signedtest.NewUser()
//	text, err := content.Command{…}.Sign(u.Key)
package signedtest

import (
	"crypto/ed25519"
	"encoding/pem"
	"errors"

	"golang.org/x/crypto/ssh"

	"fettle.dev/fettle/internal/fleet/content"
)

// User is a user with an SSH key.
type User struct {
	Private []byte // the key in the format of OpenSSH
	Key     content.SigningKey
	Line    string // of allowed_signers; the principal is ann
	Signers content.Signers
}

// NewUser returns a user with a new key.
func NewUser() (u User, err error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return u, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return u, err
	}
	line, err := ssh.NewPublicKey(public)
	if err != nil {
		return u, err
	}
	u.Private, u.Line = pem.EncodeToMemory(block), "ann "+string(ssh.MarshalAuthorizedKey(line))
	var failed [2]error
	u.Key, failed[0] = content.ReadSigningKey(u.Private)
	u.Signers, failed[1] = content.ParseSigners("allowed_signers", []byte(u.Line))
	return u, errors.Join(failed[:]...)
}
