package content

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/crypto/ssh"
)

// Namespaces of SSH signatures, so that a signature for one purpose is never valid for another.
const (
	CommitNamespace  = "git"
	PermitNamespace  = "fettle-rollback"
	CommandNamespace = "fettle-command@v1"
)

const armorBegin = "-----BEGIN SSH SIGNATURE-----"

// sshSignature is the body of a signature file: PROTOCOL.sshsig of OpenSSH.
type sshSignature struct {
	Magic     [6]byte
	Version   uint32
	PublicKey []byte
	Namespace string
	Reserved  string
	Hash      string
	Signature []byte
}

// signedText is the text that the key signs, with the digest of the original text.
type signedText struct {
	Magic     [6]byte
	Namespace string
	Reserved  string
	Hash      string
	Digest    []byte
}

var sshMagic = [6]byte{'S', 'S', 'H', 'S', 'I', 'G'}

// algorithms are the accepted signature algorithms by key type. SHA-1 is not accepted.
var algorithms = map[string][]string{
	ssh.KeyAlgoED25519:    {ssh.KeyAlgoED25519},
	ssh.KeyAlgoSKED25519:  {ssh.KeyAlgoSKED25519},
	ssh.KeyAlgoECDSA256:   {ssh.KeyAlgoECDSA256},
	ssh.KeyAlgoECDSA384:   {ssh.KeyAlgoECDSA384},
	ssh.KeyAlgoECDSA521:   {ssh.KeyAlgoECDSA521},
	ssh.KeyAlgoSKECDSA256: {ssh.KeyAlgoSKECDSA256},
	ssh.KeyAlgoRSA:        {ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512},
}

// maxArmor is the maximum size of an armored signature, in bytes. An RSA key of 16384 bits has the
// longest one.
const maxArmor = 16 << 10

// verifySSH verifies an armored signature of a text, and returns its key. The caller must decide
// whether the key is trusted.
func verifySSH(armor, text []byte, namespace string) (ssh.PublicKey, error) {
	s, err := parseArmor(armor)
	if err != nil {
		return nil, err
	}
	if s.Namespace != namespace {
		return nil, fmt.Errorf("the signature is for the namespace %.40q, not %q", s.Namespace, namespace)
	}
	key, err := ssh.ParsePublicKey(s.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("the signature's key cannot be read: %w", err)
	}
	var sig ssh.Signature
	if err := ssh.Unmarshal(s.Signature, &sig); err != nil {
		return nil, fmt.Errorf("the signature cannot be read: %w", err)
	}
	if !slices.Contains(algorithms[key.Type()], sig.Format) {
		return nil, fmt.Errorf(
			"the signature is of the kind %.60q by a key of the kind %.60q; only ed25519, ecdsa and rsa-sha2 are supported",
			sig.Format, key.Type())
	}
	digest, err := digestBy(s.Hash, text)
	if err != nil {
		return nil, err
	}
	signed := ssh.Marshal(signedText{sshMagic, s.Namespace, s.Reserved, s.Hash, digest})
	if err := key.Verify(signed, &sig); err != nil {
		return nil, fmt.Errorf("the signature by the key %s does not match this text: the text was changed, or the signature belongs to another text",
			ssh.FingerprintSHA256(key))
	}
	return key, nil
}

func digestBy(name string, text []byte) ([]byte, error) {
	switch name {
	case "sha256":
		sum := sha256.Sum256(text)
		return sum[:], nil
	case "sha512":
		sum := sha512.Sum512(text)
		return sum[:], nil
	}
	return nil, fmt.Errorf("the signature's digest is %.40q; only sha256 and sha512 are supported", name)
}

func parseArmor(armor []byte) (s sshSignature, err error) {
	block, rest := pem.Decode(armor)
	switch {
	case len(armor) > maxArmor:
		return s, fmt.Errorf("the signature is too long: it has %d bytes", len(armor))
	case bytes.HasPrefix(armor, []byte("-----BEGIN PGP")):
		return s, errors.New("the signature is an OpenPGP signature. Sign with SSH: git config gpg.format ssh")
	case block == nil || block.Type != "SSH SIGNATURE" || len(block.Headers) > 0 ||
		!bytes.HasPrefix(armor, []byte(armorBegin)) || len(bytes.TrimSpace(rest)) > 0:
		return s, errors.New("the signature is not an SSH signature")
	}
	if err := ssh.Unmarshal(block.Bytes, &s); err != nil || s.Magic != sshMagic || s.Version != 1 {
		return s, errors.New("the signature is not an SSH signature of version 1")
	}
	return s, nil
}

// publicLine returns a public key in the format of a public key file.
func publicLine(k ssh.PublicKey) string {
	return k.Type() + " " + base64.StdEncoding.EncodeToString(k.Marshal())
}
