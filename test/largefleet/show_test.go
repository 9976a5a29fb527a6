package largefleet

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/rollouts"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// all returns the rollouts as a hub shows them, the newest first.
func (f *simFleet) all() []document.Rollout {
	for _, h := range f.hubs {
		if h.process.usable() != nil {
			continue
		}
		s := rollouts.Service{Log: h.log, Now: h.now, Targets: f.watch.Targets}
		all, err := s.Rollouts(context.Background())
		if err != nil {
			f.t.Error(err)
		}
		return all
	}
	return nil
}

// newest returns the newest rollout.
func (f *simFleet) newest() (r document.Rollout) {
	if all := f.all(); len(all) > 0 {
		return all[0]
	}
	return r
}

// rollouts describes the newest rollouts.
func (f *simFleet) rollouts() (text string) {
	all := f.all()
	for _, r := range all[:min(len(all), 4)] {
		text += fmt.Sprintf("rollout %s: %s, wave %d, %v, held %v, %s %s\n", r.ID, r.Phase, r.Wave, r.Targets, r.Held,
			r.Why, r.Waits)
	}
	return text
}

// command orders something about the newest rollout.
func (f *simFleet) command(a rollout.Action) {
	f.t.Helper()
	h := f.leads()
	if h == nil {
		f.t.Error("no hub leads")
		return
	}
	c := rollout.Command{Action: a, Rollout: f.newest().ID, By: "ann"}
	_, err := h.log.Order(context.Background(), c, h.now().Unix())
	if err != nil {
		f.t.Error(err)
	}
}
