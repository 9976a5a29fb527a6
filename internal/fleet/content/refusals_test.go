package content

import (
	"encoding/pem"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// TestUnreadableSignature: a signature whose key or body cannot be read is refused with this reason.
func TestUnreadableSignature(t *testing.T) {
	key := testSigner(t).PublicKey().Marshal()
	for name, c := range map[string]struct {
		key, signature []byte
		refused        string
	}{
		"a key without its end":       {key[:9], ssh.Marshal(ssh.Signature{Format: "ssh-ed25519"}), "key cannot be read"},
		"a signature without its end": {key, []byte{0, 0, 0, 9}, "the signature cannot be read"},
		"no signature":                {key, nil, "the signature cannot be read"},
		"a signature without a kind":  {key, ssh.Marshal(ssh.Signature{}), `the signature is of the kind ""`},
		"a wrong signature":           {key, ssh.Marshal(ssh.Signature{Format: "ssh-ed25519"}), "does not match this text"},
	} {
		body := ssh.Marshal(sshSignature{sshMagic, 1, c.key, CommitNamespace, "", "sha512", c.signature})
		armor := pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: body})
		if _, err := verifySSH(armor, []byte("text"), CommitNamespace); refused(err, c.refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCommitFromTheFuture: a commit may be a day ahead of the clock. Without a clock, each time is accepted.
func TestCommitFromTheFuture(t *testing.T) {
	key := SigningKey{testSigner(t)}
	signers, err := ParseSigners("f", []byte("ann "+publicLine(key.signer.PublicKey())))
	if err != nil {
		t.Fatal(err)
	}
	armor, err := key.sign([]byte("payload"), CommitNamespace)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		now, time int64
		refused   string
	}{
		"now":             {1000, 1000, ""},
		"a day later":     {1000, 1000 + ahead, ""},
		"more":            {1000, 1000 + ahead + 1, "from the future, 1970-01-02"},
		"without a clock": {0, 10 * ahead, ""},
	} {
		commit := commit{time: c.time, payload: []byte("payload"), signature: []byte(armor)}
		if _, err := commit.signedBy(Trust{Signers: signers, Now: c.now}); refused(err, c.refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFormatOfPermits: a text that is signed and is no permit is refused.
func TestFormatOfPermits(t *testing.T) {
	for text, want := range map[string]string{
		`{"format":"` + PermitFormat + `"}`:          "",
		`{"format":"other"}`:                         "it is not of the format " + PermitFormat,
		`{"format":"` + PermitFormat + `","more":1}`: "it is not of the format " + PermitFormat,
		`nope`: "it is not of the format " + PermitFormat,
	} {
		armor, err := SigningKey{testSigner(t)}.sign([]byte(text), PermitNamespace)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadPermit(text + armor); refused(err, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestNeedsHistory: a history is necessary only for a requirement, between an accepted commit and a different one.
func TestNeedsHistory(t *testing.T) {
	for name, c := range map[string]struct {
		lineage  Lineage
		descent  Descent
		accepted string
		want     bool
	}{
		"no requirement":   {Lineage{"new", "old", "root"}, Descent{}, "old root", false},
		"signatures":       {Lineage{"new", "old", "root"}, Descent{Signed: true}, "old root", true},
		"descent":          {Lineage{"new", "old", "root"}, Descent{Descends: true}, "old root", true},
		"first acceptance": {Lineage{"new", "", ""}, Descent{Signed: true}, "", false},
		"a new part":       {Lineage{"new", "", "root"}, Descent{Signed: true}, "root", true},
		"only a part":      {Lineage{"new", "old", ""}, Descent{Signed: true}, "old", true},
		"the same twice":   {Lineage{"new", "old", "old"}, Descent{Signed: true}, "old", true},
		"the same commit":  {Lineage{"old", "old", "root"}, Descent{Signed: true}, "old root", false},
	} {
		if got := strings.Join(c.lineage.Accepted(), " "); got != c.accepted || c.lineage.NeedsHistory(c.descent) != c.want {
			t.Errorf("%s: the accepted commits are %q, and a history is necessary: %t", name, got, !c.want)
		}
	}
}
