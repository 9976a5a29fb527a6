package document

import "fettle.dev/fettle/internal/fleet"

// EventPageFormat is the format of events.
const EventPageFormat = "fettle.fleet.events/1"

// Event is one thing that happened.
type Event struct {
	// Cursor is its place in the log: events behind it are asked for with it. It is
	// the same at every hub and after the read model was made again.
	Cursor  string         `json:"cursor"`
	At      int64          `json:"at"` // by the clock of who tells it
	Target  fleet.TargetID `json:"target,omitempty"`
	Name    string         `json:"name,omitempty"` // of the target
	Kind    string         `json:"kind"`           // an EventKind or HubEventKind
	Module  string         `json:"module,omitempty"`
	Run     int            `json:"run,omitempty"`
	Changes int            `json:"changes,omitempty"`
	Text    string         `json:"text,omitempty"`
	Error   string         `json:"error,omitempty"`
	By      string         `json:"by,omitempty"`
}

// EventPage is a part of the events that were asked for, oldest first.
type EventPage struct {
	Format string  `json:"format"`
	Events []Event `json:"events"`
	// Cursor is where to go on: behind it is what is not on this page.
	Cursor string `json:"cursor,omitempty"`
}
