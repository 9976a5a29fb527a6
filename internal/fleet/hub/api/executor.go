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
	"fettle.dev/fettle/internal/fleet/route"
)

// Limits of a stream to an executor.
const (
	// Recheck is the time between two checks whether the user still has the right to the stream.
	Recheck = 30 * time.Second
	// slowest limits the time in which a client must read the data that was sent.
	slowest = time.Minute
	// pieces is the size of a buffer in bytes.
	pieces = 32 << 10
)

// Executors opens the executors of targets.
type Executors interface {
	// OpenExecutor opens a stream to the executor of a target. Unless changes is set, the executor
	// refuses changes. If the target is offline, the error is fleet.ErrOffline. ctx limits only the
	// opening. The caller must close the stream.
	OpenExecutor(ctx context.Context, by access.Principal, id fleet.TargetID, changes bool) (io.ReadWriteCloser, error)
}

// HandleExecutors registers the handlers of executors.
func HandleExecutors(t *Table, b Executors) {
	handleCall(t, route.Look(), func(c *call, at route.TargetName) (any, error) {
		return nil, c.executor(t, b, at.Target, false)
	})
	handleCall(t, route.Work(), func(c *call, at route.TargetName) (any, error) {
		return nil, c.executor(t, b, at.Target, true)
	})
}

// executor turns the connection into a stream to the executor of a target, until one end closes it.
func (c *call) executor(t *Table, b Executors, name string, changes bool) error {
	if !strings.EqualFold(c.r.Header.Get("Upgrade"), document.ExecutorProtocol) || c.r.ProtoMajor != 1 {
		c.w.Header().Set("Upgrade", document.ExecutorProtocol)
		return fail(http.StatusUpgradeRequired, "The connection must be upgraded",
			"cannot answer with a document: this route is a stream of bytes in both directions",
			"Use HTTP/1.1 and the headers Connection: Upgrade and Upgrade: "+document.ExecutorProtocol)
	}
	target, err := c.workable(t, name)
	if err != nil {
		return err
	}
	c.exists = func(ctx context.Context, who access.Principal) error {
		if !who.Unconfirmed {
			ctx = fleet.WithBoundary(ctx, who.Boundary(c.route.Right))
		}
		_, err := t.targets.Target(ctx, string(target.ID), c.h.Now())
		return err
	}
	ctx, done := context.WithTimeout(c.r.Context(), Patience)
	defer done()
	stream, err := b.OpenExecutor(ctx, c.who, target.ID, changes)
	if err != nil {
		return err
	}
	conn, buffered, err := http.NewResponseController(c.w).Hijack()
	if err != nil {
		return errors.Join(fmt.Errorf("cannot use the connection as a stream: %w", err), stream.Close())
	}
	c.said = true
	return c.carry(conn, buffered.Reader, stream)
}

// workable returns a target, or an error unless the target is active.
func (c *call) workable(t *Table, name string) (document.Target, error) {
	d, err := t.find(c.r.Context(), c.caller(), name)
	if err == nil && d.Target.Standing != fleet.Active {
		err = &Refusal{http.StatusConflict, fmt.Sprintf("cannot work on %s: it is %s", d.Target.Name, d.Target.Standing),
			"List targets and their state: fettle target list"}
	}
	return d.Target, err
}

// carry copies in both directions until one end closes, and then closes the other end. Each
// direction buffers at most one piece.
func (c *call) carry(conn net.Conn, from *bufio.Reader, stream io.ReadWriteCloser) error {
	end := sync.OnceFunc(func() { _ = errors.Join(stream.Close(), conn.Close()) })
	to := &patient{conn, slowest}
	if _, err := fmt.Fprintf(to, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n",
		document.ExecutorProtocol); err != nil {
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

// still waits until the user may no longer have the stream, and then calls end: the user was locked
// or lost the right, is in another organization than before or than the target, or the login
// expired. The stream also ends if the user lost the right for its target. If it is about many
// targets, it ends if the user has the right for other targets than before. If the hub cannot check
// the right, the stream continues until the login expires.
func (c *call) still(ctx context.Context, end func()) error {
	every := c.h.Recheck
	if every <= 0 {
		every = Recheck
	}
	t := time.NewTicker(every)
	defer t.Stop()
	var over <-chan time.Time
	if !c.who.Expires.IsZero() {
		proof := time.NewTimer(c.who.Expires.Sub(c.h.Now()))
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
		allowed := err == nil && c.remains(ctx, who)
		if allowed || err != nil && !errors.Is(err, fleet.ErrDenied) {
			continue
		}
		end()
		return fmt.Errorf("%w: %s no longer has the right to do this", fleet.ErrDenied, c.who.Name)
	}
}

// remains reports whether the stream of a user may continue after the user authenticated again.
func (c *call) remains(ctx context.Context, who access.Principal) bool {
	switch {
	case who.Organization != c.who.Organization || !who.Unconfirmed && !who.MayOnSome(c.route.Right):
		return false
	case c.exists != nil:
		return !errors.Is(c.exists(ctx, who), fleet.ErrNotFound)
	}
	return who.Unconfirmed || who.Boundary(c.route.Right).Equal(c.who.Boundary(c.route.Right))
}

// whileAllowed cancels the context of a request when the user loses the right to the answer. stop
// ends the checks.
func (c *call) whileAllowed() (stop func()) {
	ctx, cancel := context.WithCancel(c.r.Context())
	c.r = c.r.WithContext(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		_ = c.still(ctx, cancel) // a stream cannot report why it ends
	}()
	return func() {
		cancel()
		<-watched
	}
}

// patient is a connection with a time limit for each write, so that a dead reader is detected.
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

// plainWriter and plainReader hide other methods, so that io.CopyBuffer uses the given buffer.
type (
	plainWriter struct{ io.Writer }
	plainReader struct{ io.Reader }
)
