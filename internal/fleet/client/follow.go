package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// maxEvent is the maximum size of one event of a stream, in bytes.
const maxEvent = 1 << 20

// Follow calls each for new events, from one goroutine, until ctx ends, each returns an error or
// the hub refuses. It reconnects a broken connection without losing or repeating events. If lost is
// not nil, it is called with the error of the broken connection.
func (c *Client) Follow(ctx context.Context, e route.EventQuery, each func(document.Event) error,
	lost func(error)) error {
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		began := false
		err := c.stream(ctx, e, func(v document.Event) error {
			e.After, e.Limit, began, wait = v.Cursor, 0, true, time.Second
			return each(v)
		})
		var p *document.Problem
		var mine *stopped
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &mine):
			return mine.error
		case errors.As(err, &p), e.After == "" && !began:
			return err
		}
		if lost != nil {
			lost(err)
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// stopped wraps an error of the callback each.
type stopped struct{ error }

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (c *Client) stream(ctx context.Context, e route.EventQuery, each func(document.Event) error) error {
	follow := route.FollowEvents()
	r, err := c.request(ctx, follow.Method, follow.Address(e), nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/jsonl")
	answer, err := c.send(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue // a keep-alive line
		}
		var v document.Event
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return fmt.Errorf("cannot read an event: %w", err)
		}
		if err := each(v); err != nil {
			return &stopped{err}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("cannot read events: %w", err)
	}
	return errors.New("cannot read more events: the hub ended the stream")
}
