package content

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"fettle.dev/fettle/internal/repo"
)

// ProofFormat is the supported format.
const ProofFormat = "fettle.proof/1"

// MaxProof is the maximum size of a proof, in bytes.
const MaxProof = 32 << 20

// Proof proves that the bundle of a part has the content of a commit: see the package comment. It
// is encoded as JSON and stored as content, like a bundle.
type Proof struct {
	Format string `json:"format"`
	// Commit and Trees are the raw objects of repo.Chain.
	Commit []byte   `json:"commit"`
	Trees  [][]byte `json:"trees"`
}

// Prove makes the proof of a part of a commit, which is named by its full hash. The commit need not
// be signed.
func Prove(ctx context.Context, r *repo.Repo, commit, part string) (Proof, error) {
	dir := part
	if part == RootBundle {
		dir = "."
	}
	c, err := r.Chain(ctx, commit, dir)
	return Proof{ProofFormat, c.Commit, c.Trees}, err
}

// Marshal returns the canonical form: equal proofs have equal bytes.
func (p Proof) Marshal() []byte {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // all fields can be encoded
	}
	return b
}

// ParseProof parses a proof. Unknown fields are errors.
func ParseProof(b []byte) (Proof, error) {
	if len(b) > MaxProof {
		return Proof{}, fmt.Errorf("cannot read a proof of %d bytes: the maximum is %d", len(b), MaxProof)
	}
	var p Proof
	if err := decodeStrictly(b, &p); err != nil {
		return Proof{}, fmt.Errorf("cannot read a proof: %w", err)
	}
	if p.Format != ProofFormat {
		return Proof{}, fmt.Errorf("cannot read a proof of the format %.40q: this version of fettle supports %s", p.Format,
			ProofFormat)
	}
	return p, nil
}

// Author returns the author of a commit, "name <mail>", if the proof is of that commit; otherwise
// "". The commit need not be signed.
func (p Proof) Author(commit string) string {
	n, err := namingOf(commit)
	if err != nil || n.object("commit", p.Commit) != commit {
		return ""
	}
	c, err := n.parseCommit(p.Commit)
	if err != nil {
		return ""
	}
	return c.author
}

func decodeStrictly(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is more data after the document")
	}
	return nil
}

// Claim is the data of an assignment about a bundle and its target.
type Claim struct {
	Repository string
	Commit     string // 40 or 64 hex digits
	Part       string // RootBundle or modules/NAME
	Permit     string // "" for none
	Target     string // the name of the target that verifies the bundle
	Labels     map[string]string
}

// Trust is the trust of a target in signers and commits.
type Trust struct {
	Signers Signers
	// Fleets are the names of the files that bind a repository to the target's fleet, see
	// FleetFile: a commit must have one of them. If Fleets is empty, all commits are refused.
	Fleets []string
	// MinimumCommit is the time of the newest accepted commit of the part, in seconds since 1970; 0
	// is none. See MinimumCommits.
	MinimumCommit int64
	// Now is the target's time, in seconds since 1970. It limits permits, and commits from the
	// future, which would make all other commits too old.
	Now int64
}

// ahead is how far a commit may be ahead of the target's clock, in seconds.
const ahead = 24 * 60 * 60

// Signed describes the verified signature of a bundle.
type Signed struct {
	By      string // the principals of the key
	Key     string // its fingerprint
	Time    int64  // of the commit, in seconds since 1970: the next minimum time
	Subject string // of the commit, for display; signed too
	// Permit is the principal that permitted an older commit; "" if the commit is not older.
	Permit string
}

// Verify verifies that a bundle has the content of the part of the claimed commit. A trusted key
// must have signed the commit for the target's fleet. The commit must not be older than the minimum
// time, unless a permit allows it. The caller must not use any content of the bundle before. Errors
// name the key and the next step.
func Verify(p Proof, b *Bundle, c Claim, t Trust) (Signed, error) {
	s, err := verify(p, b, c, t)
	if err != nil {
		return Signed{}, fmt.Errorf("cannot trust %s at commit %.12s: %w", partName(c.Part), c.Commit, err)
	}
	return s, nil
}

