package waits

import (
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Alarms returns an alarm for each barrier whose AlarmAfter is over for waiting members. The text does not change while
// more members arrive.
func Alarms(from *records.Table, at time.Time) (out []assign.Alarm) {
	for _, b := range from.Barriers.Values() {
		late := b.State.Delayed(at.UnixMilli())
		if len(late) == 0 {
			continue
		}
		a := assign.Alarm{Kind: assign.BarrierClosed, Count: len(late),
			Text: fmt.Sprintf("Targets have waited for more than %s at the barrier %s. See the missing members: "+
				"fettle barrier list", duration.Text(b.State.AlarmAfter), b.State.Name)}
		for _, x := range late[:min(len(late), assign.MaxAlarmTargets)] {
			a.Targets = append(a.Targets, fleet.TargetID(x.Target))
		}
		slices.Sort(a.Targets)
		out = append(out, a)
	}
	return out
}
