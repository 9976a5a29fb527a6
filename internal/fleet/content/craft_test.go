package content_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"fettle.dev/fettle/internal/fleet/content"
)

// The tools of an attacker: objects with the hashes that git would compute, and signatures in any
// form.

func objectID(typ string, raw []byte) string {
	sum := sha1.Sum(append(fmt.Appendf(nil, "%s %d\x00", typ, len(raw)), raw...))
	return hex.EncodeToString(sum[:])
}

func blobID(text string) string { return objectID("blob", []byte(text)) }

// treeOf makes a tree object of mode, name, id, … without checks.
func treeOf(entries ...string) (raw []byte, id string) {
	for i := 0; i < len(entries); i += 3 {
		b, _ := hex.DecodeString(entries[i+2])
		raw = append(append(raw, entries[i]+" "+entries[i+1]+"\x00"...), b...)
	}
	return raw, objectID("tree", raw)
}

// fleetFile binds the signed commits of these tests to the fleet of their targets.
var fleetFile = content.FleetFile([32]byte{1})

const signedTime = 1_700_000_000

func header(tree string) string {
	return fmt.Sprintf("tree %s\nauthor Ann <a@example.org> %d +0100\ncommitter Com <c@example.org> %d +0000\n", tree,
		signedTime, signedTime)
}

// crafter signs like OpenSSH, or with deviations from it.
type crafter struct {
	key       ssh.Signer
	namespace string
	hash      string
	version   uint32
	magic     string
	algorithm string               // "" is the key's own
	change    func(*ssh.Signature) // nil leaves it
	raw       func(signed []byte) *ssh.Signature
}

func newCrafter(t testing.TB) crafter {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return crafter{key: key, namespace: "git", hash: "sha512", version: 1, magic: "SSHSIG"}
}

func (c crafter) line() string {
	return "ann@example.org " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(c.key.PublicKey())))
}

func sshString(parts ...string) (b []byte) {
	for _, p := range parts {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
	}
	return b
}

func (c crafter) sign(t testing.TB, text string) string {
	t.Helper()
	sum := sha512.Sum512([]byte(text))
	digest := sum[:]
	if c.hash == "sha256" {
		sum := sha256.Sum256([]byte(text))
		digest = sum[:]
	}
	signed := append([]byte(c.magic), sshString(c.namespace, "", c.hash, string(digest))...)
	var sig *ssh.Signature
	var err error
	switch {
	case c.raw != nil:
		sig = c.raw(signed)
	case c.algorithm != "":
		sig, err = c.key.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, signed, c.algorithm)
	default:
		sig, err = c.key.Sign(rand.Reader, signed)
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.change != nil {
		c.change(sig)
	}
	blob := binary.BigEndian.AppendUint32([]byte(c.magic), c.version)
	blob = append(blob, sshString(string(c.key.PublicKey().Marshal()), c.namespace, "", c.hash,
		string(ssh.Marshal(sig)))...)
	return armor(blob)
}

// armor encodes like OpenSSH.
func armor(blob []byte) string {
	text := base64.StdEncoding.EncodeToString(blob)
	var b strings.Builder
	for len(text) > 70 {
		b.WriteString(text[:70] + "\n")
		text = text[70:]
	}
	return "-----BEGIN SSH SIGNATURE-----\n" + b.String() + text + "\n-----END SSH SIGNATURE-----\n"
}

// signedHeader returns the header of a commit with a signature.
func signedHeader(name, armor string) string {
	return name + " " + strings.ReplaceAll(strings.TrimSuffix(armor, "\n"), "\n", "\n ") + "\n"
}

// commit makes a signed commit of a tree.
func (c crafter) commit(t testing.TB, tree string) []byte {
	return []byte(header(tree) + signedHeader("gpgsig", c.sign(t, header(tree)+"\nmessage\n")) + "\nmessage\n")
}

