package content_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
)

// TestAcceptedCommits: the first error of a text counts, and each commit must be a full hash.
func TestAcceptedCommits(t *testing.T) {
	good := strings.Repeat("a", 40)
	for text, want := range map[string]string{
		fmt.Sprintf(`{"format":%q,"parts":{"":%q}}`, content.AcceptedFormat, good):          "",
		fmt.Sprintf(`{"format":%q}`, content.AcceptedFormat):                                "",
		fmt.Sprintf(`{"format":%q,"parts":{"modules/web":"main"}}`, content.AcceptedFormat): "modules/web",
		fmt.Sprintf(`{"format":%q,"parts":{"":"aaaa"}}`, content.AcceptedFormat):            "not the full hash",
		`{"format":"fettle.other/1","parts":{"":"aaaa"}}`:                                   `format is "fettle.other/1"`,
		fmt.Sprintf(`{"format":%q,"parts":{"":%q},"x":1}`, content.AcceptedFormat, good):    "unknown field",
		fmt.Sprintf(`{"format":%q,"parts":{"":%q}} {}`, content.AcceptedFormat, good):       "more",
	} {
		_, err := content.ParseAccepted([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestManyCommits: a history with more commits than permitted is not written.
func TestManyCommits(t *testing.T) {
	w := content.NewHistoryWriter(new(bytes.Buffer))
	for i := range content.MaxHistoryCommits {
		if err := w.Add([]byte("x")); err != nil {
			t.Fatalf("the commit %d: %v", i+1, err)
		}
	}
	if err := w.Add([]byte("x")); err == nil {
		t.Error("a commit beyond the limit is written")
	}
}

// TestUnreadableKeys: a text that is no key is not the key of a user.
func TestUnreadableKeys(t *testing.T) {
	const wrong = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"
	for _, text := range []string{"", "ssh-ed25519", wrong} {
		if _, err := content.ReadSigningKey([]byte(text)); err == nil || errors.Is(err, content.ErrLocked) {
			t.Errorf("the private key %q: %v", text, err)
		}
		if _, err := content.AgentSigningKey(new(bytes.Buffer), []byte(text)); err == nil {
			t.Errorf("the public key %q is accepted", text)
		}
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("a passphrase"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := content.ReadSigningKey(pem.EncodeToMemory(locked)); !errors.Is(err, content.ErrLocked) {
		t.Error("a key with a passphrase:", err)
	}
}

// TestNamesOfContent: a name that is no digest reaches no file.
func TestNamesOfContent(t *testing.T) {
	s := memStore(t, 0)
	b := mustAdd(t, s, "some content")
	digest := strings.TrimPrefix(b.Digest, "sha256:")
	for _, name := range []string{"", "..", "sha256:../content/" + digest, digest} {
		if _, err := s.Open(fleet.Bundle{Digest: name, Size: b.Size}); err == nil || errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
