package content_test

import (
	"crypto/ed25519"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"fettle.dev/fettle/internal/fleet/content"
)

// A permit that is signed with any kind of key, in a file or an SSH agent, is valid, and OpenSSH
// verifies it too. A changed permit is refused.
func TestSignedPermit(t *testing.T) {
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		key := filepath.Join(t.TempDir(), "key")
		if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "ann@example.org",
			"-f", key).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		private, err := os.ReadFile(key)
		if err != nil {
			t.Fatal(err)
		}
		public, err := os.ReadFile(key + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		fromFile, err := content.ReadSigningKey(private)
		if err != nil {
			t.Fatal(err)
		}
		p := content.Permit{Repository: "site", Commit: "aa", Targets: []string{"web*"}, Expires: now + 60}
		for _, k := range []content.SigningKey{fromFile, fromAgent(t, private, public)} {
			signed, err := p.Sign(k)
			if err != nil {
				t.Fatal(err)
			}
			got, by, err := content.ReadPermit(signed)
			parsed, _, _, _, perr := ssh.ParseAuthorizedKey(public)
			if err != nil || perr != nil || by != ssh.FingerprintSHA256(parsed) || got.Commit != "aa" {
				t.Errorf("%s: %+v %s %v %v", kind, got, by, err, perr)
			}
			if err := got.For("site", "aa", "web1", nil, now); err != nil {
				t.Error(err)
			}
			wantErr(t, got.For("site", "bb", "web1", nil, now), "cannot move web1 to an older commit", "for the commit")
			wantErr(t, got.For("site", "aa", "db1", nil, now), "not for this target")
			_, _, err = content.ReadPermit(signed[1:])
			wantErr(t, err, "does not match this text")
		}
	}
	_, _, err := content.ReadPermit("{}")
	wantErr(t, err, "fettle permit sign")
}

func TestKeyWithPassphrase(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f",
		key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	private, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := content.ReadSigningKey(private); !errors.Is(err, content.ErrLocked) {
		t.Error(err)
	}
}

// TestAgentWithoutTheKey: if the SSH agent does not have the key, the error names the fingerprint of the key.
func TestAgentWithoutTheKey(t *testing.T) {
	conn := agentWith(t, newPrivateKey(t))
	other, err := ssh.NewPublicKey(newPrivateKey(t).Public())
	if err != nil {
		t.Fatal(err)
	}
	_, err = content.AgentSigningKey(conn, ssh.MarshalAuthorizedKey(other))
	if err == nil || !strings.Contains(err.Error(), ssh.FingerprintSHA256(other)+": the SSH agent does not have it") {
		t.Error(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = content.AgentSigningKey(conn, ssh.MarshalAuthorizedKey(other))
	if err == nil || !strings.Contains(err.Error(), "cannot list the keys of the SSH agent") {
		t.Error(err)
	}
}

func newPrivateKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

func fromAgent(t *testing.T, private, public []byte) content.SigningKey {
	t.Helper()
	raw, err := ssh.ParseRawPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	k, err := content.AgentSigningKey(agentWith(t, raw), public)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// agentWith returns a connection to an SSH agent with one key.
func agentWith(t *testing.T, key any) net.Conn {
	t.Helper()
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	t.Cleanup(func() { _ = here.Close() })
	go func() { _ = agent.ServeAgent(ring, there) }()
	return here
}
