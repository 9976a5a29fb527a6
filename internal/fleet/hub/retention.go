package hub

import (
	"cmp"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/view"
)

// Retention limits how long a hub stores data that it no longer needs. Zero means the default.
type Retention struct {
	// Content is the time in hours for which unused bundles stay; default 24. Unused bundles are
	// removed after one to two times this time.
	Content int `json:"content_hours,omitempty"`
	// Events is the time in days for which events stay, and unusable tokens. EventsEach is the
	// number of events of one target in the read model. Log is the size of all events in MiB. The
	// defaults are 90, 40 and 1024.
	Events     int `json:"event_days,omitempty"`
	EventsEach int `json:"events_of_target,omitempty"`
	Log        int `json:"log_mib,omitempty"`
	// Jobs is the time in days for which finished and expired jobs stay; default 7.
	Jobs int `json:"request_days,omitempty"`
}

const day = 24 * time.Hour

func (r Retention) content() time.Duration { return time.Duration(cmp.Or(r.Content, 24)) * time.Hour }

func (r Retention) events() time.Duration { return time.Duration(cmp.Or(r.Events, 90)) * day }

func (r Retention) jobs() time.Duration { return time.Duration(cmp.Or(r.Jobs, 7)) * day }

func (r Retention) view() view.Options {
	return view.Options{Events: r.EventsEach, Age: r.events()}
}

// log keeps events a day longer than the read model, which hubs create from the log.
func (r Retention) log() bus.LogConfig {
	return bus.LogConfig{Name: "events", MaxAge: r.events() + day, MaxBytes: int64(cmp.Or(r.Log, 1024)) << 20}
}

func (r Retention) check() error {
	for _, n := range []int{r.Content, r.Events, r.EventsEach, r.Log, r.Jobs} {
		if n < 0 || n > 100_000 {
			return fmt.Errorf("cannot use the value %d in retention in hub.json: a value is between 0 and 100000", n)
		}
	}
	return nil
}
