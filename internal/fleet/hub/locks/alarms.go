package locks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/coordination"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Alarms returns an alarm for each lock with holders whose lease ended without a release. It also returns an alarm for
// each lock with targets that wait for longer than AlarmAfter.
func Alarms(from *records.Table, at time.Time) []assign.Alarm {
	var all []coordination.State
	for _, l := range from.Locks.Values() {
		all = append(all, l.State)
	}
	return append(overdue(from, all, at.UnixMilli()), delayed(all, at.UnixMilli())...)
}

// delayed returns the alarms about waiting targets. The text does not change while more targets wait.
func delayed(all []coordination.State, now int64) (out []assign.Alarm) {
	for _, l := range all {
		late := l.Delayed(now)
		if len(late) == 0 {
			continue
		}
		a := assign.Alarm{Kind: assign.LockQueue, Count: len(late),
			Text: fmt.Sprintf("Targets have waited for more than %s for a slot of the lock %s. See the owners of the slots, "+
				"and the waiting targets: fettle lock list", duration.Text(l.AlarmAfter), l.Name)}
		for _, w := range late[:min(len(late), assign.MaxAlarmTargets)] {
			a.Targets = append(a.Targets, fleet.TargetID(w.Owner))
		}
		slices.Sort(a.Targets)
		out = append(out, a)
	}
	return out
}

func overdue(from *records.Table, all []coordination.State, now int64) (out []assign.Alarm) {
	for _, l := range all {
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
