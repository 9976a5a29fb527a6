package wire

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
)

// source is an executor that answers Get with a file of size bytes.
type source struct {
	far
	size int
}

func (s *source) Put(context.Context, executor.File, func() (io.ReadCloser, error),
	executor.Options) (*executor.PutResult, error) {
	return nil, errors.New("cannot store a file here")
}

func (s *source) Get(_ context.Context, _ string, to io.Writer) (executor.File, error) {
	part := make([]byte, maxFrame)
	_, _ = rand.NewChaCha8([32]byte{}).Read(part)
	for sent := 0; sent < s.size; sent += len(part) {
		if _, err := to.Write(part[:min(len(part), s.size-sent)]); err != nil {
			return executor.File{}, err
		}
	}
	return executor.File{}, nil
}

// pipes returns both ends of a stream over two pipes of the kernel, as between a process and its parent.
func pipes(b *testing.B) (near, far io.ReadWriteCloser) {
	r1, w1, err1 := os.Pipe()
	r2, w2, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		b.Fatal(err)
	}
	return ends{r1, w2}, ends{r2, w1}
}

type ends struct{ r, w *os.File }

func (e ends) Read(p []byte) (int, error)  { return e.r.Read(p) }
func (e ends) Write(p []byte) (int, error) { return e.w.Write(p) }
func (e ends) Close() error                { return errors.Join(e.r.Close(), e.w.Close()) }

// BenchmarkPipe measures an executor over pipes: a short call, and the transfer of a file.
func BenchmarkPipe(b *testing.B) {
	near, at := pipes(b)
	s := &source{size: 64 << 20}
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(context.Background(), at, Served{Now: time.Now, Hello: Hello{Version: "test"},
			Open: func(context.Context, bool) (executor.Executor, func() error, error) {
				return s, func() error { return nil }, nil
			}})
	}()
	x := dial(b, near, Options{})
	b.Run("call", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := x.Status(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("file", func(b *testing.B) {
		b.SetBytes(int64(s.size))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := x.Get(context.Background(), "/file", io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
	_ = x.Close()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}
