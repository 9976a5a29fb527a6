package leader

import (
	"context"
	"sync"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/window"
)

// sight is the state of all targets for one computation. The read model is read when the state is first needed.
type sight struct {
	changed <-chan struct{} // closed when the state is no longer current
	targets func() (map[fleet.TargetID]document.Target, error)
}

func (c Config) see(ctx context.Context) sight {
	changed := c.Observed()
	return sight{changed, sync.OnceValues(func() (map[fleet.TargetID]document.Target, error) { return c.Observe(ctx) })}
}

// zones returns the time zones of targets if a window needs them.
func (s sight) zones(in assign.Input) (map[fleet.TargetID]string, error) {
	if !anyLocal(in.Revisions) {
		return nil, nil
	}
	targets, err := s.targets()
	if err != nil {
		return nil, err
	}
	out := make(map[fleet.TargetID]string, len(targets))
	for id, t := range targets {
		if t.Zone != "" {
			out[id] = t.Zone
		}
	}
	return out, nil
}

// anyLocal reports whether a target has a window with the time zone of the target.
func anyLocal(revisions map[string]assign.Contents) bool {
	for _, c := range revisions {
		for _, conf := range c.Targets {
			if window.IsLocal(conf.Windows) {
				return true
			}
		}
	}
	return false
}
