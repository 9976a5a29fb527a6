package local

import (
	"io"

	"github.com/aymanbagabas/go-udiff"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/plan"
)

// diffs adds the text differences of files to a plan.
func (x *planner) diffs(p *plan.Plan, blobs map[string]kind.Blob) {
	for i := range p.Changes {
		c := &p.Changes[i]
		if hasDiff(c) {
			x.diff(c, blobs)
		}
	}
}

// hasDiff reports whether a change has a difference of content that may be shown.
func hasDiff(c *plan.Change) bool {
	if c.From == nil || c.To == nil || c.From.File() == nil || c.To.File() == nil || !c.Action.Mutates() &&
		c.Action != plan.Drift {
		return false
	}
	from, to := c.From.File(), c.To.File()
	return from.Digest != to.Digest && from.Sealed == "" && to.Sealed == ""
}

func (x *planner) diff(c *plan.Change, blobs map[string]kind.Blob) {
	path := c.Addr.Path()
	before, ok1 := x.onHost(path, *c.From.File())
	after, ok2 := x.content(c.To.File().Digest, blobs)
	if !ok1 || !ok2 {
		c.Binary = true
		return
	}
	c.Diff = udiff.Unified("a"+path, "b"+path, before, after)
}

// onHost returns the text of a file on the host. It returns false if the file is large or
// not text.
func (x *planner) onHost(path string, f image.File) (string, bool) {
	if f.Type != image.Regular {
		return "", true
	}
	if f.Size > diffLimit {
		return "", false
	}
	r, err := x.host.Open(path)
	if err != nil {
		return "", false
	}
	defer r.Close()
	return text(r)
}

// Diffs adds the differences to a plan that was made without them. It reads content that
// the store lacks from the request. It compares with the machine as it is now.
func (x *Executor) Diffs(p *plan.Plan, r executor.Request) { x.planner.diffs(p, r.Blobs) }

// Content gives content that the store has, by digest; ok is false where it has
// none that is sound. The caller closes the reader.
func (x *Executor) Content(digest string) (r io.ReadCloser, ok bool) {
	if !x.store.Has(digest) || x.store.Verify(digest) != nil {
		return nil, false
	}
	r, _, err := x.store.Open(digest)
	return r, err == nil
}

// OpenPartial returns the part of content that arrived before its transfer broke off; see
// journal.Store.OpenPartial.
func (x *Executor) OpenPartial(digest string) (r io.ReadCloser, size int64, ok bool) {
	return x.store.OpenPartial(digest)
}
