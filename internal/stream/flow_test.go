package stream

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// TestFlow: bytes arrive unchanged through parts and reads of any size, and a sender never has more
// than the window in flight.
func TestFlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.IntRange(1, 5000).Draw(t, "window")
		every := rapid.IntRange(1, window).Draw(t, "every")
		sent := rapid.SliceOfN(rapid.Byte(), 0, 20_000).Draw(t, "sent")
		relative := rapid.Bool().Draw(t, "relative")
		credit := NewCredit(window)
		b := NewBuffer(window, every, func(upTo uint64, more int) {
			if relative {
				credit.Add(more, window)
			} else {
				credit.Grant(upTo)
			}
		})
		parts := rapid.SliceOfN(rapid.IntRange(1, 4000), 1, 10).Draw(t, "parts")
		reads := rapid.SliceOfN(rapid.IntRange(1, 4000), 1, 10).Draw(t, "reads")
		failed := make(chan error, 1)
		go func() { failed <- fill(b, credit, sent, parts) }()
		got := drain(b, reads)
		if err := <-failed; err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("%d bytes of %d, %v", len(got), len(sent), err)
		}
	})
}

func fill(b *Buffer, credit *Credit, sent []byte, parts []int) error {
	for i := 0; len(sent) > 0; i++ {
		n, offset, err := credit.Take(min(len(sent), parts[i%len(parts)]))
		if err == nil {
			err = errors.Join(b.Put(offset, bytes.Clone(sent[:n])), b.Put(0, sent[:1])) // the second is a duplicate
		}
		if err != nil {
			b.End(err)
			return err
		}
		sent = sent[n:]
	}
	err := b.Put(credit.Close(io.EOF), nil)
	b.End(io.EOF)
	return err
}

func drain(b *Buffer, reads []int) (got []byte) {
	for i := 0; ; i++ {
		p := make([]byte, reads[i%len(reads)])
		n, err := b.Read(p)
		if got = append(got, p[:n]...); err != nil {
			return got
		}
	}
}

// TestViolations: bytes that are missing, or were not granted, are an error.
func TestViolations(t *testing.T) {
	b := NewBuffer(10, 5, nil)
	if err := b.Put(1, []byte("x")); !errors.Is(err, ErrMissing) {
		t.Errorf("a gap: %v", err)
	}
	if err := b.Put(0, make([]byte, 11)); !errors.Is(err, ErrNoCredit) {
		t.Errorf("more than the window: %v", err)
	}
	if err := errors.Join(b.Put(0, make([]byte, 10)), b.Put(10, nil)); err != nil {
		t.Errorf("the window: %v", err)
	}
	if err := b.Put(10, []byte("x")); !errors.Is(err, ErrNoCredit) {
		t.Errorf("a byte after the window: %v", err)
	}
}

// TestSmallParts: parts of one byte do not need a multiple of their memory.
func TestSmallParts(t *testing.T) {
	b := NewBuffer(1<<20, 1, nil)
	for i := range uint64(1 << 20) {
		if err := b.Put(i, []byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	size := 0
	for _, p := range b.parts {
		size += cap(p)
	}
	if size > 2<<20 || len(b.parts) > 1<<10 {
		t.Errorf("%d bytes in %d parts for %d bytes", size, len(b.parts), 1<<20)
	}
}

// TestTwoReaders: both of two waiting readers get a part of bytes that arrive together.
func TestTwoReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, done := NewBuffer(10, 5, nil), make(chan int, 2)
		for range 2 {
			go func() { n, _ := b.Read(make([]byte, 1)); done <- n }()
		}
		synctest.Wait()
		_ = b.Put(0, []byte("ab"))
		synctest.Wait()
		if len(done) != 2 {
			t.Errorf("%d readers of 2 continue", len(done))
		}
		b.End(io.EOF)
	})
}

// TestCancel: a waiting Take and Read end with the error of Close and Discard; an End comes after
// the received bytes.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop, late := errors.New("stop"), errors.New("late")
		credit, b := NewCredit(0), NewBuffer(10, 5, nil)
		errs := make(chan error, 2)
		go func() { _, _, err := credit.Take(1); errs <- err }()
		go func() { _, err := b.Read(make([]byte, 1)); errs <- err }()
		synctest.Wait()
		credit.Close(stop)
		credit.Close(late)
		b.Discard(stop)
		if err := errors.Join(<-errs, <-errs); !errors.Is(err, stop) || errors.Is(err, late) {
			t.Error(err)
		}
		if _, _, err := credit.Take(1); err != stop {
			t.Error(err)
		}
		b = NewBuffer(10, 5, nil)
		_ = b.Put(0, []byte("ab"))
		b.End(stop)
		b.End(late)
		_ = b.Put(2, []byte("c"))
		if got, err := io.ReadAll(b); string(got) != "ab" || err != stop {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestGrants: an older grant takes nothing back, and added credit is at most the window.
func TestGrants(t *testing.T) {
	c := NewCredit(10)
	c.Grant(5)
	if n, _, _ := c.Take(100); n != 10 {
		t.Errorf("took %d bytes of 10", n)
	}
	c = NewCredit(10)
	c.Add(1000, 20)
	if n, offset, err := c.Take(100); n != 20 || offset != 0 || err != nil {
		t.Errorf("took %d bytes at %d, %v", n, offset, err)
	}
	c.Grant(21)
	if n, offset, _ := c.Take(100); n != 1 || offset != 20 {
		t.Errorf("took %d bytes at %d", n, offset)
	}
	if n := c.Close(io.EOF); n != 21 {
		t.Errorf("took %d bytes in total", n)
	}
}

// TestGrantsEnd: a reader grants nothing after the end, and reads nothing after Discard.
func TestGrantsEnd(t *testing.T) {
	b := NewBuffer(10, 1, func(upTo uint64, more int) { t.Errorf("granted %d", upTo) })
	_ = b.Put(0, []byte("ab"))
	b.End(io.EOF)
	if n, err := b.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Error(n, err)
	}
	b.Discard(io.ErrClosedPipe)
	if n, err := b.Read(make([]byte, 1)); n != 0 || err != io.ErrClosedPipe {
		t.Error(n, err)
	}
}
