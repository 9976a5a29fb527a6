package route

import (
	"time"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// EventQuery selects events. Times have a precision of one second.
type EventQuery struct {
	Target string    `query:"target" does:"only this target: its identity or name"`
	Module string    `query:"module" does:"only this module"`
	Kinds  []string  `query:"kind" does:"only this kind"`
	Since  time.Time `query:"since" does:"at or after this time, as RFC 3339"`
	Until  time.Time `query:"until" does:"before this time, as RFC 3339"`
	After  string    `query:"after" does:"after this cursor"`
	Limit  int       `query:"limit" does:"return at most this number of items"`
}

func ofEvents() []Row { return []Row{Events().Row, FollowEvents().Row} }

// Events returns a page of events.
func Events() (r Route[EventQuery, None, document.EventPage]) {
	return r.get(access.Read, "/v1/events",
		"List events, oldest first; without since and after, the newest events").perTarget()
}

// FollowEvents returns the selected events, and new events until the client closes the connection.
func FollowEvents() (r Route[EventQuery, None, document.Event]) {
	return r.get(access.Read, "/v1/events/follow",
		"Stream new events: JSON lines, or server-sent events for clients that accept text/event-stream").stream().perTarget()
}
