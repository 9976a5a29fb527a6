package repo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"sync"
)

// verified reads the content of n and returns an error instead of its end if the content does not
// match.
func verified(n *node, r io.Reader, closing func()) io.ReadCloser {
	return &verifier{node: n, r: r, hash: sha256.New(), closing: closing}
}

type verifier struct {
	node    *node
	r       io.Reader
	hash    hash.Hash
	once    sync.Once
	closing func()
}

var errChanged = errors.New("its content changed after it was first read; run again")

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	v.hash.Write(p[:n])
	if err == io.EOF && "sha256:"+hex.EncodeToString(v.hash.Sum(nil)) != v.node.digest {
		return n, &pathError{"read", v.node.Path, errChanged.Error(), errChanged}
	}
	return n, err
}

func (v *verifier) Close() error {
	v.once.Do(v.closing)
	return nil
}
