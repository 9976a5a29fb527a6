package content_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"fettle.dev/fettle/internal/fleet/content"
)

// TestHostileProofs has one forgery in each case: of a hub, of a cache, or of an untrusted signer.
func TestHostileProofs(t *testing.T) {
	w := newWorld(t)
	for _, part := range []string{content.RootBundle, "modules/web", "modules/db"} {
		if err := w.of(t, part).verify(t); err != nil {
			t.Fatalf("what is right is refused: %v", err)
		}
	}
	_, evilID := treeOf("100644", "m", blobID("evil"))
	evilModules, evilModulesID := treeOf("40000", "db", w.dbID, "40000", "web", evilID)
	evilRoot, evilRootID := treeOf("40000", "modules", evilModulesID)
	bundle := func(part string, entries ...entry) func(*attempt) {
		return func(a *attempt) { a.bundle = raw(entries...); a.claim.Part = part }
	}
	x := func(path, text string) entry { return entry{kind: 'x', path: path, text: text} }
	const web, differs = "modules/web", "differs from the commit"
	for _, c := range []struct {
		name, part, want string
		lie              func(*attempt)
	}{
		{"another commit's name", web, "proof is for another commit",
			func(a *attempt) { a.claim.Commit = strings.Repeat("a", 40) }},
		{"another commit's object", web, "proof is for another commit",
			func(a *attempt) { a.proof.Commit = w.crafter.commit(t, evilRootID) }},
		{"a short name", web, "not the full hash of a commit", func(a *attempt) { a.claim.Commit = a.claim.Commit[:12] }},
		{"a name in capitals", web, "not the full hash of a commit",
			func(a *attempt) { a.claim.Commit = strings.ToUpper(a.claim.Commit) }},
		{"a branch", web, "not the full hash of a commit", func(a *attempt) { a.claim.Commit = "main" }},
		{"SHA-256 of a SHA-1 commit", web, "proof is for another commit",
			func(a *attempt) { a.claim.Commit = strings.Repeat("a", 64) }},
		{"no commit", web, "proof is for another commit", func(a *attempt) { a.proof.Commit = nil }},
		{"no trees", web, "0 trees instead of 2", func(a *attempt) { a.proof.Trees = nil }},
		{"a tree too few", web, "1 trees instead of 2", func(a *attempt) { a.proof.Trees = a.proof.Trees[:1] }},
		{"a tree too many", web, "3 trees instead of 2", func(a *attempt) { a.proof.Trees = append(a.proof.Trees, w.web) }},
		{"trees in another order", web, "not belong to the commit",
			func(a *attempt) { a.proof.Trees = [][]byte{w.modules, w.root} }},
		{"another top tree", web, "not belong to the commit",
			func(a *attempt) { a.proof.Trees = [][]byte{evilRoot, evilModules} }},
		{"another tree of modules", web, "not belong to the commit",
			func(a *attempt) { a.proof.Trees = [][]byte{w.root, evilModules} }},
		{"a byte of a tree", web, "not belong to the commit", func(a *attempt) {
			b := bytes.Clone(w.modules)
			b[len(b)-1] ^= 1
			a.proof.Trees = [][]byte{w.root, b}
		}},
		{"more trees for the top", content.RootBundle, "2 trees instead of 1",
			func(a *attempt) { a.proof.Trees = [][]byte{w.root, w.modules} }},
		{"another module's bundle", web, differs, func(a *attempt) { a.bundle = w.dbBundle }},
		{"another module's part", web, differs, func(a *attempt) { a.claim.Part = "modules/db" }},
		{"the top for a module", web, differs, func(a *attempt) { a.bundle = w.top }},
		{"a module for the top", content.RootBundle, differs, func(a *attempt) { a.bundle = w.webBundle }},
		{"a part that is not there", web, `no directory "none"`, func(a *attempt) { a.claim.Part = "modules/none" }},
		{"a part that is no module", web, "no such part", func(a *attempt) { a.claim.Part = "data" }},
		{"all modules as a part", web, "no such part", func(a *attempt) { a.claim.Part = "modules" }},
		{"a part of a module", web, "no such part", func(a *attempt) { a.claim.Part = "modules/web/files" }},
		{"a part that climbs", web, "no such part", func(a *attempt) { a.claim.Part = "modules/../data" }},
		{"other content", web, differs, bundle(web, file("m", "WEB"), link("n", "/srv"), x("run", "#!"))},
		{"no content", web, differs, bundle(web)},
		{"a file more", web, differs, bundle(web, file("extra", ""), file("m", "web"), link("n", "/srv"), x("run", "#!"))},
		{"a directory more", web, differs, bundle(web, file("a/b", ""), file("m", "web"), link("n", "/srv"), x("run", "#!"))},
		{"a file less", web, differs, bundle(web, file("m", "web"), x("run", "#!"))},
		{"another name", web, differs, bundle(web, file("mm", "web"), link("n", "/srv"), x("run", "#!"))},
		{"executable", web, differs, bundle(web, x("m", "web"), link("n", "/srv"), x("run", "#!"))},
		{"not executable", web, differs, bundle(web, file("m", "web"), link("n", "/srv"), file("run", "#!"))},
		{"a file for a link", web, differs, bundle(web, file("m", "web"), file("n", "/srv"), x("run", "#!"))},
		{"a link for a file", web, differs, bundle(web, link("m", "web"), link("n", "/srv"), x("run", "#!"))},
		{"a link elsewhere", web, differs, bundle(web, file("m", "web"), link("n", "/etc"), x("run", "#!"))},
		{"a directory for a file", web, differs, bundle(web, file("m/m", "web"), link("n", "/srv"), x("run", "#!"))},
		{"a file more at the top", content.RootBundle, `"evil" differs from`,
			bundle(content.RootBundle, file("data/v", "1"), file("evil", ""), file("fettle.hcl", "top"))},
		{"a file less at the top", content.RootBundle, `"data" differs from`,
			bundle(content.RootBundle, file("fettle.hcl", "top"))},
		{"the last less at the top", content.RootBundle, `"fettle.hcl" differs from`,
			bundle(content.RootBundle, file("data/v", "1"))},
		{"other content at the top", content.RootBundle, `"data" differs from`,
			bundle(content.RootBundle, file("data/v", "2"), file("fettle.hcl", "top"))},
		{"modules in the top", content.RootBundle, `"modules" differs from`,
			bundle(content.RootBundle, file("data/v", "1"), file("fettle.hcl", "top"), file(fleetFile, ""),
				file("modules/web/m", "evil"))},
		{"nobody is believed", web, "this target trusts no keys", func(a *attempt) { a.trust.Signers = content.Signers{} }},
		{"somebody else", web, "which is not in signers", func(a *attempt) {
			a.recommit(newCrafter(t).commit(t, w.rootID))
		}},
		{"a signature of another tree", web, "does not match this text", func(a *attempt) {
			a.bundle, a.proof.Trees = raw(file("m", "evil")), [][]byte{evilRoot, evilModules}
			a.recommit(bytes.Replace(w.commit, []byte(w.rootID), []byte(evilRootID), 1))
		}},
		{"a signature of another message", web, "does not match this text", func(a *attempt) {
			a.recommit(bytes.Replace(w.commit, []byte("\nmessage"), []byte("\nmassage"), 1))
		}},
		{"a signature of another time", web, "does not match this text", func(a *attempt) {
			a.recommit(bytes.Replace(w.commit, []byte("1700000000 +0000"), []byte("1700000001 +0000"), 1))
		}},
	} {
		a := w.of(t, c.part)
		c.lie(&a)
		if err := a.verify(t); err == nil || !strings.HasPrefix(err.Error(), "cannot trust") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
}

// TestHostileCommits has one commit object in each case that could be read in two ways, or whose
// signature is invalid.
func TestHostileCommits(t *testing.T) {
	w := newWorld(t)
	_, evilID := treeOf("40000", "modules", w.modulesID)
	head, sig := header(w.rootID), w.sign(t, header(w.rootID)+"\nmessage\n")
	signature := signedHeader("gpgsig", sig)
	with := func(change func(*crafter)) string {
		c := w.crafter
		change(&c)
		return head + signedHeader("gpgsig", c.sign(t, head+"\nmessage\n")) + "\nmessage\n"
	}
	selfSigned := func(head string) string { return head + signedHeader("gpgsig", w.sign(t, head+"\nm\n")) + "\nm\n" }
	for _, c := range []struct{ name, want, commit string }{
		{"not signed", "is not signed", head + "\nmessage\n"},
		{"empty signature", "not an SSH signature", head + "gpgsig \n\nmessage\n"},
		{"OpenPGP", "an OpenPGP signature",
			head + "gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n\nmessage\n"},
		{"two signatures", "two signatures", head + signature + signature + "\nmessage\n"},
		{"a signature for other names", "another kind", head + signedHeader("gpgsig-sha256", sig) + "\nmessage\n"},
		{"both signatures", "another kind", head + signature + signedHeader("gpgsig-sha256", sig) + "\nmessage\n"},
		{"an unknown signature", "another kind", head + "gpgsigx y\n" + signature + "\nmessage\n"},
		{"two trees, evil first", "the header tree 2 times", "tree " + evilID + "\n" + head + signature + "\nmessage\n"},
		{"two trees, evil last", "the header tree 2 times", head + "tree " + evilID + "\n" + signature + "\nmessage\n"},
		{"two committers", "the header committer 2 times", selfSigned(head + "committer X <x> 1 +0000\n")},
		{"no author", "the header author 0 times", selfSigned("tree " + w.rootID + "\ncommitter X <x> 1 +0000\n")},
		{"no tree", "does not begin with its tree", selfSigned("author X <x> 1 +0000\ncommitter X <x> 1 +0000\n")},
		{"a tree later", "does not begin with its tree", selfSigned("parent " + w.rootID + "\n" + head)},
		{"a tree of letters", "no valid tree", selfSigned(strings.Replace(head, w.rootID[:8], "HEAD^{x}", 1))},
		{"a time before 1970", "no valid time", selfSigned(strings.Replace(head, "1700000000 +0000", "-1 +0000", 1))},
		{"a time beyond numbers", "no valid time", selfSigned(strings.Replace(head, "1700000000 +0000",
			"99999999999999999999 +0000", 1))},
		{"no time", "no valid time", selfSigned(strings.Replace(head, " 1700000000 +0000", "", 1))},
		{"a far time", "from the future", selfSigned(strings.Replace(head, "1700000000 +0000", "4000000000 +0000", 1))},
		{"a NUL", "cannot be read", head + "x \x00\n" + signature + "\nmessage\n"},
		{"no message", "cannot be read", head + signature},
		{"goes on before it begins", "cannot be read", " x\n" + head + signature + "\nmessage\n"},
		{"a header without a value", "cannot be read", head + "x\n" + signature + "\nmessage\n"},
		{"more behind the signature", "not an SSH signature", head + signedHeader("gpgsig", sig+"x\n") + "\nmessage\n"},
		{"a signature with headers", "not an SSH signature",
			head + signedHeader("gpgsig", strings.Replace(sig, "-\n", "-\nx: y\n\n", 1)) + "\nmessage\n"},
		{"a signature that is cut", "not an SSH signature",
			head + signedHeader("gpgsig", armor([]byte("SSHSIG\x00\x00\x00\x01"))) + "\nmessage\n"},
		{"a signature without end", "17", head + signedHeader("gpgsig", armor(make([]byte, 13_000))) + "\nmessage\n"},
		{"another version", "signature of version 1", with(func(c *crafter) { c.version = 2 })},
		{"another magic", "not an SSH signature", with(func(c *crafter) { c.magic = "SSHSIH" })},
		{"another namespace", `for the namespace "file"`, with(func(c *crafter) { c.namespace = "file" })},
		{"no namespace", `for the namespace ""`, with(func(c *crafter) { c.namespace = "" })},
		{"a weak digest", `digest is "sha1"`, with(func(c *crafter) { c.hash = "sha1" })},
		{"no digest", `digest is ""`, with(func(c *crafter) { c.hash = "" })},
		{"another kind of signature", "is of the kind",
			with(func(c *crafter) { c.change = func(s *ssh.Signature) { s.Format = "ssh-rsa" } })},
		{"a bit of the signature", "does not match this text",
			with(func(c *crafter) { c.change = func(s *ssh.Signature) { s.Blob[0] ^= 1 } })},
		{"a short signature", "does not match this text",
			with(func(c *crafter) { c.change = func(s *ssh.Signature) { s.Blob = s.Blob[:3] } })},
		{"large", "cannot be read", head + signature + "\n" + strings.Repeat("m", 1<<20)},
	} {
		a := w.of(t, "modules/web")
		a.recommit([]byte(c.commit))
		if err := a.verify(t); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
}

// TestHostileTrees has one tree in each case that a trusted key signed, and that could be read in
// two ways: a bundle of either reading is refused.
func TestHostileTrees(t *testing.T) {
	w := newWorld(t)
	_, evilID := treeOf("100644", "m", blobID("evil"))
	for name, entries := range map[string][]string{
		"twice":              {"40000", "web", w.webID, "40000", "web", evilID},
		"file and directory": {"100644", "web", blobID(""), "40000", "web", w.webID},
		"not in order":       {"40000", "web", w.webID, "40000", "db", w.dbID},
		"mode of zeros":      {"040000", "web", w.webID},
		"a submodule":        {"160000", "sub", w.webID, "40000", "web", w.webID},
		"writable by all":    {"100666", "file", blobID(""), "40000", "web", w.webID},
		"no mode":            {"", "web", w.webID},
		"no name":            {"40000", "", w.webID},
		"a slash":            {"40000", "a/web", w.webID, "40000", "web", w.webID},
		"a file":             {"100644", "web", blobID("")},
		"a link":             {"120000", "web", blobID("/etc")},
		"a name that is cut": {"40000", "web", w.webID[:10]},
	} {
		modules, modulesID := treeOf(entries...)
		root, rootID := treeOf("40000", "modules", modulesID)
		for _, b := range [][]byte{w.webBundle, raw(file("m", "evil"))} {
			a := w.of(t, "modules/web")
			a.bundle, a.proof.Trees = b, [][]byte{root, modules}
			a.recommit(w.crafter.commit(t, rootID))
			if err := a.verify(t); err == nil {
				t.Errorf("%s is believed", name)
			}
		}
	}
	root, rootID := treeOf("100644", "fettle.hcl", blobID("top"), "100644", "modules", blobID("x"))
	a := w.of(t, content.RootBundle)
	a.bundle, a.proof.Trees = raw(file("fettle.hcl", "top")), [][]byte{root}
	a.recommit(w.crafter.commit(t, rootID))
	wantErr(t, a.verify(t), "modules in its commit is not a directory")
}

// TestKinds: hardware keys are accepted if the user touched them, RSA is accepted without SHA-1,
// and DSA is refused.
func TestKinds(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		crafter crafter
		want    string
	}{
		"security key, touched":     {skCrafter(t, true), ""},
		"security key, not touched": {skCrafter(t, false), "does not match this text"},
		"RSA with SHA-512":          {rsaCrafter(t, ssh.KeyAlgoRSASHA512), ""},
		"RSA with SHA-256":          {rsaCrafter(t, ssh.KeyAlgoRSASHA256), ""},
		"RSA with SHA-1":            {rsaCrafter(t, ssh.KeyAlgoRSA), "is of the kind"},
		"a digest of SHA-256":       {func() crafter { c := newCrafter(t); c.hash = "sha256"; return c }(), ""},
	} {
		a := w.of(t, "modules/web")
		a.trust.Signers = signers(t, c.crafter.line())
		a.recommit(c.crafter.commit(t, w.rootID))
		if err := a.verify(t); c.want == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if c.want != "" {
			wantErr(t, err, c.want)
		}
	}
}

func TestProofsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	good := string(w.of(t, "modules/web").proof.Marshal())
	if p, err := content.ParseProof([]byte(good)); err != nil || string(p.Marshal()) != good {
		t.Fatalf("%v: it comes back as another", err)
	}
	for want, text := range map[string]string{
		"EOF":                        "",
		"format":                     strings.Replace(good, "proof/1", "proof/2", 1),
		"unknown field":              strings.Replace(good, `"commit"`, `"commits"`, 1),
		"more data after":            good + "{}",
		"unexpected EOF":             good[:len(good)-1],
		"illegal base64":             strings.Replace(good, `"commit":"`, `"commit":"?`, 1),
		"cannot unmarshal":           `{"format":7}`,
		fmt.Sprint(content.MaxProof): good + strings.Repeat(" ", content.MaxProof),
	} {
		_, err := content.ParseProof([]byte(text))
		wantErr(t, err, "cannot read a proof", want)
	}
}

