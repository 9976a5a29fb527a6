package content

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// TestArmor: the text of a signature is exactly one SSH block, within its size limit.
func TestArmor(t *testing.T) {
	body := func(magic string, version uint32) []byte {
		s := sshSignature{Version: version, Namespace: "git", Hash: "sha512"}
		copy(s.Magic[:], magic)
		return ssh.Marshal(s)
	}
	block := func(b pem.Block) string { return string(pem.EncodeToMemory(&b)) }
	good := block(pem.Block{Type: "SSH SIGNATURE", Bytes: body("SSHSIG", 1)})
	for name, c := range map[string]struct{ text, says string }{
		"good":            {good, ""},
		"blanks behind":   {good + "\n \n", ""},
		"as long as ever": {good + strings.Repeat("\n", maxArmor-len(good)), ""},
		"too long":        {good + strings.Repeat("\n", maxArmor-len(good)+1), "the signature is too long"},
		"words before":    {"x\n" + good, "not an SSH signature"},
		"words behind":    {good + "x", "not an SSH signature"},
		"of OpenPGP":      {"-----BEGIN PGP SIGNATURE-----\n", "OpenPGP"},
		"another block":   {block(pem.Block{Type: "SSH KEY", Bytes: body("SSHSIG", 1)}), "not an SSH signature"},
		"another, later": {armorBegin + "\n!\n" + block(pem.Block{Type: "SSH KEY", Bytes: body("SSHSIG", 1)}),
			"not an SSH signature"},
		"a header": {block(pem.Block{Type: "SSH SIGNATURE", Headers: map[string]string{"a": "b"},
			Bytes: body("SSHSIG", 1)}), "not an SSH signature"},
		"another magic": {block(pem.Block{Type: "SSH SIGNATURE", Bytes: body("SSHSIX", 1)}),
			"not an SSH signature of version 1"},
		"another version": {block(pem.Block{Type: "SSH SIGNATURE", Bytes: body("SSHSIG", 2)}),
			"not an SSH signature of version 1"},
		"cut off": {block(pem.Block{Type: "SSH SIGNATURE", Bytes: body("SSHSIG", 1)[:20]}),
			"not an SSH signature of version 1"},
		"empty": {"", "not an SSH signature"},
	} {
		if _, err := parseArmor([]byte(c.text)); (err == nil) != (c.says == "") || err != nil &&
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, size := range map[string]int{"sha256": 32, "sha512": 64, "sha1": 0, "": 0} {
		if b, err := digestBy(name, nil); len(b) != size || (err == nil) != (size > 0) {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}

// TestSignersFile: options, times and namespaces of a line, and the reason for each refusal.
func TestSignersFile(t *testing.T) {
	key, err := ssh.NewPublicKey(ed25519.NewKeyFromSeed(make([]byte, 32)).Public())
	if err != nil {
		t.Fatal(err)
	}
	other, err := ssh.NewPublicKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32)).Public())
	if err != nil {
		t.Fatal(err)
	}
	line := publicLine(key)
	if line != "ssh-ed25519 "+base64.StdEncoding.EncodeToString(key.Marshal()) {
		t.Fatal(line)
	}
	for name, c := range map[string]struct {
		text, namespace string
		at              int64
		says            string
	}{
		"plain":             {"ann " + line, "git", 5, ""},
		"quoted, tabs":      {"\"ann\"\t" + line + " comment", "git", 5, ""},
		"comments":          {"# x\n\n  \n ann " + line, "git", 5, ""},
		"its namespace":     {`ann namespaces="file,g*" ` + line, "git", 5, ""},
		"another namespace": {`ann namespaces="file" ` + line, "git", 5, "is not for the namespace git: see f:1"},
		"no namespace":      {`ann namespaces="" ` + line, "git", 5, "is not for the namespace git"},
		"at its beginning":  {`ann valid-after="19700102" ` + line, "git", 86400, ""},
		"before it": {`ann valid-after="19700102Z" ` + line, "git", 86399,
			"was not valid yet on 1970-01-01 23:59:59 UTC: see f:1"},
		"before its end": {`ann valid-before="197001020000" ` + line, "git", 86399, ""},
		"at its end": {`# c` + "\n" + `ann valid-before="19700102000000" ` + line, "git", 86400,
			"was no longer valid on 1970-01-02 00:00:00 UTC: see f:2"},
		"both": {`ann valid-after="19700102",valid-before="19700103",namespaces="git" ` + line, "git", 90000,
			""},
		"a later line": {`ann valid-before="19700102" ` + line + "\nann " + line, "git", 90000, ""},
		"another key": {"ann " + publicLine(other), "git", 5,
			"which is not in f. If you trust this key, add a line: NAME " + line},
		"nobody": {"", "git", 5, "this target trusts no keys"},
	} {
		s, err := ParseSigners("f", []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		by, err := s.find(key, c.namespace, c.at)
		if (err == nil) != (c.says == "") || err == nil && by != "ann" || err != nil &&
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v", name, by, err)
		}
	}
	for text, says := range map[string]string{
		"ann ssh-ed25519": "a line is", "ann x=y " + line: "is not an option",
		"ann cert-authority " + line: "certificate authorities", "ann ssh-dss AAAA": "is not a supported key type",
		"ann ssh-ed25519 !": "cannot be read", "ann ssh-rsa " + strings.Fields(line)[1]: "cannot be read",
		`ann valid-after="1970" ` + line:     "is not a time",
		`ann valid-after="19701302" ` + line: "is not a time", "a\n" + "b": "cannot read f:2",
	} {
		if s, err := ParseSigners("f", []byte(text)); err == nil || !strings.Contains(err.Error(), says) || !s.Empty() {
			t.Errorf("%s: %v", text, err)
		}
	}
	if (Signers{}).fileName() != "the file of trusted keys" {
		t.Error("a file without a name has one")
	}
}
