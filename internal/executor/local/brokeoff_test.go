package local_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/test/sample"
)

// worn is a connection that carries so many bytes to the far end, and breaks.
type worn struct {
	net.Conn
	left, sent *atomic.Int64
}

func (c worn) Write(b []byte) (int, error) {
	if c.left.Add(-int64(len(b))) < 0 {
		_ = c.Conn.Close()
		return 0, io.ErrClosedPipe
	}
	c.sent.Add(int64(len(b)))
	return c.Conn.Write(b)
}

// over asks an engine at the other end of a connection that carries so many bytes to
// it, and tells how many it did when all is over.
func over(t *testing.T, x executor.Executor, bytes int64, f func(*wire.Client)) int64 {
	t.Helper()
	near, far := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- wire.Serve(context.Background(), far, wire.Served{Now: time.Now,
			Open: func(context.Context, bool) (executor.Executor, func() error, error) {
				return x, func() error { return nil }, nil
			}})
	}()
	var left, sent atomic.Int64
	left.Store(bytes)
	c, err := wire.Dial(context.Background(), worn{near, &left, &sent}, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f(c)
	_ = c.Close()
	<-ended
	return sent.Load()
}

const (
	wholeContent = 12 << 20
	plenty       = 1 << 40
	// underWay is what may have been sent and not have come: a window, and what is said
	// besides.
	underWay = 5 << 20
)

// TestBrokeOff: content whose transfer broke off goes on where it was, if what came is
// right, and comes whole if it is not.
func TestBrokeOff(t *testing.T) {
	if overWire() {
		return // it is over one already
	}
	half := int64(wholeContent / 2)
	for name, c := range map[string]struct {
		spoil func(t *testing.T, w *world, digest string)
		again int64 // bytes
	}{
		"right":  {func(*testing.T, *world, string) {}, wholeContent - half},
		"spoilt": {func(t *testing.T, w *world, digest string) { w.keepsPart(t, digest, make([]byte, half)) }, wholeContent},
		"longer": {func(t *testing.T, w *world, digest string) { w.keepsPart(t, digest, make([]byte, 2*wholeContent)) },
			wholeContent},
		"nothing": {func(t *testing.T, w *world, digest string) { w.keepsPart(t, digest, nil) }, wholeContent},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "right" {
				sample.ByName(t)
			}
			content := noise(wholeContent)
			b := kind.Inline(content)
			applied(t, b, half, c.again, c.spoil)
			copied(t, content, half, c.again, c.spoil)
		})
	}
}

// applied breaks the line of an apply, and applies again.
func applied(t *testing.T, b kind.Blob, half, again int64, spoil func(*testing.T, *world, string)) {
	t.Helper()
	w := newWorld(t)
	defer w.close()
	r := request(t, "COPY "+b.Digest+" /m/big\n")
	r.Blobs = map[string]kind.Blob{b.Digest: b}
	apply := func(c *wire.Client) error {
		_, err := c.Apply(context.Background(), r, nil, executor.Options{}, nil)
		return err
	}
	over(t, w.x, half, func(c *wire.Client) {
		if err := apply(c); !errors.Is(err, wire.ErrLost) {
			t.Fatalf("the line breaks, and it says %v", err)
		}
	})
	spoil(t, w, b.Digest)
	sent := over(t, w.x, plenty, func(c *wire.Client) { w.must(apply(c)) })
	if sent < again-underWay || sent > again+underWay {
		t.Errorf("an apply: %d bytes travel again, want about %d", sent, again)
	}
	w.lacksPart(t, b.Digest)
}

// copied breaks the line of a copy, and copies again.
func copied(t *testing.T, content string, half, again int64, spoil func(*testing.T, *world, string)) {
	t.Helper()
	w := newWorld(t)
	defer w.close()
	f := fileOf("/m/copied", content)
	put := func(c *wire.Client) error {
		_, err := c.Put(context.Background(), f, func() (io.ReadCloser,
			error) {
			return io.NopCloser(strings.NewReader(content)), nil
		}, executor.Options{})
		return err
	}
	over(t, w.x, half, func(c *wire.Client) {
		if err := put(c); !errors.Is(err, wire.ErrLost) {
			t.Fatalf("the line breaks, and it says %v", err)
		}
	})
	spoil(t, w, f.Digest)
	sent := over(t, w.x, plenty, func(c *wire.Client) { w.must(put(c)) })
	if sent < again-underWay || sent > again+underWay {
		t.Errorf("a copy: %d bytes travel again, want about %d", sent, again)
	}
	w.lacksPart(t, f.Digest)
}

type parts interface {
	OpenPartial(digest string) (io.ReadCloser, int64, bool)
}

func (w *world) lacksPart(t *testing.T, digest string) {
	t.Helper()
	if _, size, ok := w.x.(parts).OpenPartial(digest); ok {
		t.Errorf("%d bytes stay behind", size)
	}
}

// keepsPart has other bytes be what came of content, none for nothing.
func (w *world) keepsPart(t *testing.T, digest string, b []byte) {
	t.Helper()
	r, _, ok := w.x.(parts).OpenPartial(digest)
	if !ok {
		t.Fatal("nothing is kept of what came")
	}
	_ = r.Close()
	p := "/objects/tmp-part-" + digest[7:]
	w.must(w.state.Remove(p))
	if b == nil {
		return
	}
	f, err := w.state.Create(p)
	w.must(err)
	_, err = io.Copy(f, bytes.NewReader(b))
	w.must(errors.Join(err, f.Close()))
}

// noise is text that does not compress.
func noise(size int) string {
	b := make([]byte, size)
	seed := uint64(os.Getpid())
	for i := range b {
		seed = seed*6364136223846793005 + 1442695040888963407
		b[i] = byte(seed >> 56)
	}
	return string(b)
}
