package rollouts

import (
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/window"
)

// openFor returns World.OpenFor for the windows of targets.
func openFor(all []assign.Desired) func(id fleet.TargetID, from, to, enough int64) int64 {
	windows := map[fleet.TargetID][]window.Window{}
	for _, d := range all {
		if d.Want != nil && len(d.Want.Windows) > 0 {
			windows[d.Target.ID] = d.Want.Windows
		}
	}
	if len(windows) == 0 {
		return nil
	}
	return func(id fleet.TargetID, from, to, enough int64) int64 {
		set, err := window.Compile(windows[id])
		if err != nil || from >= to {
			return 0 // the windows are never open
		}
		return int64(set.OpenFor(time.Unix(from, 0), time.Unix(to, 0), time.Duration(enough)*time.Second) / time.Second)
	}
}