// world is a small signed repository, made by hand.
type world struct {
	crafter
	web, db, modules, root         []byte
	webID, dbID, modulesID, rootID string
	commit                         []byte
	top, webBundle, dbBundle       []byte
}

func newWorld(t testing.TB) *world {
	w := &world{crafter: newCrafter(t)}
	w.web, w.webID = treeOf("100644", "m", blobID("web"), "120000", "n", blobID("/srv"), "100755", "run", blobID("#!"))
	w.db, w.dbID = treeOf("100644", "m", blobID("db"))
	w.modules, w.modulesID = treeOf("40000", "db", w.dbID, "40000", "web", w.webID)
	_, data := treeOf("100644", "v", blobID("1"))
	w.root, w.rootID = treeOf("40000", "data", data, "100644", "fettle.hcl", blobID("top"), "100644", fleetFile,
		blobID(""), "40000", "modules", w.modulesID)
	w.commit = w.crafter.commit(t, w.rootID)
	w.top = raw(file("data/v", "1"), file("fettle.hcl", "top"), file(fleetFile, ""))
	w.webBundle = raw(file("m", "web"), link("n", "/srv"), entry{kind: 'x', path: "run", text: "#!"})
	w.dbBundle = raw(file("m", "db"))
	return w
}

// attempt is the input of an agent.
type attempt struct {
	proof  content.Proof
	bundle []byte
	claim  content.Claim
	trust  content.Trust
}

func (w *world) of(t testing.TB, part string) attempt {
	a := attempt{claim: content.Claim{Repository: "site", Commit: objectID("commit", w.commit), Part: part,
		Target: "web1"},
		trust: content.Trust{Signers: signers(t, w.line()), Fleets: []string{fleetFile}, Now: now}}
	switch part {
	case content.RootBundle:
		a.bundle, a.proof = w.top, content.Proof{Commit: w.commit, Trees: [][]byte{w.root}}
	case "modules/web":
		a.bundle, a.proof = w.webBundle, content.Proof{Commit: w.commit, Trees: [][]byte{w.root, w.modules}}
	default:
		a.bundle, a.proof = w.dbBundle, content.Proof{Commit: w.commit, Trees: [][]byte{w.root, w.modules}}
	}
	a.proof.Format = content.ProofFormat
	return a
}

// recommit replaces the commit object of the attempt, and its claim.
func (a *attempt) recommit(raw []byte) {
	a.proof.Commit, a.claim.Commit = raw, objectID("commit", raw)
}

func (a attempt) verify(t testing.TB) error {
	t.Helper()
	_, err := content.Verify(a.proof, parse(t, a.bundle), a.claim, a.trust)
	return err
}

// skCrafter signs like a security key; touched is the flag that the user touched the key.
func skCrafter(t testing.TB, touched bool) crafter {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.ParsePublicKey(sshString("sk-ssh-ed25519@openssh.com", string(public), "ssh:"))
	if err != nil {
		t.Fatal(err)
	}
	c := newCrafter(t)
	c.key = publicOnly{key}
	c.raw = func(signed []byte) *ssh.Signature {
		app, message := sha256.Sum256([]byte("ssh:")), sha256.Sum256(signed)
		flags := []byte{0, 0, 0, 0, 7}
		if touched {
			flags[0] = 1
		}
		return &ssh.Signature{Format: key.Type(), Blob: ed25519.Sign(private,
			bytes.Join([][]byte{app[:], flags, message[:]}, nil)), Rest: flags}
	}
	return c
}

// publicOnly is a key whose private half is not an SSH key.
type publicOnly struct{ key ssh.PublicKey }

func (p publicOnly) PublicKey() ssh.PublicKey                     { return p.key }
func (publicOnly) Sign(io.Reader, []byte) (*ssh.Signature, error) { return nil, errors.New("none") }

// rsaCrafter signs with SHA-1 if the algorithm requires it.
func rsaCrafter(t testing.TB, algorithm string) crafter {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	c := newCrafter(t)
	c.key, c.algorithm = key, algorithm
	return c
}
