package repo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// At reads the tree of a revision. The work tree is neither looked at nor
// touched, and nothing is fetched. All content is read once to be digested, so
// a repository that lacks some of it fails here and not later.
func (r *Repo) At(ctx context.Context, rev string) (Tree, Revision, error) {
	named := r.name(rev)
	var began time.Time
	if r.memory != nil {
		r.memory.begin()
		began = r.now()
	}
	info, err := r.Resolve(ctx, rev)
	if err != nil {
		return nil, Revision{}, err
	}
	nodes, err := r.list(ctx, info.Commit)
	if err == nil {
		err = r.digestBlobs(ctx, nodes)
	}
	if err != nil {
		return nil, Revision{}, inRevision(err, rev)
	}
	tree, err := newFiles(nodes, r.openBlob)
	if err != nil {
		return nil, Revision{}, inRevision(err, rev)
	}
	info.Digest, err = TreeDigest(tree)
	if err == nil && named.ok && named == r.name(rev) {
		r.rememberAt(ctx, began, named, info, nodes)
	}
	return tree, info, err
}

func inRevision(err error, rev string) error {
	return fmt.Errorf("cannot read revision %q: %w", rev, err)
}

// list reads the listing of a commit's tree, with directories (-t), so that a tree of only
// directories is limited too.
func (r *Repo) list(ctx context.Context, commit string) ([]*node, error) {
	t := treeReader{tally: tally{limits: r.limits}, directories: map[string]bool{}}
	err := r.git.stream(ctx, func(out io.Reader) error { return scanRecords(out, t.add) },
		"ls-tree", "-r", "-t", "-z", "-l", "--full-tree", commit, "--")
	if err == nil {
		err = r.checkTrees(ctx, commit, t.directories)
	}
	return t.nodes, err
}

// digestBlobs fills in the digests, targets and kept contents, reading each
// blob that is not yet known once.
func (r *Repo) digestBlobs(ctx context.Context, nodes []*node) error {
	ids, isLink := r.unknown(nodes)
	targets := map[string]string{}
	err := r.batch.each(ctx, ids, func(i int, o object) error {
		if o.typ != "blob" {
			return &objectError{ids[i], fmt.Sprintf("it is a %s instead of a file", o.typ)}
		}
		if !isLink[ids[i]] {
			return r.learn(ids[i], o)
		}
		text, err := io.ReadAll(io.LimitReader(o.r, maxPath+1))
		targets[ids[i]] = string(text)
		return err
	})
	if err != nil {
		return atPath(nodes, err)
	}
	return r.fill(nodes, targets)
}

// atPath adds the path of the object that an error is about.
func atPath(nodes []*node, err error) error {
	var bad *objectError
	if !errors.As(err, &bad) {
		return err
	}
	for _, n := range nodes {
		if n.id == bad.id {
			return &pathError{"use repository entry", n.Path, err.Error(), err}
		}
	}
	return err
}

// unknown returns the blobs of nodes that must be read, in order, each once. A blob that is a file
// in one place and a link in another counts as a link; its digest is then computed separately.
func (r *Repo) unknown(nodes []*node) (ids []string, isLink map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	isLink = map[string]bool{}
	for _, n := range nodes {
		if n.Type == Symlink && !isLink[n.id] {
			isLink[n.id] = true
			ids = append(ids, n.id)
		}
	}
	seen := map[string]bool{}
	for _, n := range nodes {
		if n.Type == File && !seen[n.id] && !isLink[n.id] && r.known[n.id] == "" {
			seen[n.id] = true
			ids = append(ids, n.id)
		}
	}
	return ids, isLink
}

// learn digests one blob, and keeps it when it is small.
func (r *Repo) learn(id string, o object) error {
	h := sha256.New()
	var data []byte
	if o.size <= keepFile {
		data = make([]byte, o.size)
		if _, err := io.ReadFull(o.r, data); err != nil {
			return err
		}
		h.Write(data)
	} else if _, err := io.Copy(h, o.r); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[id] = "sha256:" + hex.EncodeToString(h.Sum(nil))
	if data != nil && r.keep >= o.size {
		r.keep -= o.size
		r.kept[id] = data
	}
	return nil
}

// fill copies known data of blobs into the nodes.
func (r *Repo) fill(nodes []*node, targets map[string]string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range nodes {
		target, linked := targets[n.id]
		if n.Type == Symlink {
			if err := checkTarget(n.Path, target); err != nil {
				return err
			}
			n.target = target
			continue
		}
		n.digest, n.data = r.known[n.id], r.kept[n.id]
		if linked && n.digest == "" {
			n.digest, n.data = digestOf([]byte(target)), []byte(target)
		}
	}
	return nil
}

// checkTarget refuses invalid targets of a symbolic link. The caller that copies the link must
// check where it leads: see InTree.
func checkTarget(path, target string) error {
	if target == "" || len(target) > maxPath || strings.IndexFunc(target, unicode.IsControl) >= 0 ||
		!utf8.ValidString(target) {
		return &pathError{"use repository entry", path,
			fmt.Sprintf("it is a symbolic link to %q, which is not a path", shorten(target)), nil}
	}
	return nil
}

// openBlob streams the content of one file. Small files are read through the permanent process.
// Large files are read through a separate process, so that a slow reader blocks no other reader.
func (r *Repo) openBlob(n *node) (io.ReadCloser, error) {
	if n.Size > keepFile {
		return r.streamBlob(n)
	}
	var data []byte
	err := r.batch.each(context.Background(), []string{n.id}, func(_ int, o object) error {
		var err error
		data, err = io.ReadAll(o.r)
		return err
	})
	if err != nil {
		return nil, &pathError{"read", n.Path, err.Error(), err}
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (r *Repo) streamBlob(n *node) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cmd := r.git.command(ctx, "cat-file", "blob", n.id)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel(nil)
		return nil, &pathError{"open", n.Path, err.Error(), err}
	}
	end := func() { cancel(nil); _ = cmd.Wait() }
	return verified(n, watched{out, r.limits.Silence, cancel}, end), nil
}
