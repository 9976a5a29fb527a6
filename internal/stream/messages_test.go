package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// pair returns two connected ends. change returns the frames that arrive instead of a frame, and is
// never called concurrently; nil changes nothing. Both directions end with the context of the test.
func pair(t interface{ Context() context.Context }, change func(frame []byte) [][]byte) (a, b *Stream) {
	var changing sync.Mutex
	over := func(frames chan<- []byte) *Stream {
		return Over(Messages{Send: func(f []byte) error {
			all := [][]byte{f}
			if change != nil {
				changing.Lock()
				all = change(f)
				changing.Unlock()
			}
			for _, f := range all {
				frames <- bytes.Clone(f)
			}
			return nil
		}})
	}
	receive := func(to *Stream, frames <-chan []byte) {
		for {
			select {
			case f := <-frames:
				to.Receive(f)
			case <-t.Context().Done():
				return
			}
		}
	}
	toA, toB := make(chan []byte, 1000), make(chan []byte, 1000)
	a, b = over(toB), over(toA)
	go receive(a, toA)
	go receive(b, toB)
	return a, b
}

// TestClose: an end that was closed reads and writes nothing more; the other one reads all bytes.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, nil)
		read := make(chan error, 1)
		go func() { _, err := a.Read(make([]byte, 1)); read <- err }()
		synctest.Wait()
		if _, err := a.Write([]byte("all")); err != nil {
			t.Error(err)
		}
		if err := errors.Join(a.Close(), a.Close()); err != nil {
			t.Error(err)
		}
		if err := <-read; err != io.ErrClosedPipe {
			t.Errorf("a read during a close: %v", err)
		}
		if _, err := a.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("a write after a close: %v", err)
		}
		synctest.Wait()
		if _, err := b.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("a write to a closed end: %v", err)
		}
		if got, err := io.ReadAll(b); string(got) != "all" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		_ = b.Close()
	})
}

// TestSilence: a stream without a frame fails after 40 seconds, and pings keep a stream alive.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lose atomic.Bool
		a, b := pair(t, func(f []byte) [][]byte {
			if lose.Load() {
				return nil
			}
			return [][]byte{f}
		})
		time.Sleep(time.Hour)
		if a.failed.Load() || b.failed.Load() {
			t.Fatal("a stream with pings failed")
		}
		synctest.Wait()
		lose.Store(true)
		began := time.Now()
		for _, s := range []*Stream{a, b} {
			if _, err := s.Read(make([]byte, 1)); !errors.Is(err, ErrLost) {
				t.Error(err)
			}
		}
		if took := time.Since(began); took > lostTime {
			t.Errorf("lost after %s", took)
		}
		_ = a.Close()
		_ = b.Close()
	})
}

// TestLoss: a stream with lost frames fails instead of reading other bytes, and duplicate frames have
// no effect.
func TestLoss(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lost := rapid.IntRange(0, 30).Draw(rt, "lost")
		twice := rapid.Bool().Draw(rt, "twice")
		sent := bytes.Repeat([]byte("0123456789"), rapid.IntRange(0, 50_000).Draw(rt, "tens"))
		closeAfter := rapid.IntRange(-1, 10).Draw(rt, "closed by the reader after reads")
		synctest.Test(t, func(t *testing.T) {
			number, dropped := 0, false
			a, b := pair(t, func(f []byte) [][]byte {
				if f[0] == frameData || f[0] == frameEnd {
					if number++; number == lost {
						dropped = true
						return nil
					}
				}
				if twice {
					return [][]byte{f, f}
				}
				return [][]byte{f}
			})
			go func() {
				_, _ = a.Write(sent)
				_ = a.Close()
			}()
			got, err := readSome(b, closeAfter)
			synctest.Wait()
			if !bytes.HasPrefix(sent, got) {
				t.Fatalf("other bytes after %d", len(got))
			}
			if err == io.EOF && (dropped || len(got) != len(sent)) || err == nil && closeAfter < 0 {
				t.Fatalf("%d bytes of %d, lost %t: %v", len(got), len(sent), dropped, err)
			}
			_ = errors.Join(a.Close(), b.Close())
		})
	})
}

