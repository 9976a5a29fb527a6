package hub

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
)

const (
	// redundancyEvery is how often a hub looks whether everything is on as many hubs as it is
	// to be, and redundancyAfter how long it has to be missing until it is an alarm: a hub that
	// is started again needs a moment.
	redundancyEvery = 5 * time.Second
	redundancyAfter = 15 * time.Second
)

// redundancy is what a hub of several saw last. The zero value is ready.
type redundancy struct {
	mu    sync.Mutex
	lost  string // what is missing, "" for nothing
	since time.Time
	spare int
}

// saw takes what was seen.
func (r *redundancy) saw(p document.HubPage, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lost := lostRedundancy(p)
	if r.lost == "" {
		r.since = now
	}
	r.lost, r.spare = lost, p.Spare
}

// now gives what is missing for longer than a moment, and how many hubs may be lost.
func (r *redundancy) now(now time.Time) (lost string, spare int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) < redundancyAfter {
		return "", r.spare
	}
	return r.lost, r.spare
}

// lostRedundancy says which hubs are missing for everything to be on as many hubs as it is
// to be, and what that means; "" for none. A hub alone has no others to lose.
func lostRedundancy(p document.HubPage) string {
	if p.Nats || len(p.Hubs) < 2 {
		return ""
	}
	var missing []string
	for _, h := range p.Hubs {
		switch {
		case !h.Here:
			missing = append(missing, h.Name+" is away")
		case !h.Current:
			missing = append(missing, h.Name+" does not have everything")
		}
	}
	switch {
	case len(missing) == 0 && p.Complete:
		return ""
	case len(missing) == 0:
		missing = []string{"not everything is on as many hubs as it is to be"}
	}
	return strings.Join(missing, ", ") + ". " + worksWithout(p)
}

// worksWithout says what a fleet can do while hubs are missing.
func worksWithout(p document.HubPage) string {
	here := 0
	for _, h := range p.Hubs {
		if h.Here {
			here++
		}
	}
	const agents = "nothing can be changed, and agents continue with their assignments"
	switch {
	case 2*here <= len(p.Hubs):
		return "Until more hubs are back, " + agents
	case p.Spare == 1:
		return "Everything works, also if one more hub fails"
	case p.Spare > 1:
		return fmt.Sprintf("Everything works, also if %d more hubs fail", p.Spare)
	}
	return "Everything works. If another hub fails, " + agents
}

// followRedundancy keeps what is known of it.
func (h *Hub) followRedundancy(ctx context.Context) error {
	if h.peers == nil || h.isForeign() {
		return nil
	}
	for {
		if p, err := h.Hubs(ctx); err == nil {
			h.redundancy.saw(p, h.now())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(redundancyEvery):
		}
	}
}

// redundancyAlarms are what this hub adds to the alarms of the leader: each hub sees by
// itself, so that it is seen also while nobody leads.
func (h *Hub) redundancyAlarms() []assign.Alarm {
	if lost, _ := h.redundancy.now(h.now()); lost != "" {
		return []assign.Alarm{{Kind: assign.Redundancy, Text: lost}}
	}
	return nil
}

func (h *Hub) checkHubs(ctx context.Context, f *findings) {
	p, err := h.Hubs(ctx)
	if err != nil {
		f.say("hubs", false, h.mostHint(), "%v", err)
		return
	}
	for _, l := range p.Lost {
		f.say("hubs", false, "fettle hub retire "+l.Name, "%s is lost, and its keys are still trusted", l.Name)
	}
	if len(p.Hubs) < 2 {
		return
	}
	if lost := lostRedundancy(p); lost != "" {
		f.say("hubs", false, "Start them, or retire those that are gone for good: fettle hub list", "%s", lost)
		return
	}
	f.say("hubs", true, "", "all %d are here and have everything", len(p.Hubs))
}
