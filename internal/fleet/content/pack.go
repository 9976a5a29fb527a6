package content

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
)

// PackAll puts every part of a commit into a store, each with its proof: the top first,
// then the modules by name. rev says which commit, by its whole name, and what is said
// of it. What was packed before is written once, so a commit costs what it changed, and
// that of reading it.
func PackAll(ctx context.Context, r *repo.Repo, rev fleet.Revision, s *Store) ([]fleet.Assigned, error) {
	tree, found, err := r.At(ctx, rev.Commit)
	if err == nil && found.Commit != rev.Commit {
		err = fmt.Errorf("cannot pack %.80q: it is no commit's whole name", rev.Commit)
	}
	if err != nil {
		return nil, err
	}
	parts, err := Parts(tree)
	if err != nil {
		return nil, err
	}
	rev.Time, rev.Subject = found.Time, found.Subject
	var out []fleet.Assigned
	for _, part := range parts {
		a, err := packPart(ctx, r, tree, rev, part, s)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func packPart(ctx context.Context, r *repo.Repo, tree repo.Tree, rev fleet.Revision, part string, s *Store) (fleet.Assigned, error) {
	a := fleet.Assigned{Module: part, Revision: rev}
	bundle, err := s.Add(func(w io.Writer) error {
		_, err := Pack(w, tree, part)
		return err
	})
	if err != nil {
		return a, err
	}
	p, err := Prove(ctx, r, rev.Commit, part)
	if err != nil {
		return a, err
	}
	proof, err := s.Add(func(w io.Writer) error {
		_, err := w.Write(p.Marshal())
		return err
	})
	a.Bundle, a.Proof, a.Revision.Signer = bundle, &proof, p.Signer(rev.Commit)
	return a, err
}

// Signer is the key that signed a commit, as OpenSSH shows it, and "" where none did.
// Whether anybody believes it is the agents' question. Behind the key is a mark of the
// files that bind the commit to fleets: two commits with the same content and the same
// Signer are accepted by the same agents, so a hub need not give the later one.
func (p Proof) Signer(commit string) string {
	n, err := namingOf(commit)
	if err != nil {
		return ""
	}
	c, err := n.parseCommit(p.Commit)
	if err != nil || c.signature == nil {
		return ""
	}
	key, err := verifySSH(c.signature, c.payload, "git")
	if err != nil {
		return ""
	}
	return ssh.FingerprintSHA256(key) + n.boundTo(p.Trees)
}
