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

// Fetcher gets content from hubs and mirrors into a store. It believes none of them:
// what comes is compared with its name before anybody can read it. Its fields are set
// before the first use; then it is safe for concurrent use.
type Fetcher struct {
	Store *Store
	// Bases are where to ask, in this order: https://hub1.example.org:7433. Content is
	// at Path below each.
	Bases func() []string
	// Transport carries the requests, with the certificates that they need.
	Transport http.RoundTripper
	// Ask asks for content of up to MaxAsked bytes before Bases are: a connection that is
	// there already saves the handshake of another one, which costs a hub more than all else
	// of a small transfer. It gives what Server.Answer does. nil, and any error or content
	// that is not what was asked for, leaves it to Bases.
	Ask func(ctx context.Context, digest string) ([]byte, error)
	// Attempts is how many rounds over all bases are made, 0 for 5. Between two the
	// fetcher waits up to Pause, doubled each time, with dice; 0 is 1 s. It never waits
	// longer than a minute.
	Attempts int
	Pause    time.Duration
	// Stall is how long nothing may come, 0 for 30 s.
	Stall time.Duration

	unresponsive unresponsiveBases
}

// Fetch gets what is not there yet. It goes on where an earlier one stopped. The memory
// that it needs does not depend on the size. The error says what each base answered.
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

// MaxAsked is how large content is that is got by an answer in one piece, in bytes.
const MaxAsked = 256 << 10

// asked gets content by one question, and tells whether it is in the store then.
func (f *Fetcher) asked(ctx context.Context, p *Partial) bool {
	if f.Ask == nil || p.want.Size > MaxAsked || p.Offset() > 0 || f.unresponsive.is(byAsk) {
		return false
	}
	answer, err := f.Ask(ctx, p.want.Digest)
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
		_ = p.Restart() // a beginning of something else is of no use to whoever is asked next
	}
	return err == nil
}

func (f *Fetcher) rounds(ctx context.Context, p *Partial) error {
	bad := map[string]bool{} // bases that gave other content, whole
	pause := cmp.Or(f.Pause, time.Second)
	var said error
	for range cmp.Or(f.Attempts, 5) {
		said = nil
		for _, base := range f.unresponsive.last(f.Bases()) {
			if bad[base] {
				continue
			}
			err := f.from(ctx, base, p)
			if errors.Is(err, ErrWrong) {
				// The beginning may have been another's: ask this one for all of it.
				if err = errors.Join(p.Restart(), f.from(ctx, base, p)); errors.Is(err, ErrWrong) {
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
		return errors.New("there is nowhere to ask: every base gave wrong content, or none is known")
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

// from asks one base for what is missing.
func (f *Fetcher) from(ctx context.Context, base string, p *Partial) error {
	if p.Offset() < p.want.Size || p.want.Size == 0 {
		if err := f.transfer(ctx, base, p); err != nil {
			return err
		}
	}
	return p.Commit()
}

var errStalled = errors.New("nothing came for too long")

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
	// Not a Client: no redirect is followed, so nobody is asked who was not named.
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
			return errors.New("it sent another range than was asked for")
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
			return errors.New("it sent a range of something compressed")
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
	// One byte more than there may be, so that Write sees what is endless.
	_, err := io.CopyBuffer(struct{ io.Writer }{p}, io.LimitReader(body, p.want.Size-p.Offset()+1), make([]byte, 64<<10))
	if err == nil && p.Offset() < p.want.Size {
		err = fmt.Errorf("it ended after %d of %d bytes", p.Offset(), p.want.Size)
	}
	return err
}

// living tells that something came.
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
