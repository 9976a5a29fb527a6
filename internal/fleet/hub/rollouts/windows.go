package rollouts

import (
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/window"
)

// span is a question to OpenFor. Targets share their lists of windows.
type span struct {
	first            *window.Window
	zone             string
	from, to, enough int64
}

// openFor returns World.OpenFor for the windows of targets. Windows with the zone of a target whose zone is unknown
// are in UTC, see assign.
func (f Fleet) openFor(all []assign.Desired) func(id fleet.TargetID, from, to, enough int64) int64 {
	windows := map[fleet.TargetID][]window.Window{}
	for _, d := range all {
		if d.Want != nil && len(d.Want.Windows) > 0 {
			windows[d.Target.ID] = d.Want.Windows
		}
	}
	if len(windows) == 0 {
		return nil
	}
	known := map[span]int64{}
	return func(id fleet.TargetID, from, to, enough int64) int64 {
		if len(windows[id]) == 0 {
			return to - from
		}
		zone := ""
		if window.IsLocal(windows[id]) {
			zone = f.Targets[id].Zone
		}
		key := span{&windows[id][0], zone, from, to, enough}
		if sum, ok := known[key]; ok {
			return sum
		}
		set, err := window.Compile(windows[id], zone)
		if err == nil { // otherwise the windows are never open
			sum := set.OpenFor(time.Unix(from, 0), time.Unix(to, 0), time.Duration(enough)*time.Second)
			known[key] = int64(sum / time.Second)
		}
		return known[key]
	}
}
