package wire

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret/vault"
)

const (
	// smallContent is the maximum size of content that is sent in batches, in bytes.
	smallContent = 256 << 10
	// batchContent is the maximum size of a batch, in bytes. A batch is in memory.
	batchContent = 16 << 20
)

// content opens the content of lists on the target. It reads the target's own store
// first, then requests the content from the other end, many small files at once.
type content struct {
	conn *conn
	kept func(digest string) (io.ReadCloser, bool)
	part func(digest string) (io.ReadCloser, int64, bool)

	mu    sync.Mutex
	sizes map[string]int64
	want  []string // the content that the current plan will write, in order
	held  map[string][]byte
	size  int
}

func newContent(c *conn) *content {
	return &content{conn: c, sizes: map[string]int64{}, held: map[string][]byte{}}
}

// know takes the sizes of content that a list names.
func (c *content) know(sizes map[string]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for d, n := range sizes {
		c.sizes[d] = n
	}
}

// expect tells what will be wanted soon.
func (c *content) expect(p *plan.Plan) {
	var want []string
	for _, ch := range p.Changes {
		if ch.Action.Mutates() {
			want = append(want, ch.Step.Blobs()...)
		}
	}
	c.mu.Lock()
	c.want = want
	c.mu.Unlock()
}

// blobs returns all known content, as files of a tree.
func (c *content) blobs() map[string]kind.Blob {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[string]kind.Blob, len(c.sizes))
	for d, n := range c.sizes {
		out[d] = kind.Blob{Digest: d, Size: n, Tree: tree{c}, Path: d}
	}
	return out
}

func (c *content) of(sizes map[string]int64) map[string]kind.Blob {
	out := make(map[string]kind.Blob, len(sizes))
	for d, n := range sizes {
		out[d] = kind.Blob{Digest: d, Size: n, Tree: tree{c}, Path: d}
	}
	return out
}

