package wire

import (
	"context"
	"errors"
	"io"

	"fettle.dev/fettle/internal/executor"
)

type putCall struct {
	File    executor.File    `json:"file"`
	Options executor.Options `json:"options"`
}

func errNoFiles() error {
	return errors.New("cannot copy to or from the target: it only accepts step lists")
}

func (v *server) put(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var in putCall
	if err := c.params(&in); err != nil {
		return nil, err
	}
	fx, ok := x.(executor.Files)
	if !ok {
		return nil, errNoFiles()
	}
	return fx.Put(ctx, in.File, func() (io.ReadCloser, error) { return v.fetch(ctx, in.File.Digest), nil },
		v.options(c, in.Options))
}

// fetched is a file that the other end sends while it is read.
type fetched struct {
	*io.PipeReader
	ended chan struct{}
}

func (f *fetched) Close() error {
	err := f.PipeReader.Close()
	<-f.ended
	return err
}

func (v *server) fetch(ctx context.Context, digest string) io.ReadCloser {
	p := v.store.begun(ctx, digest)
	r, w := io.Pipe()
	f := &fetched{r, make(chan struct{})}
	go func() {
		defer close(f.ended)
		_ = w.CloseWithError(v.conn.call(ctx, "file", wantedFile{p.size}, nil, nil, func(from io.Reader) error {
			_, err := io.CopyBuffer(onlyWriter{w}, onlyReader{from}, make([]byte, maxFrame))
			return err
		}))
	}()
	return p.with(f, digest)
}

// onlyReader has io.CopyBuffer use the buffer.
type onlyReader struct{ io.Reader }

func (v *server) get(ctx context.Context, x executor.Executor, c *incoming) (any, error) {
	var path string
	if err := c.params(&path); err != nil {
		return nil, err
	}
	fx, ok := x.(executor.Files)
	if !ok {
		return nil, errNoFiles()
	}
	defer c.stopWriting(ctx)()
	return fx.Get(ctx, path, c)
}

// putting is a file that is being copied to the target.
type putting struct {
	digest string
	open   func() (io.ReadCloser, error)
}

// file sends what Put was given.
func (x *Client) file(ctx context.Context, c *incoming) (any, error) {
	var w wantedFile
	if err := c.params(&w); err != nil {
		return nil, err
	}
	x.mu.Lock()
	p := x.putting
	x.mu.Unlock()
	if p == nil {
		return nil, errors.New("cannot send a file: none is being copied")
	}
	from, err := p.open()
	if err != nil {
		return nil, err
	}
	defer from.Close()
	if err := skip(from, w.From); err != nil {
		return nil, err
	}
	defer c.stopWriting(ctx)()
	_, err = io.CopyBuffer(onlyWriter{c}, onlyReader{from}, make([]byte, maxFrame))
	return nil, err
}

// Put implements executor.Files.
func (x *Client) Put(ctx context.Context, f executor.File, from func() (io.ReadCloser, error),
	o executor.Options) (*executor.PutResult, error) {
	x.mu.Lock()
	x.putting = &putting{f.Digest, from}
	x.mu.Unlock()
	var res *executor.PutResult
	err := x.call(ctx, "put", putCall{f, o}, &res, nil, nil)
	x.mu.Lock()
	x.putting = nil
	x.mu.Unlock()
	return res, err
}

// Get implements executor.Files.
func (x *Client) Get(ctx context.Context, path string, to io.Writer) (f executor.File, err error) {
	err = x.call(ctx, "get", path, &f, nil, func(r io.Reader) error {
		_, err := io.CopyBuffer(onlyWriter{to}, onlyReader{r}, make([]byte, maxFrame))
		return err
	})
	return f, err
}
