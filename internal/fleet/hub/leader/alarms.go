package leader

import (
	"context"
	"reflect"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// alarms stores the alarms of the last computation for the other hubs. It is used by one term.
type alarms struct {
	Config
	// newest contains only the newest alarms to store, so that assigning does not wait for the
	// write.
	newest chan []assign.Alarm
}

func newAlarms(c Config) alarms { return alarms{Config: c, newest: make(chan []assign.Alarm, 1)} }

// offer replaces the alarms that wait to be stored.
func (a *alarms) offer(list []assign.Alarm) {
	select {
	case <-a.newest:
	default:
	}
	a.newest <- list // never blocks: only one goroutine offers
}

// follow stores the alarms from offer until ctx ends.
func (a *alarms) follow(ctx context.Context, keep func(context.Context, []assign.Alarm)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case list := <-a.newest:
			keep(ctx, list)
		}
	}
}

// raise records an event for each new alarm, and stores all alarms for the other hubs and the next
// leader.
func (a *alarms) raise(ctx context.Context, list []assign.Alarm) {
	list = list[:min(len(list), maxAlarms)]
	was, rev, _ := a.Records.Alarms.Get(records.AlarmsKey)
	for _, one := range list {
		if !slices.ContainsFunc(was, func(b assign.Alarm) bool { return one.Kind == b.Kind && one.Text == b.Text }) {
			a.Events.Note(ctx, fleet.HubEvent{Kind: alarmKind(one.Kind), Module: one.Module,
				Text: string(one.Kind), Error: one.Text})
		}
	}
	if reflect.DeepEqual(was, list) || len(was)+len(list) == 0 {
		return
	}
	if err := a.Records.Alarms.Put(ctx, records.AlarmsKey, list, rev); err != nil && ctx.Err() == nil {
		a.Warn("cannot store the alarms: " + err.Error())
	}
}

// maxAlarms limits the number of alarms.
const maxAlarms = 300

// alarmKind returns the kind of the event for an alarm.
func alarmKind(k assign.AlarmKind) fleet.HubEventKind {
	if k == assign.Unreadable || k == assign.Unresolved {
		return fleet.RepositoryUnreadable
	}
	return fleet.AssignmentBlocked
}
