package locks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Alarms returns an alarm for each lock with holders whose lease ended without a release.
func Alarms(from *records.Table, at time.Time) (out []assign.Alarm) {
	now := at.UnixMilli()
	for _, l := range from.Locks.Values() {
		late := slices.Concat(l.Overdue(now), l.Lost)
		if len(late) == 0 {
			continue
		}
		var names []string
		a := assign.Alarm{Kind: assign.LockOverdue, Count: len(late)}
		for _, h := range late {
			t, _, _ := from.Targets.Get(h.Owner)
			names = append(names, cmp.Or(t.Name, h.Owner))
			a.Targets = append(a.Targets, fleet.TargetID(h.Owner))
		}
		a.Targets = a.Targets[:min(len(late), assign.MaxAlarmTargets)]
		a.Text = fmt.Sprintf("The lease of the lock %[1]s ended without a release: %[2]s. Check these targets, then run: "+
			"fettle lock release %[1]s TARGET --reason WHY", l.Name, strings.Join(names[:min(len(names), shownNames)], ", "))
		out = append(out, a)
	}
	return out
}

// shownNames is the number of targets in the text of an alarm.
const shownNames = 5
