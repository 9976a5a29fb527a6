package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// Bounds of a stream to an executor.
const (
	// Recheck is how often it is asked whether somebody still may have theirs.
	Recheck = 30 * time.Second
	// slowest is how long a client may take to read what lies before it.
	slowest = time.Minute
	// pieces is how much is carried at once, in bytes.
	pieces = 32 << 10
)

// Executors opens the executors of targets; a Backend has it.
type Executors interface {
	// OpenExecutor gives a stream to the executor of a target, which refuses what changes
	// something unless changes is set. fleet.ErrOffline is for one that is away. ctx bounds
	// the opening alone; the caller closes the stream, which counts until then.
	OpenExecutor(ctx context.Context, by access.Who, id fleet.TargetID, changes bool) (io.ReadWriteCloser, error)
}

func (c *call) look() (any, error) { return c.executor(false) }
func (c *call) work() (any, error) { return c.executor(true) }

// executor makes the connection the stream of a target's executor, and carries it until
// one of the two ends closes it.
func (c *call) executor(changes bool) (any, error) {
	if !strings.EqualFold(c.r.Header.Get("Upgrade"), document.ExecutorProtocol) || c.r.ProtoMajor != 1 {
		c.w.Header().Set("Upgrade", document.ExecutorProtocol)
		return nil, fail(http.StatusUpgradeRequired, "The connection must be upgraded", "cannot answer with a document: this route is a stream of bytes in both directions", "Use HTTP/1.1 and the headers Connection: Upgrade and Upgrade: "+document.ExecutorProtocol)
	}
	d, err := c.h.Backend.Target(c.r.Context(), c.path["target"], c.h.Now())
	if err != nil {
		return nil, err
	}
	if d.Target.Standing != fleet.Active {
		return nil, &Refusal{http.StatusConflict, fmt.Sprintf("cannot work on %s: it is %s", d.Target.Name, d.Target.Standing), "List targets and their state: fettle target list"}
	}
	ctx, done := context.WithTimeout(c.r.Context(), Patience)
	defer done()
	stream, err := c.h.Backend.OpenExecutor(ctx, c.who, d.Target.ID, changes)
	if err != nil {
		return nil, err
	}
	conn, buffered, err := http.NewResponseController(c.w).Hijack()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot take over the connection: %w", err), stream.Close())
	}
	c.said = true
	return nil, c.carry(conn, buffered.Reader, stream)
}

// carry copies both ways until one end closes, and then closes the other. Neither way
// holds more than one piece.
func (c *call) carry(conn net.Conn, from *bufio.Reader, stream io.ReadWriteCloser) error {
	end := sync.OnceFunc(func() { _ = errors.Join(stream.Close(), conn.Close()) })
	to := &patient{conn, slowest}
	if _, err := fmt.Fprintf(to, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", document.ExecutorProtocol); err != nil {
		end()
		return err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(c.r.Context()))
	var both sync.WaitGroup
	both.Go(func() {
		defer end()
		_, _ = io.CopyBuffer(plainWriter{stream}, plainReader{from}, make([]byte, pieces))
	})
	both.Go(func() { defer end(); _, _ = io.CopyBuffer(plainWriter{to}, plainReader{stream}, make([]byte, pieces)) })
	ended := make(chan error, 1)
	go func() { ended <- c.still(ctx, end) }()
	both.Wait()
	stop()
	return <-ended
}

// still ends the stream of somebody who may not have it any more: they were locked out,
// lost the right, or their proof has ended. A hub that cannot tell ends nothing before the
// end of the proof.
func (c *call) still(ctx context.Context, end func()) error {
	every := c.h.Recheck
	if every <= 0 {
		every = Recheck
	}
	t := time.NewTicker(every)
	defer t.Stop()
	var over <-chan time.Time
	if !c.who.Until.IsZero() {
		proof := time.NewTimer(c.who.Until.Sub(c.h.Now()))
		defer proof.Stop()
		over = proof.C
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-over:
			end()
			return fmt.Errorf("%w: the login of %s has expired", fleet.ErrDenied, c.who.Name)
		case <-t.C:
		}
		who, err := c.h.Authenticate(c.r)
		if err == nil && (who.May(c.route.Right) || who.Unconfirmed) || err != nil && !errors.Is(err, fleet.ErrDenied) {
			continue
		}
		end()
		return fmt.Errorf("%w: %s no longer has the right to do this", fleet.ErrDenied, c.who.Name)
	}
}

// whileAllowed ends the context of a request when whoever asked may not have the answer any
// more; stop ends the watching.
func (c *call) whileAllowed() (stop func()) {
	ctx, cancel := context.WithCancel(c.r.Context())
	c.r = c.r.WithContext(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		_ = c.still(ctx, cancel) // a stream has no place for why it ends
	}()
	return func() {
		cancel()
		<-watched
	}
}

// patient is the writing end of a connection whose reader may be slow, but not dead.
type patient struct {
	net.Conn
	within time.Duration
}

func (p *patient) Write(b []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(p.within)); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}

// plainWriter and plainReader have copies use the buffer that they are given.
type (
	plainWriter struct{ io.Writer }
	plainReader struct{ io.Reader }
)
