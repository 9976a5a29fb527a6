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

// ProofFormat is the format that this program writes and reads.
const ProofFormat = "fettle.proof/1"

// MaxProof bounds a proof, in bytes.
const MaxProof = 32 << 20

// Proof ties the bundle of a part to a commit: see the package comment. It travels as
// JSON and is content like a bundle.
type Proof struct {
	Format string `json:"format"`
	// Commit and Trees are the raw objects of repo.Chain.
	Commit []byte   `json:"commit"`
	Trees  [][]byte `json:"trees"`
}

// Prove makes the proof of a part of a commit, given by its whole name. Whether the
// commit is signed does not matter here.
func Prove(ctx context.Context, r *repo.Repo, commit, part string) (Proof, error) {
	dir := part
	if part == Top {
		dir = "."
	}
	c, err := r.Chain(ctx, commit, dir)
	return Proof{ProofFormat, c.Commit, c.Trees}, err
}

// Marshal is the canonical form: the same proof has the same bytes.
func (p Proof) Marshal() []byte {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // there is nothing in it that has no JSON
	}
	return b
}

// ParseProof reads one strictly.
func ParseProof(b []byte) (Proof, error) {
	if len(b) > MaxProof {
		return Proof{}, fmt.Errorf("cannot read a proof of %d bytes: %d are the most", len(b), MaxProof)
	}
	var p Proof
	if err := decodeStrictly(b, &p); err != nil {
		return Proof{}, fmt.Errorf("cannot read a proof: %w", err)
	}
	if p.Format != ProofFormat {
		return Proof{}, fmt.Errorf("cannot read a proof of the format %.40q: this program knows %s", p.Format, ProofFormat)
	}
	return p, nil
}

// Author is the author of a commit, "name <mail>", if the proof is of that commit; "" if it
// is not, or cannot be read. Whether the commit is signed does not matter.
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

// Claim is what an assignment says of a bundle, and to whom.
type Claim struct {
	Repository string
	Commit     string // 40 or 64 hex digits
	Part       string // Top or modules/NAME
	Permit     string // "" for none
	Target     string // the name of the target that asks
	Labels     map[string]string
}

// Trust is what a target believes.
type Trust struct {
	Signers Signers
	// Fleets are the names of the files that bind a repository to the target's fleet, see
	// FleetFile: a commit has to have one of them. Without any no commit is believed.
	Fleets []string
	// Floor is the time of the newest commit that was taken for the part, in seconds
	// since 1970; 0 is none. See Floors.
	MinimumCommit int64
	// Now is the target's time, in seconds since 1970. It bounds permits, and commits
	// from the future, which would make all others too old.
	Now int64
}

// ahead is how far a commit may be ahead of the target's clock, in seconds.
const ahead = 24 * 60 * 60

// Signed says who vouches for a bundle.
type Signed struct {
	By      string // the principals of the key
	Key     string // its fingerprint
	Time    int64  // of the commit, seconds since 1970: the next floor
	Subject string // of the commit, for people; signed too
	// Permit is who permitted an older commit; "" where nobody had to.
	Permit string
}

// Verify tells whether a bundle is the part of the commit that is claimed, signed by a
// believed key for the target's fleet, and no older than the floor unless that is
// permitted. Nothing of the bundle may be used before. Errors name the key and what to do.
func Verify(p Proof, b *Bundle, c Claim, t Trust) (Signed, error) {
	s, err := verify(p, b, c, t)
	if err != nil {
		return Signed{}, fmt.Errorf("cannot believe the bundle of %s at commit %.12s: %w", partName(c.Part), c.Commit, err)
	}
	return s, nil
}

func partName(part string) string {
	if part == Top {
		return "the top"
	}
	return fmt.Sprintf("%.80q", part)
}

func verify(p Proof, b *Bundle, c Claim, t Trust) (Signed, error) {
	n, err := namingOf(c.Commit)
	if err != nil {
		return Signed{}, err
	}
	if n.object("commit", p.Commit) != c.Commit {
		return Signed{}, errors.New("its proof is that of another commit")
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
			return Signed{}, fmt.Errorf("it is of %s, and this target had one of %s: %w", day(commit.time), day(t.MinimumCommit), err)
		}
	}
	return s, nil
}

// verifyTrees goes from the commit's tree down to the part, and compares what the
// signed trees say with what the bundle holds.
func (n naming) verifyTrees(trees [][]byte, id string, b *Bundle, part string) error {
	if part == Top {
		return n.verifyTop(trees, id, b)
	}
	if PartOf(part) != part || path.Clean(part) != part {
		return errors.New("there is no such part")
	}
	names := strings.Split(part, "/")
	if len(trees) != len(names) {
		return fmt.Errorf("its proof has %d trees where %d are needed", len(trees), len(names))
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
		err = errors.New("its content is not that of the commit")
	}
	return err
}

func (n naming) treeNamed(raw []byte, id string) ([]gitEntry, error) {
	if n.object("tree", raw) != id {
		return nil, errors.New("its proof has a tree that is not the commit's")
	}
	return n.parseTree(raw)
}

// verifyTop compares all entries of the commit's tree but modules.
func (n naming) verifyTop(trees [][]byte, id string, b *Bundle) error {
	if len(trees) != 1 {
		return fmt.Errorf("its proof has %d trees where 1 is needed", len(trees))
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
			return errors.New("its modules is no directory")
		}
	}
	have, err := n.entries(b)
	if err != nil {
		return err
	}
	for i := range max(len(want), len(have)) {
		if i >= len(want) || i >= len(have) || want[i] != have[i] {
			return errors.New("its content is not that of the commit" + firstDifference(want, have, i))
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
	return fmt.Sprintf(": %.80q is not what was signed", name)
}