// readSome reads until an error, or closes the stream after that number of reads.
func readSome(s *Stream, reads int) (got []byte, err error) {
	p := make([]byte, 1000)
	for i := 0; i != reads; i++ {
		n, err := s.Read(p)
		if got = append(got, p[:n]...); err != nil {
			return got, err
		}
	}
	return got, s.Close()
}

// TestAbort: the other end gets the reason.
func TestAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, nil)
		a.Abort(errors.New(strings.Repeat("cannot continue ", 1000)))
		if _, err := b.Read(make([]byte, 1)); !errors.Is(err, ErrLost) ||
			!strings.Contains(err.Error(), "cannot continue") {
			t.Error(err)
		}
		if _, err := a.Write([]byte("x")); err == nil {
			t.Error("wrote to a broken stream")
		}
		_ = errors.Join(a.Close(), b.Close())
	})
}

// FuzzReceive: no frames make a stream panic, wait, or store more than its window.
func FuzzReceive(f *testing.F) {
	f.Add([]byte("D\x00abc|D\x03d|F\x04"), byte('|'))
	f.Add([]byte("G\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01|P|Rbroken"), byte('|'))
	f.Add([]byte("D\x00hello|F\x05|R why|D"), byte('|'))
	f.Add([]byte("D\x05gap|F\x80|"), byte('|'))
	f.Fuzz(func(t *testing.T, all []byte, between byte) {
		s := Over(Messages{Send: func([]byte) error { return nil }})
		defer s.Close()
		for _, frame := range bytes.Split(all, []byte{between}) {
			s.Receive(frame)
		}
		if n := s.in.received - s.in.read; n > window {
			t.Errorf("%d bytes", n)
		}
	})
}

// recording returns a stream, and the frames that it sent.
func recording() (s *Stream, sent *[]string) {
	sent = new([]string)
	return Over(Messages{Send: func(f []byte) error {
		*sent = append(*sent, string(f))
		return nil
	}}), sent
}

// TestClosedWithBytes: a closed end does not read bytes that arrived before.
func TestClosedWithBytes(t *testing.T) {
	s, _ := recording()
	s.Receive([]byte("D\x00abc"))
	_ = s.Close()
	if n, err := s.Read(make([]byte, 3)); n != 0 || err != io.ErrClosedPipe {
		t.Error(n, err)
	}
}

// TestFrames: the frames of earlier versions.
func TestFrames(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(s *Stream)
		want []string
	}{
		"data and end": {func(s *Stream) { _, _ = s.Write([]byte("abc")); _, _ = s.Write([]byte("d")); _ = s.Close() },
			[]string{"D\x00abc", "D\x03d", "F\x04"}},
		"grant": {func(s *Stream) {
			s.Receive(append([]byte("D\x00"), make([]byte, window/2)...))
			_, _ = io.ReadFull(s, make([]byte, window/2))
			s.Fail(ErrLost)
		}, []string{"G\x80\x80\x18"}},
		"failed": {func(s *Stream) { s.Fail(ErrLost); _ = s.Close() }, nil},
		"aborted": {func(s *Stream) { s.Abort(errors.New(strings.Repeat("x", 2*maxText))) },
			[]string{"R" + strings.Repeat("x", maxText)}},
		"without a number": {func(s *Stream) { s.Receive([]byte("D\x80")) },
			[]string{"Rcannot read a frame of the stream"}},
	} {
		s, sent := recording()
		c.do(s)
		if !slices.Equal(*sent, c.want) {
			t.Errorf("%s: sent %.80q, want %.80q", name, *sent, c.want)
		}
		s.Fail(ErrLost)
	}
}
