package content

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Fetcher downloads content from hubs and mirrors into a store. It trusts none of them: content is
// verified by its digest before it can be read. The fields must be set before the first use; then
// it is safe for concurrent use.
type Fetcher struct {
	Store *Store
	// Bases returns the servers in the order in which they are tried:
	// https://hub1.example.org:7433. Content is below Path of each.
	Bases func() []string
	// Transport sends the requests, with the necessary certificates.
	Transport http.RoundTripper
	// FetchSmall requests content of up to MaxSmall bytes before Bases are tried. Over an existing
	// connection it saves a TLS handshake, which is most of a hub's work for a small transfer. It
	// returns the result of Server.Answer. If it is nil, fails, or returns wrong content, Bases are
	// tried.
	FetchSmall func(ctx context.Context, digest string) ([]byte, error)
	// Attempts is the number of rounds over all bases, 0 for 5. Between two rounds the fetcher
	// waits a random time up to Pause, which doubles each time; 0 is 1 s. The bound never exceeds
	// one minute.
	Attempts int
	Pause    time.Duration
	// Stall is the maximum time without any received data, 0 for 30 s.
	Stall time.Duration

	unresponsive unresponsiveBases
}

// Fetch downloads content that is missing in the store. It continues a partial download. Its memory
// does not depend on the size. The error contains the answer of each base.
func (f *Fetcher) Fetch(ctx context.Context, want fleet.Bundle) error {
	if f.Store.Has(want) {
		if file, err := f.Store.Open(want); err == nil {
			return file.Close()
		}
	}
	p, err := f.Store.Begin(want)
	if err != nil {
		return fmt.Errorf("cannot fetch the content %s: %w", want.Digest, err)
	}
	defer p.Close()
	if f.asked(ctx, p) {
		return nil
	}
	if err := f.rounds(ctx, p); err != nil {
		return fmt.Errorf("cannot fetch the content %s: %w", want.Digest, err)
	}
	return nil
}

// MaxSmall is the maximum size of content for Fetcher.FetchSmall, in bytes.
const MaxSmall = 256 << 10

// asked requests content with FetchSmall, and returns true if it is in the store afterwards.
func (f *Fetcher) asked(ctx context.Context, p *Partial) bool {
	if f.FetchSmall == nil || p.want.Size > MaxSmall || p.Offset() > 0 || f.unresponsive.is(byAsk) {
		return false
	}
	answer, err := f.FetchSmall(ctx, p.want.Digest)
	f.unresponsive.note(byAsk, errors.Is(err, context.DeadlineExceeded))
	if err != nil {
		return false
	}
	d, err := newDecoder(bytes.NewReader(answer))
	if err != nil {
		return false
	}
	defer d.Close()
	_, err = io.Copy(p, io.LimitReader(d, p.want.Size+1))
	if err == nil {
		err = p.Commit()
	}
	if err != nil {
		_ = p.Restart() // the next base cannot continue wrong content
	}
	return err == nil
}

func (f *Fetcher) rounds(ctx context.Context, p *Partial) error {
	bad := map[string]bool{} // bases that delivered complete but wrong content
	pause := cmp.Or(f.Pause, time.Second)
	var said error
	for range cmp.Or(f.Attempts, 5) {
		said = nil
		for _, base := range f.unresponsive.last(f.Bases()) {
			if bad[base] {
				continue
			}
			err := f.from(ctx, base, p)
			if errors.Is(err, ErrDigestMismatch) {
				// The partial download may have come from another base: download all of it from
				// this base.
				if err = errors.Join(p.Restart(), f.from(ctx, base, p)); errors.Is(err, ErrDigestMismatch) {
					bad[base] = true
					err = errors.Join(err, p.Restart())
				}
			}
			f.unresponsive.note(base, errors.Is(err, errStalled))
			if err == nil {
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			said = errors.Join(said, fmt.Errorf("%s: %w", base, err))
		}
		if err := wait(ctx, time.Duration(rand.Int64N(int64(pause)+1))); err != nil {
			return err
		}
		pause = min(2*pause, time.Minute)
	}
	if said == nil {
		return errors.New("no server can deliver it: all servers delivered wrong content, or no server is known")
	}
	return said
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// from downloads the missing bytes from one base.
func (f *Fetcher) from(ctx context.Context, base string, p *Partial) error {
	if p.Offset() < p.want.Size || p.want.Size == 0 {
		if err := f.transfer(ctx, base, p); err != nil {
			return err
		}
	}
	return p.Commit()
}

var errStalled = errors.New("no data arrived for too long")

func (f *Fetcher) transfer(ctx context.Context, base string, p *Partial) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := cmp.Or(f.Stall, 30*time.Second)
	watch := time.AfterFunc(stall, func() { cancel(errStalled) })
	defer watch.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+Path+p.want.Digest, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept-Encoding", "zstd")
	if p.Offset() > 0 {
		req.Header.Set("Accept-Encoding", "identity")
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.Offset()))
		req.Header.Set("If-Range", strconv.Quote(p.want.Digest))
	}
	// An http.Client would follow redirects, to servers that are not configured.
	resp, err := f.Transport.RoundTrip(req)
	if err == nil {
		defer resp.Body.Close()
		err = f.receive(resp, p, func() { watch.Reset(stall) })
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

func (f *Fetcher) receive(resp *http.Response, p *Partial, alive func()) error {
	switch {
	case resp.StatusCode == http.StatusPartialContent:
		if !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", p.Offset())) {
			return errors.New("it sent a different range than requested")
		}
	case resp.StatusCode == http.StatusOK:
		if err := p.Restart(); err != nil {
			return err
		}
	default:
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
		return fmt.Errorf("it answered %d %.200q", resp.StatusCode, strings.TrimSpace(string(text)))
	}
	var body io.Reader = &living{resp.Body, alive}
	switch enc := resp.Header.Get("Content-Encoding"); enc {
	case "", "identity":
	case "zstd":
		if resp.StatusCode != http.StatusOK {
			return errors.New("it sent a range of compressed content")
		}
		d, err := newDecoder(body)
		if err != nil {
			return err
		}
		defer d.Close()
		body = d
	default:
		return fmt.Errorf("it sent content in the encoding %.40q", enc)
	}
	// One more byte than the size, so that Write detects too much data.
	_, err := io.CopyBuffer(struct{ io.Writer }{p}, io.LimitReader(body, p.want.Size-p.Offset()+1), make([]byte, 64<<10))
	if err == nil && p.Offset() < p.want.Size {
		err = fmt.Errorf("it ended after %d of %d bytes", p.Offset(), p.want.Size)
	}
	return err
}

// living calls alive whenever data arrives.
type living struct {
	io.Reader
	alive func()
}

func (l *living) Read(b []byte) (int, error) {
	n, err := l.Reader.Read(b)
	if n > 0 {
		l.alive()
	}
	return n, err
}
