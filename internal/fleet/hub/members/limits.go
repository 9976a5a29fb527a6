package members

import (
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/load"
)

// limits decides which hubs are close to a limit. The zero value is ready, and safe for concurrent use.
type limits struct {
	mu    sync.Mutex
	watch load.Watch
}

func (l *limits) alarms() []assign.Alarm {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.watch.Alarms()
}

func (l *limits) note(hubs []string, loads map[string]fleet.HubLoad, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch.Note(hubs, loads, now)
}
