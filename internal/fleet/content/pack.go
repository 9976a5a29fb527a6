package content

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
)

// PackAll stores all parts of a commit, each with its proof: the root bundle first, then the
// modules by name. rev must have the full hash of the commit. Content that is stored already is not
// written again, so that the disk space of a commit depends only on its changes. Reading it does
// not.
func PackAll(ctx context.Context, r *repo.Repo, rev fleet.Revision, s *Store) ([]fleet.Assigned, error) {
	tree, found, err := r.At(ctx, rev.Commit)
	if err == nil && found.Commit != rev.Commit {
		err = fmt.Errorf("cannot pack %.80q: it is not the full hash of a commit", rev.Commit)
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

func packPart(ctx context.Context, r *repo.Repo, tree repo.Tree, rev fleet.Revision, part string,
	s *Store) (fleet.Assigned, error) {
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

// Signer returns the fingerprint of the key that signed a commit, as OpenSSH shows it, or "". Only
// agents decide whether the key is trusted. After the key follows a mark of the files that bind the
// commit to fleets. Two commits with the same content and the same Signer are accepted by the same
// agents, so a hub need not send the later one.
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
