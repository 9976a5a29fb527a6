package content

import (
	"crypto/rand"
	"crypto/sha512"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// SigningKey is the SSH key of a user. It signs permits and commands.
type SigningKey struct{ signer ssh.Signer }

// ErrLocked means that a private key has a passphrase: an SSH agent must sign with it.
var ErrLocked = errors.New("the private key has a passphrase")

// ReadSigningKey parses a private key in the format of OpenSSH.
func ReadSigningKey(private []byte) (SigningKey, error) {
	s, err := ssh.ParsePrivateKey(private)
	var missing *ssh.PassphraseMissingError
	if errors.As(err, &missing) {
		return SigningKey{}, ErrLocked
	}
	if err != nil {
		return SigningKey{}, fmt.Errorf("cannot read the private key: %w", err)
	}
	return SigningKey{s}, nil
}

// AgentSigningKey returns the key of an SSH agent whose public key is given as a line in the format
// of OpenSSH, as in id_ed25519.pub. conn must stay open as long as the key is used.
func AgentSigningKey(conn io.ReadWriter, public []byte) (SigningKey, error) {
	want, _, _, _, err := ssh.ParseAuthorizedKey(public)
	if err != nil {
		return SigningKey{}, fmt.Errorf("cannot read the public key: %w", err)
	}
	all, err := agent.NewClient(conn).Signers()
	if err != nil {
		return SigningKey{}, fmt.Errorf("cannot list the keys of the SSH agent: %w", err)
	}
	for _, s := range all {
		if string(s.PublicKey().Marshal()) == string(want.Marshal()) {
			return SigningKey{s}, nil
		}
	}
	return SigningKey{}, fmt.Errorf("cannot sign with the key %s: the SSH agent does not have it",
		ssh.FingerprintSHA256(want))
}

// Sign returns the text of the permit, followed by its signature.
func (p Permit) Sign(key SigningKey) (string, error) {
	text := p.Text()
	armor, err := key.sign(text, PermitNamespace)
	if err != nil {
		return "", fmt.Errorf("cannot sign the permit: %w", err)
	}
	out := string(text) + armor
	_, _, err = ReadPermit(out)
	return out, err
}

// sign returns an armored signature of a text in a namespace, as ssh-keygen -Y sign makes it.
func (k SigningKey) sign(text []byte, namespace string) (armor string, err error) {
	digest := sha512.Sum512(text)
	signed := ssh.Marshal(signedText{sshMagic, namespace, "", "sha512", digest[:]})
	var sig *ssh.Signature
	if with, ok := k.signer.(ssh.AlgorithmSigner); ok && k.signer.PublicKey().Type() == ssh.KeyAlgoRSA {
		sig, err = with.SignWithAlgorithm(rand.Reader, signed, ssh.KeyAlgoRSASHA512)
	} else {
		sig, err = k.signer.Sign(rand.Reader, signed)
	}
	if err != nil {
		return "", err
	}
	body := ssh.Marshal(sshSignature{sshMagic, 1, k.signer.PublicKey().Marshal(), namespace, "", "sha512",
		ssh.Marshal(sig)})
	return string(pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: body})), nil
}

// ReadPermit parses a permit and verifies that its signature is of its text. key is the fingerprint
// of the key, as OpenSSH shows it. Only the targets decide whether this key is trusted.
func ReadPermit(signed string) (p Permit, key string, err error) {
	text, armor, ok := strings.Cut(signed, armorBegin)
	if !ok || len(signed) > maxPermit {
		return p, "", errors.New("cannot read the permit: it is not signed. Create one with fettle permit sign")
	}
	by, err := verifySSH([]byte(armorBegin+armor), []byte(text), PermitNamespace)
	if err != nil {
		return p, "", fmt.Errorf("cannot read the permit: %w", err)
	}
	if err := decodeStrictly([]byte(text), &p); err != nil || p.Format != PermitFormat {
		return p, "", fmt.Errorf("cannot read the permit: it is not of the format %s", PermitFormat)
	}
	return p, ssh.FingerprintSHA256(by), nil
}

// For returns an error if a permit does not cover a target and a commit.
func (p Permit) For(repository, commit, target string, labels map[string]string, now int64) error {
	c := Claim{Repository: repository, Commit: commit, Target: target, Labels: labels}
	if why := p.refuses(c, Trust{Now: now}); why != "" {
		return fmt.Errorf("cannot move %s to an older commit with this permit: it is %s", target, why)
	}
	return nil
}