// FuzzVerify: random proofs and claims are refused without a panic.
func FuzzVerify(f *testing.F) {
	w := newWorld(f)
	a := w.of(f, "modules/web")
	bundle := parse(f, a.bundle)
	f.Add(a.proof.Commit, a.proof.Trees[0], a.proof.Trees[1], "modules/web")
	f.Fuzz(func(t *testing.T, commit, root, modules []byte, part string) {
		p := content.Proof{Format: content.ProofFormat, Commit: commit, Trees: [][]byte{root, modules}}
		claim := a.claim
		claim.Part, claim.Commit = part, objectID("commit", commit)
		_, err := content.Verify(p, bundle, claim, a.trust)
		same := bytes.Equal(commit, w.commit) && bytes.Equal(root, w.root) && bytes.Equal(modules, w.modules)
		if err == nil && !(same && part == "modules/web") {
			t.Errorf("believed: %q %q %q %q", commit, root, modules, part)
		}
	})
}

// FuzzSigners: random files of signers and armored signatures are parsed or refused without a
// panic.
func FuzzSigners(f *testing.F) {
	w := newWorld(f)
	f.Add([]byte(w.line()), w.sign(f, "x"))
	f.Add([]byte(`a,b namespaces="git",valid-after="2020" ssh-ed25519 AAAA`),
		base64.StdEncoding.EncodeToString([]byte("x")))
	f.Fuzz(func(t *testing.T, text []byte, permit string) {
		s, _ := content.ParseSigners("f", text)
		a := w.of(t, "modules/web")
		a.trust.Signers, a.trust.MinimumCommit, a.claim.Permit = s, signedTime+1, permit
		if a.verify(t) == nil {
			t.Error("an older commit is taken")
		}
	})
}
