package document

import (
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// EventPageFormat is the format of events.
const EventPageFormat = "fettle.fleet.events/1"

// Event is one event of a fleet.
type Event struct {
	// Cursor is its position in the log, to request the events after it. It is the same at every
	// hub, and stays the same if the read model is rebuilt.
	Cursor  string         `json:"cursor"`
	At      int64          `json:"at"` // by the clock of the hub or agent that reported it
	Target  fleet.TargetID `json:"target,omitempty"`
	Name    string         `json:"name,omitempty"` // of the target
	Kind    string         `json:"kind"`           // an EventKind or HubEventKind
	Module  string         `json:"module,omitempty"`
	Run     int            `json:"run,omitempty"`
	Changes int            `json:"changes,omitempty"`
	Text    string         `json:"text,omitempty"`
	Error   string         `json:"error,omitempty"`
	By      string         `json:"by,omitempty"`
	// Duration is the run time in ns, if the event is the end of a run; without it, the run time is unknown.
	Duration int64 `json:"duration_ns,omitempty"`
}

// RunTimeText returns the run time for users; "" means that it is unknown.
func (e Event) RunTimeText() string {
	if e.Duration <= 0 {
		return ""
	}
	return secondsText(time.Duration(e.Duration).Seconds())
}

// EventPage is a page of the requested events, oldest first.
type EventPage struct {
	Format string  `json:"format"`
	Events []Event `json:"events"`
	// Cursor is the position after this page.
	Cursor string `json:"cursor,omitempty"`
}
