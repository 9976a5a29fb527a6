package content

import (
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/repo"
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

// merged is a history in which the commits b and c of a are merged in d, e follows, and f merges b again.
func merged() History {
	return History{commits: map[string]commit{"b": {parents: []string{"a"}}, "c": {parents: []string{"a"}},
		"d": {parents: []string{"b", "c"}}, "e": {parents: []string{"d"}},
		"f": {parents: []string{"e", "b"}}, "x": {}}}
}

// TestFreshCommits: the new commits of a history are those that no accepted commit reaches, each once. None may be
// absent.
func TestFreshCommits(t *testing.T) {
	for _, c := range []struct{ commit, accepted, fresh, known, refused string }{
		{"e", "a", "bcde", "a", ""}, {"e", "b", "cde", "ab", ""}, {"e", "d", "e", "abcd", ""}, {"b", "e", "", "abcde", ""},
		{"f", "a", "bcdef", "a", ""},
		{"e", "x", "", "x", "did not deliver a commit: a, which"}, {"e", "z", "", "z", "did not deliver"},
	} {
		h := merged()
		known := h.reachable(c.accepted)
		fresh, err := h.fresh(c.commit, known)
		slices.Sort(fresh)
		got := strings.Join(slices.Sorted(maps.Keys(known)), "")
		if got != c.known || strings.Join(fresh, "") != c.fresh || refused(err, c.refused) {
			t.Errorf("%s after %s: fresh %v, known %s, %v", c.commit, c.accepted, fresh, got, err)
		}
	}
}

// TestDescent: the new commit of a part descends from its accepted one. That of a new part can also be older than the
// accepted commit of the root bundle.
func TestDescent(t *testing.T) {
	for _, c := range []struct {
		commit, part, root string
		refused            string
	}{
		{"e", "b", "", ""}, {"e", "b", "x", ""}, {"b", "e", "e", "descends from e"}, {"c", "b", "b", "descends from b"},
		{"e", "", "b", ""}, {"b", "", "e", ""}, {"c", "", "b", "descends from b"}, {"x", "", "e", "descends from e"},
	} {
		h, l := merged(), Lineage{Commit: c.commit, Part: c.part, Root: c.root}
		if err := h.descends(l, h.reachable(l.Accepted()...)); refused(err, c.refused) {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

// TestAnswers: a hub answers with small content, and only if it is small after compression.
func TestAnswers(t *testing.T) {
	random := make([]byte, maxAnswer)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	for name, c := range map[string]struct {
		text  string
		small bool
	}{
		"small": {"a small module", true}, "empty": {"", true}, "the most": {strings.Repeat("x", MaxSmall), true},
		"more": {strings.Repeat("x", MaxSmall+1), false}, "not compressible": {string(random), false},
	} {
		s, err := OpenStore(mem.NewFS(mem.Options{}), "/content", 0)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Add(func(w io.Writer) error { _, err := io.WriteString(w, c.text); return err })
		if err != nil {
			t.Fatal(err)
		}
		answer, err := (&Server{Store: s}).Answer(b.Digest)
		if (err == nil) != c.small || (answer != nil) != c.small || err != nil && !errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("%s: %d bytes, %v", name, len(answer), err)
		}
	}
}

// unreadable is a tree whose files cannot be read.
type unreadable struct{ repo.Tree }

func (unreadable) Digest(string) (string, int64, error) {
	return "", 0, errors.New("the disk is broken")
}

// TestUnreadablePart: the parts of a repository cannot be combined without a file of one of them.
func TestUnreadablePart(t *testing.T) {
	good := repo.MapTree(map[string]string{"a": "text"})
	bad := unreadable{good}
	for name, c := range map[string]struct {
		top, web repo.Tree
		refused  string
	}{
		"none": {good, good, ""}, "the root": {bad, good, "the disk is broken"},
		"a module": {good, bad, "the disk is broken"},
	} {
		_, err := Compose(c.top, map[string]repo.Tree{"modules/web": c.web}, nil)
		if refused(err, c.refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (unreadable) Open(string) (io.ReadCloser, error) { return nil, errors.New("the disk is broken") }

// TestUnreadableBundle: content that cannot be read is not accepted as that of a commit.
func TestUnreadableBundle(t *testing.T) {
	n, err := namingOf(strings.Repeat("a", 40))
	if err != nil {
		t.Fatal(err)
	}
	tree := repo.MapTree(map[string]string{"a": "text"})
	raw := append([]byte("100644 a\x00"), make([]byte, n.size)...)
	file, err := n.leaf(&Bundle{tree: tree}, repo.Item{Path: "a", Size: 4})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hex.Decode(raw[len(raw)-n.size:], []byte(file.id)); err != nil {
		t.Fatal(err)
	}
	for want, tree := range map[string]repo.Tree{"": tree, "the disk is broken": unreadable{tree}} {
		b := &Bundle{items: []repo.Item{{Path: "a", Size: 4}}, tree: tree}
		if err := n.verifyTop([][]byte{raw}, n.object("tree", raw), b); refused(err, want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
