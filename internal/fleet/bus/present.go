package bus

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// presentSubject is under which hubs tell each other who is connected to them. Agents have
// no right on it.
const presentSubject = "hubs.present."

// presentFor is after how many tellings that did not come a hub is taken for gone.
const presentFor = 4

// present is who is connected to other hubs, as they told last. It belongs to one goroutine.
type present struct {
	of map[string]telling // by hub
}

// telling is what one hub told.
type telling struct {
	ids []fleet.TargetID
	at  time.Time
}

// all are those who are connected to any other hub; hubs that were not heard of since are
// forgotten.
func (p *present) all(since time.Time) map[fleet.TargetID]bool {
	out := map[fleet.TargetID]bool{}
	for hub, t := range p.of {
		if t.at.Before(since) {
			delete(p.of, hub)
			continue
		}
		for _, id := range t.ids {
			out[id] = true
		}
	}
	return out
}

// Elsewhere tells the other hubs who is connected to this one, and tells each who is
// connected to any of them: once when somebody comes or goes, and again with every
// telling of those who are, until ctx ends.
func (x *Exchange) Elsewhere(ctx context.Context, every time.Duration, each func(id fleet.TargetID, here bool)) error {
	if x.relay != nil {
		return x.relay.elsewhere(ctx, every, each)
	}
	heard := make(chan Message, 64)
	err := x.carrier.Receive(presentSubject+"*", "", func(m Message) {
		select {
		case heard <- m:
		default: // it is told again
		}
	})
	if err != nil {
		return err
	}
	p := &present{of: map[string]telling{}}
	known := map[fleet.TargetID]bool{}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-heard:
			hub := strings.TrimPrefix(m.Subject, presentSubject)
			var ids []fleet.TargetID
			if hub == x.self || json.Unmarshal(m.Body, &ids) != nil {
				continue
			}
			p.of[hub] = telling{ids, time.Now()}
		case <-tick.C:
			if text, err := json.Marshal(x.Connected()); err == nil {
				_ = x.carrier.Send(presentSubject+x.self, "", text) // it is told again
			}
		}
		now := p.all(time.Now().Add(-presentFor * every))
		for _, id := range slices.Sorted(maps.Keys(now)) {
			each(id, true)
		}
		for _, id := range slices.Sorted(maps.Keys(known)) {
			if !now[id] {
				each(id, false)
			}
		}
		known = now
	}
}
