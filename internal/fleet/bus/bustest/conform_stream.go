package bustest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// noise returns n bytes that depend only on the seed.
func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(b)
	return b
}

// echoing serves streams that return the header and then all received bytes.
func echoing(t *testing.T) func(fleet.Link) {
	return func(l fleet.Link) {
		err := l.ServeStreams("echo", func(_ context.Context, header []byte, s io.ReadWriteCloser) {
			defer s.Close()
			if _, err := s.Write(header); err == nil {
				_, _ = io.Copy(s, s)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// conformStream: bytes arrive unchanged, in writes of any size, in both directions, on several
// streams at once.
func conformStream(t *testing.T, ctx context.Context, b Bus) {
	linked(t, ctx, b, ID(1), echoing(t))
	linked(t, ctx, b, ID(2), nil)
	_, err := b.Exchange.Open(ctx, ID(2), "echo", nil)
	wantErr(t, "a target that takes no such streams", err, fleet.ErrOffline)
	_, err = b.Exchange.Open(ctx, ID(3), "echo", nil)
	wantErr(t, "a target that is not there", err, fleet.ErrOffline)
	errs := make(chan error, 3)
	for i := range 3 {
		go func() { errs <- echo(ctx, b, uint64(i)) }()
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func echo(ctx context.Context, b Bus, seed uint64) error {
	header := []byte(fmt.Sprintf("header %d\nwith lines\n", seed))
	s, err := b.Exchange.Open(ctx, ID(1), "echo", header)
	if err != nil {
		return err
	}
	defer s.Close()
	sent := noise(seed, 2<<20)
	go func() {
		sizes := rand.New(rand.NewPCG(seed, 1))
		for rest := sent; len(rest) > 0; {
			n := min(len(rest), 1+sizes.IntN(100_000))
			if _, err := s.Write(rest[:n]); err != nil {
				return
			}
			rest = rest[n:]
		}
	}()
	got := make([]byte, len(header)+len(sent))
	if _, err := io.ReadFull(s, got); err != nil {
		return err
	}
	if sha256.Sum256(got) != sha256.Sum256(append(header, sent...)) {
		return errors.New("the echo differs from the sent bytes")
	}
	return nil
}

// conformWindow: a reader that does not read stops its writer, but no other stream.
func conformWindow(t *testing.T, ctx context.Context, b Bus) {
	wrote := make(chan int, 1)
	release := make(chan struct{})
	linked(t, ctx, b, ID(1), func(l fleet.Link) {
		echoing(t)(l)
		if err := l.ServeStreams("pour", func(_ context.Context, _ []byte, s io.ReadWriteCloser) {
			n, _ := s.Write(make([]byte, 4<<20))
			wrote <- n
			<-release
		}); err != nil {
			t.Fatal(err)
		}
	})
	pour, err := b.Exchange.Open(ctx, ID(1), "pour", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := echo(ctx, b, 9); err != nil {
		t.Errorf("another stream: %v", err)
	}
	select {
	case n := <-wrote:
		t.Fatalf("wrote %d bytes without a reader", n)
	default:
	}
	if _, err := io.ReadFull(pour, make([]byte, 4<<20)); err != nil {
		t.Fatal(err)
	}
	if n := <-wrote; n != 4<<20 {
		t.Errorf("wrote %d bytes", n)
	}
	close(release)
	if n, err := pour.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if _, err := pour.Write([]byte("x")); err == nil {
		t.Error("wrote to an end that is closed")
	}
	if err := errors.Join(pour.Close(), pour.Close()); err != nil {
		t.Error(err)
	}
}

// conformStreamsEnd: after a close, the other end can read all bytes. After a lost connection, both
// ends fail.
func conformStreamsEnd(t *testing.T, ctx context.Context, b Bus) {
	got := make(chan []byte, 1)
	failed := make(chan error, 1)
	linked(t, ctx, b, ID(1), func(l fleet.Link) {
		err := errors.Join(
			l.ServeStreams("sink", func(_ context.Context, _ []byte, s io.ReadWriteCloser) {
				all, _ := io.ReadAll(s)
				got <- all
			}),
			l.ServeStreams("wait", func(_ context.Context, _ []byte, s io.ReadWriteCloser) {
				_, err := s.Read(make([]byte, 1))
				failed <- err
			}))
		if err != nil {
			t.Fatal(err)
		}
	})
	s, err := b.Exchange.Open(ctx, ID(1), "sink", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := noise(5, 600_000)
	if _, err := s.Write(want); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if all := <-got; !bytes.Equal(all, want) {
		t.Errorf("read %d bytes of %d", len(all), len(want))
	}
	w, err := b.Exchange.Open(ctx, ID(1), "wait", nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Exchange.Kick(ID(1))
	if _, err := w.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("the hub's end: %v", err)
	}
	if err := <-failed; err == nil || err == io.EOF {
		t.Errorf("the agent's end: %v", err)
	}
	_ = w.Close()
}
