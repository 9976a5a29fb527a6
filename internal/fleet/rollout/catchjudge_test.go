package rollout_test

import (
	"slices"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// behind is a host that got stable content without a rollout, and has no result yet.
type behind struct {
	at    int64 // 0: none
	isNew bool
	lane  string
}

// gets notes that a host gets stable content.
func (f *fleet) gets(h *host, lane string) {
	exempt := false
	for _, e := range f.log {
		if e.Kind == rollout.CatchesUp && slices.Contains(e.Targets, h.id) {
			exempt = e.Lost
		}
	}
	if !exempt {
		h.behind = behind{f.now, h.fresh, lane}
	}
}

// givesUp checks the hosts that take no place any more because they have no contact.
func (f *fleet) givesUp(e rollout.Event) {
	if e.Why != "have no contact" {
		return
	}
	for _, id := range e.Targets {
		h := f.hosts[id]
		if h == nil || h.online {
			f.tell("%s has contact, and does not catch up any more", id)
			continue
		}
		h.behind = behind{}
	}
}

// isBehind reports whether a host still takes a place.
func (f *fleet) isBehind(h *host) bool {
	s := f.strategy
	return h.behind.at > 0 && f.now-h.behind.at < s.ProgressDeadline && h.health != rollout.Healthy &&
		h.health != rollout.Broken && (h.online || f.now-max(h.contact, f.up, h.behind.at) < s.SilentAfter)
}

// admitted checks that not too many hosts catch up at the same time, or within a minute.
func (f *fleet) admitted(log []rollout.Event, e rollout.Event) {
	if e.Lost {
		f.exempt(log, e)
		return
	}
	size, busy, recent := 0, len(e.Targets), len(e.Targets)
	for _, h := range f.hosts {
		if f.target(h).Lane != e.Lane {
			continue // it moved to another branch, and gave its place back
		}
		size++
		if h.behind.lane == e.Lane && h.behind.isNew == e.New && f.isBehind(h) && !slices.Contains(e.Targets, h.id) {
			busy++
		}
	}
	for _, p := range log {
		if p.Kind == rollout.CatchesUp && !p.Lost && p.Lane == e.Lane && f.now-p.At < 60 {
			recent += len(p.Targets)
		}
	}
	most := f.strategy.Waves[len(f.strategy.Waves)-1].MaxUnavailable
	if busy > max(1, size*most.Number/100) {
		f.tell("%d of %d hosts of %s catch up at the same time", busy, size, e.Lane)
	}
	if f.strategy.Rate > 0 && recent > f.strategy.Rate {
		f.tell("%d hosts of %s begin to catch up within a minute", recent, e.Lane)
	}
	for _, id := range e.Targets {
		if h := f.hosts[id]; !h.online || h.hold != "" || f.resync {
			f.tell("%s catches up, and cannot be changed", id)
		}
	}
}

// exempt checks hosts that take no place: they have failed, have content that was not complete, or are late.
func (f *fleet) exempt(log []rollout.Event, e rollout.Event) {
	for _, id := range e.Targets {
		h := f.hosts[id]
		ok := h.health == rollout.Broken
		for _, p := range log {
			ok = ok || p.Kind == rollout.CatchesUp && slices.Contains(p.Targets, id) && f.now-p.At >= f.strategy.ProgressDeadline
			for part, digest := range h.parts {
				ok = ok || p.Created != nil && slices.Contains(p.Created.Changes, rollout.Change{Part: part, Digest: digest})
			}
		}
		if !ok {
			f.tell("%s takes no place", id)
		}
	}
}
