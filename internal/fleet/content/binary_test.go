package content_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
)

// A binary that a user signed with ssh-keygen is accepted; any other text, key or purpose is
// refused.
func TestVerifyBinary(t *testing.T) {
	key, line := newKey(t, "ed25519")
	stranger, _ := newKey(t, "ed25519")
	trust := content.Trust{Signers: signers(t, line), Now: 1}
	p := fleet.Binary{Version: "1.5", Files: map[string]fleet.Bundle{"amd64": {Digest: "sha256:" + strings.Repeat("a",
		64), Size: 7}}}
	armor := func(key, namespace string) string {
		return strings.TrimPrefix(sign(t, key, namespace, p.Text()), string(p.Text()))
	}
	p.Signature = armor(key, content.BinaryNamespace)
	if by, err := content.VerifyBinary(p, trust); err != nil || by == "" {
		t.Fatal(by, err)
	}
	other := p
	other.Files = map[string]fleet.Bundle{"amd64": {Digest: "sha256:" + strings.Repeat("b", 64), Size: 7}}
	older := p
	older.Version = "1.4"
	wanted := map[string]fleet.Binary{"does not match this text": other, "does not match  this text": older}
	for want, signature := range map[string]string{
		"is not signed":           "",
		"namespace":               armor(key, content.CommitNamespace),
		"which is not in signers": armor(stranger, content.BinaryNamespace),
		"not an SSH signature":    "-----BEGIN SSH SIGNATURE-----\nAAAA\n",
	} {
		q := p
		q.Signature = signature
		wanted[want] = q
	}
	for want, q := range wanted {
		_, err := content.VerifyBinary(q, trust)
		wantErr(t, err, strings.Join(strings.Fields(want), " "))
	}
	p.Within = 60 // the time limit is not a part of the signed text
	if _, err := content.VerifyBinary(p, trust); err != nil {
		t.Error(err)
	}
}
