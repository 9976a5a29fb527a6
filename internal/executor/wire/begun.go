package wire

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// beginner is an executor that stores the received part of content whose transfer broke
// off, to continue it later.
type beginner interface {
	OpenPartial(digest string) (r io.ReadCloser, size int64, ok bool)
}

// begun is the beginning of content that is on the target already; the zero value is
// none.
type begun struct {
	part io.ReadCloser
	size int64
}

// begun returns the stored part of content, if the other end's content starts with the
// same bytes. The comparison is necessary because a part is not durable, and a power cut
// may have damaged it. On any error the part is empty, and the whole content is
// transferred.
func (c *content) begun(ctx context.Context, digest string) begun {
	if c.part == nil {
		return begun{}
	}
	sum, size := c.sumOfPart(digest)
	if size == 0 {
		return begun{}
	}
	same := false
	err := c.conn.call(ctx, "begins", beginning{digest, size, sum}, &same, nil, nil)
	if err != nil || !same {
		return begun{}
	}
	r, again, ok := c.part(digest)
	if ok && again != size {
		_ = r.Close()
		ok = false
	}
	if !ok {
		return begun{}
	}
	return begun{r, size}
}

func (c *content) sumOfPart(digest string) (sum string, size int64) {
	r, _, ok := c.part(digest)
	if !ok {
		return "", 0
	}
	defer r.Close()
	h := sha256.New()
	size, err := io.Copy(h, onlyReader{r})
	if err != nil {
		return "", 0
	}
	return hex.EncodeToString(h.Sum(nil)), size
}

// with returns the whole content: the part, followed by rest.
func (b begun) with(rest io.ReadCloser, digest string) io.ReadCloser {
	if b.part == nil {
		return breakable{rest, rest, digest}
	}
	return breakable{io.MultiReader(b.part, rest), both{b.part, rest}, digest}
}

// breakable is content that may break off. It is a journal.ResumableReader.
type breakable struct {
	io.Reader
	io.Closer
	digest string
}

// ExpectedDigest is the digest of all the content.
func (b breakable) ExpectedDigest() string { return b.digest }

type both [2]io.Closer

func (b both) Close() error { return errors.Join(b[0].Close(), b[1].Close()) }

// begins answers whether content starts with the part that the target has.
func (x *Client) begins(_ context.Context, c *incoming) (any, error) {
	var b beginning
	if err := c.params(&b); err != nil {
		return nil, err
	}
	from, err := x.openContent(b.Digest)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	h := sha256.New()
	n, err := io.CopyBuffer(h, io.LimitReader(from, b.Bytes), make([]byte, maxFrame))
	return n == b.Bytes && hex.EncodeToString(h.Sum(nil)) == b.Sum, err
}

// openContent opens the file that is being copied, or content of the current list.
func (x *Client) openContent(digest string) (io.ReadCloser, error) {
	x.mu.Lock()
	p := x.putting
	x.mu.Unlock()
	if p != nil && p.digest == digest {
		return p.open()
	}
	b, err := x.blob(digest)
	if err != nil {
		return nil, err
	}
	return openBlob(b)
}

// skip reads over the first bytes of content that the target has already.
func skip(r io.Reader, bytes int64) error {
	if _, err := io.CopyN(io.Discard, r, bytes); err != nil && bytes > 0 {
		return fmt.Errorf("cannot send the rest of a file: it is now shorter: %w", err)
	}
	return nil
}
