package bus_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

const benchmarked = 32 << 20

// source answers Get with a file of that size.
type source struct{ executor.Executor }

func (source) Put(context.Context, executor.File, func() (io.ReadCloser, error),
	executor.Options) (*executor.PutResult, error) {
	return nil, errors.New("cannot store a file here")
}

func (source) Get(_ context.Context, _ string, to io.Writer) (executor.File, error) {
	return executor.File{}, pourAll(to)
}

// pourAll writes incompressible data.
func pourAll(to io.Writer) error {
	part := make([]byte, 32<<10)
	for i, x := 0, uint32(1); i < len(part); i++ {
		x = x*1664525 + 1013904223
		part[i] = byte(x >> 24)
	}
	for range benchmarked / len(part) {
		if _, err := to.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkStream measures a stream from an agent to a hub, and an executor over it, within one process and
// over TLS.
func BenchmarkStream(b *testing.B) {
	a := newAuthority(b)
	local, tls := bustest.Embedded(b), a.listen(b)
	for name, c := range map[string]struct {
		srv  *bus.Server
		link bus.LinkConfig
	}{"local": {local, local.Local(bustest.ID(1))}, "TLS": {tls, a.link(tls, bustest.ID(1))}} {
		l := streaming(b, c.srv, c.link)
		b.Run(name+"/stream", func(b *testing.B) { benchmarkStream(b, c.srv, "pour", readAll) })
		b.Run(name+"/executor", func(b *testing.B) { benchmarkStream(b, c.srv, fleet.MessageExecutor, getFile) })
		_ = l.Close()
	}
}

// streaming serves both types of streams.
func streaming(b *testing.B, srv *bus.Server, conf bus.LinkConfig) *bus.Link {
	conf.Backoff = soon
	l, err := bus.Dial(context.Background(), conf)
	if err != nil {
		b.Fatal(err)
	}
	err = errors.Join(
		l.ServeStreams("pour", func(_ context.Context, _ []byte, s io.ReadWriteCloser) { _ = pourAll(s) }),
		l.ServeStreams(fleet.MessageExecutor, func(ctx context.Context, _ []byte, s io.ReadWriteCloser) {
			_ = wire.Serve(ctx, s, wire.Served{Now: time.Now,
				Open: func(context.Context, bool) (executor.Executor, func() error, error) {
					return source{}, func() error { return nil }, nil
				}})
		}))
	if err != nil {
		b.Fatal(err)
	}
	bustest.Await(b, "the target is here", func() bool {
		return slices.Contains(srv.Exchange().Connected(), bustest.ID(1))
	})
	return l
}

func benchmarkStream(b *testing.B, srv *bus.Server, kind string, read func(io.ReadWriteCloser) error) {
	b.SetBytes(benchmarked)
	b.ReportAllocs()
	for b.Loop() {
		s, err := srv.Exchange().Open(context.Background(), bustest.ID(1), kind, nil)
		if err == nil {
			err = errors.Join(read(s), s.Close())
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func readAll(s io.ReadWriteCloser) error {
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, s, make([]byte, 32<<10))
	if err == nil && n != benchmarked {
		err = errors.New("bytes are missing")
	}
	return err
}

func getFile(s io.ReadWriteCloser) error {
	x, err := wire.Dial(context.Background(), s, wire.Options{})
	if err != nil {
		return err
	}
	_, err = x.Get(context.Background(), "/file", io.Discard)
	return errors.Join(err, x.Close())
}