// open gives content from wherever it is.
func (c *content) open(digest string) (io.ReadCloser, error) {
	if c.kept != nil {
		if r, ok := c.kept(digest); ok {
			return r, nil
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	size, ok := c.sizes[digest]
	if !ok {
		return nil, fmt.Errorf("%s: %w", digest, fs.ErrNotExist)
	}
	if size > smallContent {
		return c.stream(digest), nil
	}
	b, ok := c.held[digest]
	if !ok {
		batch := c.batch(digest)
		err := c.fetch(batch)
		if err != nil && len(batch) > 1 { // whose fault it is, only that one tells
			err = c.fetch(batch[:1])
		}
		if err != nil {
			return nil, err
		}
		b = c.held[digest]
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// batch returns first and the next missing digests of the plan.
func (c *content) batch(first string) []string {
	out, size := []string{first}, c.sizes[first]
	taken := map[string]bool{first: true}
	begun := false
	for _, d := range c.want {
		if begun = begun || d == first; !begun || taken[d] {
			continue
		}
		taken[d] = true
		n, known := c.sizes[d]
		if _, have := c.held[d]; !known || have || n > smallContent || c.has(d) {
			continue
		}
		if size += n; size > batchContent {
			break
		}
		out = append(out, d)
	}
	return out
}

func (c *content) has(digest string) bool {
	if c.kept == nil {
		return false
	}
	r, ok := c.kept(digest)
	if ok {
		_ = r.Close()
	}
	return ok
}

// fetch loads a batch into memory. If the total would be too large, it first discards the
// earlier batches.
func (c *content) fetch(digests []string) error {
	var size int64
	for _, d := range digests {
		size += c.sizes[d]
	}
	if c.size+int(size) > 2*batchContent {
		c.held, c.size = map[string][]byte{}, 0
	}
	return c.conn.call(context.Background(), "content", wantedContent{Digests: digests}, nil, nil,
		func(r io.Reader) error {
			for _, d := range digests {
				b := make([]byte, c.sizes[d])
				if _, err := io.ReadFull(r, b); err != nil {
					return fmt.Errorf("cannot get %s: %w", d, err)
				}
				if sum := sha256.Sum256(b); "sha256:"+hex.EncodeToString(sum[:]) != d {
					return fmt.Errorf("cannot get %s: the received content has another digest", d)
				}
				c.held[d] = b
				c.size += len(b)
			}
			return nil
		})
}

// stream returns large content while it arrives, after the part that is already stored.
// The reader checks its digest.
func (c *content) stream(digest string) io.ReadCloser {
	p := c.begun(context.Background(), digest)
	r, w := io.Pipe()
	go func() {
		_ = w.CloseWithError(c.conn.call(context.Background(), "content", wantedContent{[]string{digest}, p.size}, nil, nil,
			func(from io.Reader) error {
				_, err := io.CopyBuffer(w, struct{ io.Reader }{from}, make([]byte, maxFrame))
				return err
			}))
	}()
	return p.with(r, digest)
}

// tree is content as the files of a repository, each named by its digest.
type tree struct{ c *content }

var errNoTree = errors.New("the content has no directories, only files by digest")

func (t tree) Open(path string) (io.ReadCloser, error) { return t.c.open(path) }

func (t tree) ReadFile(path string) ([]byte, error) {
	r, err := t.c.open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, vault.Largest+1<<20))
}

func (t tree) Stat(path string) (repo.Entry, error) {
	_, size, err := t.Digest(path)
	return repo.Entry{Path: path, Size: size}, err
}

func (t tree) ReadDir(string) ([]repo.Entry, error) { return nil, errNoTree }
func (t tree) Readlink(string) (string, error)      { return "", errNoTree }
func (t tree) Digest(path string) (string, int64, error) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	n, ok := t.c.sizes[path]
	if !ok {
		return "", 0, fs.ErrNotExist
	}
	return path, n, nil
}

// request converts a received request to an executor.Request.
func (v *server) request(ctx context.Context, in request) executor.Request {
	r := executor.Request{Target: in.Target, Revision: in.Revision, Adopt: in.Adopt, ListDigest: in.Digest,
		Outputs: in.Outputs, Known: in.Known,
		Deferred: in.Deferred, Policy: in.Policy, Repair: in.Repair, Diffs: in.Diffs, Verify: in.Verify, Guards: in.Guards}
	if in.Repository != nil {
		r.Repository = *in.Repository
	}
	if in.Loaded != nil {
		v.lists[in.Digest] = in.Loaded
	}
	r.Load = func() (executor.Loaded, error) { return v.load(ctx, in.Digest) }
	if in.Next {
		r.Next = func(k executor.Known) (executor.Request, error) {
			var next request
			if err := v.conn.call(ctx, "next", known{k}, &next, nil, nil); err != nil {
				return executor.Request{}, err
			}
			return v.request(ctx, next), nil
		}
	}
	return r
}

// load returns the received list, or requests it.
func (v *server) load(ctx context.Context, digest string) (executor.Loaded, error) {
	l := v.lists[digest]
	if l == nil {
		l = &loaded{}
		if err := v.conn.call(ctx, "load", nil, l, nil, nil); err != nil {
			return executor.Loaded{}, err
		}
		v.lists[digest] = l
	}
	list, err := decodeList(l.List)
	if err != nil {
		return executor.Loaded{}, err
	}
	if list.Digest() != digest {
		return executor.Loaded{}, fmt.Errorf("cannot use the received list: its digest is not %s", digest)
	}
	for d, n := range l.Sizes {
		if n < 0 {
			return executor.Loaded{}, fmt.Errorf("cannot use the received list: %s has %d bytes", d, n)
		}
	}
	v.store.know(l.Sizes)
	return executor.Loaded{List: list, Blobs: v.store.of(l.Sizes), States: l.States, Secrets: l.Secrets}, nil
}
