// Package streamtest is the suite that every stream of bytes between processes passes, independently
// of its carrier.
//
//	streamtest.Conform(t, func(t *testing.T) (a, b io.ReadWriteCloser) { return net.Pipe() })
package streamtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

const (
	// total is the number of bytes that each end sends. It is larger than any window.
	total = 2 << 20
	// most is the maximum size of a write or read.
	most = 100_000
)

// Conform runs the suite. Each part calls open once for both ends of a new stream, and closes them.
func Conform(t *testing.T, open func(t *testing.T) (a, b io.ReadWriteCloser)) {
	parts := []struct {
		name string
		run  func(t *testing.T, a, b io.ReadWriteCloser)
	}{{"bytes", conformBytes}, {"slow reader", conformSlowReader}, {"close", conformClose},
		{"end of a read", conformEndOfRead},
		{"end of a write", conformEndOfWrite}, {"closed reader", conformClosedReader}}
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			a, b := open(t)
			p.run(t, a, b)
			_ = errors.Join(a.Close(), b.Close()) // some carriers report that the other end was closed first
		})
	}
}

// random returns bytes that depend only on the seed.
func random(seed byte) []byte {
	b := make([]byte, total)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// conformBytes: bytes arrive unchanged, in both directions at the same time, in writes and reads of
// any size.
func conformBytes(t *testing.T, a, b io.ReadWriteCloser) {
	errs := make(chan error, 4)
	for i, end := range []io.ReadWriteCloser{a, b} {
		sizes := rand.New(rand.NewPCG(1, uint64(i)))
		go func() { errs <- write(end, random(byte(i)), sizes) }()
		go func() { errs <- readExactly(end, random(byte(1-i)), rand.New(rand.NewPCG(2, uint64(i)))) }()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func write(to io.Writer, b []byte, sizes *rand.Rand) error {
	for len(b) > 0 {
		n := min(len(b), 1+sizes.IntN(most))
		if done, err := to.Write(b[:n]); err != nil || done != n {
			return fmt.Errorf("wrote %d of %d bytes: %w", done, n, err)
		}
		b = b[n:]
	}
	return nil
}

func readExactly(from io.Reader, want []byte, sizes *rand.Rand) error {
	p := make([]byte, most)
	for at := 0; at < len(want); {
		n, err := from.Read(p[:min(len(want)-at, 1+sizes.IntN(most))])
		if !bytes.Equal(p[:n], want[at:at+n]) {
			return fmt.Errorf("other bytes after %d", at)
		}
		if at += n; err != nil && at < len(want) {
			return fmt.Errorf("read %d of %d bytes: %w", at, len(want), err)
		}
	}
	return nil
}

// conformSlowReader: a writer waits for its reader, and loses nothing. The other direction continues.
func conformSlowReader(t *testing.T, a, b io.ReadWriteCloser) {
	wrote := make(chan error, 1)
	go func() { wrote <- write(a, random(3), rand.New(rand.NewPCG(3, 3))) }()
	go func() { _ = write(b, random(4), rand.New(rand.NewPCG(4, 4))) }()
	if err := readExactly(a, random(4), rand.New(rand.NewPCG(5, 5))); err != nil {
		t.Errorf("the other direction: %v", err)
	}
	select {
	case err := <-wrote:
		t.Fatalf("wrote %d bytes without a reader, %v", total, err)
	default:
	}
	if err := readExactly(b, random(3), rand.New(rand.NewPCG(6, 6))); err != nil {
		t.Error(err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

// conformClose: an end reads all bytes that were written before the other end was closed, and then
// io.EOF.
func conformClose(t *testing.T, a, b io.ReadWriteCloser) {
	closed := make(chan error, 1)
	go func() { closed <- errors.Join(write(a, random(5), rand.New(rand.NewPCG(7, 7))), a.Close()) }()
	got, err := io.ReadAll(b)
	if err != nil || !bytes.Equal(got, random(5)) {
		t.Errorf("read %d of %d bytes, %v", len(got), total, err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// conformEndOfRead: closing an end ends its read that waits.
func conformEndOfRead(t *testing.T, a, _ io.ReadWriteCloser) {
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		close(began)
		_, err := a.Read(make([]byte, 1))
		ended <- err
	}()
	<-began
	_ = a.Close()
	if err := <-ended; err == nil {
		t.Error("a read from a closed end")
	}
}

// conformEndOfWrite: closing an end ends its write that waits for the reader.
func conformEndOfWrite(t *testing.T, a, b io.ReadWriteCloser) {
	ended := make(chan error, 1)
	go func() { _, err := a.Write(random(6)); ended <- err }()
	if _, err := io.ReadFull(b, make([]byte, 1)); err != nil {
		t.Error(err)
	}
	go func() { _ = a.Close() }()
	if err := <-ended; err == nil {
		t.Error("a write to a closed end")
	}
}

// conformClosedReader: a writer whose reader was closed gets an error.
func conformClosedReader(t *testing.T, a, b io.ReadWriteCloser) {
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := a.Write(random(7)); err == nil {
		t.Error("wrote to an end that was closed")
	}
}
