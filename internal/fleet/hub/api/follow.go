package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/view"
)

// pulse is the time after which an idle stream sends an empty line.
const pulse = 15 * time.Second

// stream writes events as lines of JSON or as server-sent events.
type stream struct {
	w    http.ResponseWriter
	sent bool // server-sent events
}

// EventViews are queries about events. *view.View implements it.
type EventViews interface {
	Events(ctx context.Context, q view.EventQuery) (document.EventPage, error)
	// Changed returns a channel that is closed when there may be newer events.
	Changed() <-chan struct{}
}

// HandleEvents registers the handlers of events.
func HandleEvents(t *Table, v EventViews) {
	Handle(t, route.Events(),
		func(ctx context.Context, _ Caller, q route.EventQuery, _ route.None) (document.EventPage, error) {
			return v.Events(ctx, eventQuery(q))
		})
	handleCall(t, route.FollowEvents(), func(c *call, at route.EventQuery) (any, error) {
		q := eventQuery(at)
		if last := c.r.Header.Get("Last-Event-ID"); last != "" && q.After == "" {
			q.After = last
		}
		return nil, c.follow(v, q)
	})
}

func eventQuery(q route.EventQuery) view.EventQuery {
	return view.EventQuery{Target: q.Target, Module: Directory(q.Module), Kinds: q.Kinds, Since: q.Since, Until: q.Until,
		After: q.After, Limit: q.Limit}
}

// follow sends events until the client closes the connection.
func (c *call) follow(v EventViews, q view.EventQuery) error {
	changed := v.Changed() // before the first query, so that no event is missed
	page, err := v.Events(c.r.Context(), q)
	if err != nil {
		return err
	}
	s := stream{c.w, strings.Contains(c.r.Header.Get("Accept"), "text/event-stream")}
	c.said = true
	s.begin()
	for {
		if err := s.events(page.Events); err != nil {
			return err
		}
		q.After, q.Limit = page.Cursor, 0
		if len(page.Events) == 0 {
			if err := c.wait(s, changed); err != nil {
				return err
			}
		}
		changed = v.Changed()
		if page, err = v.Events(c.r.Context(), q); err != nil {
			return err
		}
	}
}

// wait returns when there may be newer events.
func (c *call) wait(s stream, changed <-chan struct{}) error {
	for {
		timer := time.NewTimer(pulse)
		select {
		case <-c.r.Context().Done():
			timer.Stop()
			return c.r.Context().Err()
		case <-changed:
			timer.Stop()
			return nil
		case <-timer.C:
			if err := s.alive(); err != nil {
				return err
			}
		}
	}
}

func (s stream) begin() {
	kind := "application/jsonl"
	if s.sent {
		kind = "text/event-stream"
	}
	s.w.Header().Set("Content-Type", kind)
	s.w.WriteHeader(http.StatusOK)
	_ = s.flush() // if the reader is gone, the first event fails
}

func (s stream) events(all []document.Event) error {
	for _, e := range all {
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		form := "%[2]s\n"
		if s.sent {
			form = "id: %[1]s\ndata: %[2]s\n\n"
		}
		if _, err := fmt.Fprintf(s.w, form, e.Cursor, text); err != nil {
			return err
		}
	}
	return s.flush()
}

// alive sends an empty line, so that a broken connection is detected.
func (s stream) alive() error {
	text := "\n"
	if s.sent {
		text = ": \n\n"
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.flush()
}

// flush sends the buffered data. A slow reader has the time of one pulse.
func (s stream) flush() error {
	c := http.NewResponseController(s.w)
	_ = c.SetWriteDeadline(time.Now().Add(pulse)) // the writers in tests have no deadline
	return c.Flush()
}