func partName(part string) string {
	if part == RootBundle {
		return "the root bundle"
	}
	return fmt.Sprintf("%.80q", part)
}

func verify(p Proof, b *Bundle, c Claim, t Trust) (Signed, error) {
	n, err := namingOf(c.Commit)
	if err != nil {
		return Signed{}, err
	}
	if n.object("commit", p.Commit) != c.Commit {
		return Signed{}, errors.New("its proof is for another commit")
	}
	commit, err := n.parseCommit(p.Commit)
	if err != nil {
		return Signed{}, err
	}
	if err := n.verifyTrees(p.Trees, commit.tree, b, c.Part); err != nil {
		return Signed{}, err
	}
	s, err := commit.signedBy(t)
	if err != nil {
		return Signed{}, err
	}
	top, err := n.treeNamed(p.Trees[0], commit.tree)
	if err == nil {
		err = forFleet(top, t)
	}
	if err != nil {
		return Signed{}, err
	}
	if commit.time < t.MinimumCommit {
		s.Permit, err = permitted(c, t)
		if err != nil {
			return Signed{}, fmt.Errorf("it is of %s, and this target had a newer one of %s: %w", day(commit.time),
				day(t.MinimumCommit), err)
		}
	}
	return s, nil
}

// verifyTrees follows the commit's tree down to the part, and compares the signed trees with the
// content of the bundle.
func (n naming) verifyTrees(trees [][]byte, id string, b *Bundle, part string) error {
	if part == RootBundle {
		return n.verifyTop(trees, id, b)
	}
	if PartOf(part) != part || path.Clean(part) != part {
		return errors.New("there is no such part")
	}
	names := strings.Split(part, "/")
	if len(trees) != len(names) {
		return fmt.Errorf("its proof has %d trees instead of %d", len(trees), len(names))
	}
	for i, name := range names {
		entries, err := n.treeNamed(trees[i], id)
		if err != nil {
			return err
		}
		id = ""
		for _, e := range entries {
			if e.name == name && e.mode == directoryMode {
				id = e.id
			}
		}
		if id == "" {
			return fmt.Errorf("the commit has no directory %q", name)
		}
	}
	have, err := n.entries(b)
	if err == nil && n.tree(have) != id {
		err = errors.New("its content differs from the commit")
	}
	return err
}

func (n naming) treeNamed(raw []byte, id string) ([]gitEntry, error) {
	if n.object("tree", raw) != id {
		return nil, errors.New("its proof has a tree that does not belong to the commit")
	}
	return n.parseTree(raw)
}

// verifyTop compares all entries of the commit's root tree except modules.
func (n naming) verifyTop(trees [][]byte, id string, b *Bundle) error {
	if len(trees) != 1 {
		return fmt.Errorf("its proof has %d trees instead of 1", len(trees))
	}
	entries, err := n.treeNamed(trees[0], id)
	if err != nil {
		return err
	}
	want := entries[:0:0]
	for _, e := range entries {
		if e.name != "modules" {
			want = append(want, e)
		} else if e.mode != directoryMode {
			return errors.New("modules in its commit is not a directory")
		}
	}
	have, err := n.entries(b)
	if err != nil {
		return err
	}
	for i := range max(len(want), len(have)) {
		if i >= len(want) || i >= len(have) || want[i] != have[i] {
			return errors.New("its content differs from the commit" + firstDifference(want, have, i))
		}
	}
	return nil
}

func firstDifference(want, have []gitEntry, i int) string {
	name := ""
	if i < len(have) {
		name = have[i].name
	}
	if i < len(want) && (name == "" || want[i].name < name) {
		name = want[i].name
	}
	return fmt.Sprintf(": %.80q differs from the signed content", name)
}
