package members

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

const (
	// redundancyEvery is the time between two checks whether all hubs have a complete copy of the
	// data. A copy must be missing for redundancyAfter before this is an alarm: a hub that restarts
	// needs some time.
	redundancyEvery = 5 * time.Second
	redundancyAfter = 15 * time.Second
)

// redundancy is the last result of this check. The zero value is ready.
type redundancy struct {
	mu    sync.Mutex
	lost  string // the missing copies, or ""
	since time.Time
	spare int
}

// saw stores a result.
func (r *redundancy) saw(p document.HubPage, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lost := LostRedundancy(p)
	if r.lost == "" {
		r.since = now
	}
	r.lost, r.spare = lost, p.ToleratedFailures
}

// now returns the copies that are missing for redundancyAfter, and how many more hubs may fail.
func (r *redundancy) now(now time.Time) (lost string, spare int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) < redundancyAfter {
		return "", r.spare
	}
	return r.lost, r.spare
}

// LostRedundancy describes the missing hubs and copies with their consequence, or returns "". A hub
// that is alone has no copies to lose.
func LostRedundancy(p document.HubPage) string {
	if p.Nats || len(p.Hubs) < 2 {
		return ""
	}
	var missing []string
	for _, h := range p.Hubs {
		switch {
		case !h.Reachable:
			missing = append(missing, h.Name+" is not connected")
		case !h.Current:
			missing = append(missing, h.Name+" does not have all data")
		}
	}
	switch {
	case len(missing) == 0 && p.Complete:
		return ""
	case len(missing) == 0:
		missing = []string{"some data has fewer copies than configured"}
	}
	return strings.Join(missing, ", ") + ". " + worksWithout(p)
}

// worksWithout describes the abilities of a fleet while hubs are missing.
func worksWithout(p document.HubPage) string {
	here := 0
	for _, h := range p.Hubs {
		if h.Reachable {
			here++
		}
	}
	const agents = "nothing can be changed, and agents continue with their assignments"
	switch {
	case 2*here <= len(p.Hubs):
		return "Until more hubs are back, " + agents
	case p.ToleratedFailures == 1:
		return "Everything works, also if one more hub fails"
	case p.ToleratedFailures > 1:
		return fmt.Sprintf("Everything works, also if %d more hubs fail", p.ToleratedFailures)
	}
	return "Everything works. If another hub fails, " + agents
}
