package content

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// gone is the signer of an SSH agent that has ended.
type gone struct{ ssh.Signer }

var errGone = errors.New("the agent has ended")

func (gone) Sign(io.Reader, []byte) (*ssh.Signature, error) { return nil, errGone }

// TestSignerFails: without a signature there is no permit and no command.
func TestSignerFails(t *testing.T) {
	k := SigningKey{gone{testSigner(t)}}
	text, err := Permit{Repository: "site", Commit: "aa"}.Sign(k)
	if text != "" || !errors.Is(err, errGone) || refused(err, "cannot sign the permit") {
		t.Errorf("a permit: %q, %v", text, err)
	}
	text, err = Command{Params: json.RawMessage("{}")}.Sign(k)
	if text != "" || !errors.Is(err, errGone) || refused(err, "cannot sign the command") {
		t.Errorf("a command: %q, %v", text, err)
	}
	text, err = Command{Params: json.RawMessage("{")}.Sign(SigningKey{testSigner(t)})
	if text != "" || refused(err, "cannot sign the command: json") {
		t.Errorf("parameters that are not JSON: %q, %v", text, err)
	}
}

// TestLargestPermit: a permit has at most 32 KiB with its signature, when it is signed and when it is read.
func TestLargestPermit(t *testing.T) {
	k := SigningKey{testSigner(t)}
	sign := func(n int) (string, error) {
		return Permit{Repository: "site", Commit: "aa", Targets: []string{strings.Repeat("x", n)}}.Sign(k)
	}
	short, err := sign(1)
	if err != nil {
		t.Fatal(err)
	}
	rest := 32<<10 - len(short)
	most, err := sign(1 + rest)
	if err != nil || len(most) != 32<<10 {
		t.Fatalf("%d bytes, %v", len(most), err)
	}
	if p, _, err := ReadPermit(most); err != nil || len(p.Targets[0]) != 1+rest {
		t.Errorf("the largest permit: %v", err)
	}
	if _, err := sign(2 + rest); refused(err, "cannot read the permit") {
		t.Errorf("a permit above the maximum: %v", err)
	}
}

// TestLargestCommand: a signed command has at most MaxSignedCommand bytes with its signature.
func TestLargestCommand(t *testing.T) {
	k := SigningKey{testSigner(t)}
	sign := func(n int) (string, error) {
		return Command{Call: "command", Params: json.RawMessage(`"` + strings.Repeat("x", n) + `"`)}.Sign(k)
	}
	short, err := sign(0)
	if err != nil {
		t.Fatal(err)
	}
	rest := MaxSignedCommand - len(short)
	most, err := sign(rest)
	if err != nil || len(most) != MaxSignedCommand {
		t.Fatalf("%d bytes, %v", len(most), err)
	}
	if text, err := sign(rest + 1); text != "" || refused(err, "Copy its input to the target first") {
		t.Errorf("a command above the maximum: %d bytes, %v", len(text), err)
	}
}

func testSigner(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEmptyDownload: a download that received no byte has a file, so the store counts it.
func TestEmptyDownload(t *testing.T) {
	s := emptyStore(t, 0)
	p, err := s.Begin(named("a", 5))
	if err == nil {
		err = p.Close()
	}
	if err != nil || len(s.partial) != 1 {
		t.Errorf("%d downloads, %v", len(s.partial), err)
	}
}
