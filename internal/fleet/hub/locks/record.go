package locks

import (
	"context"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination"
	"fettle.dev/fettle/internal/fleet/hub/events"
)

// record records the changes of a lock in the log of the fleet. A renewal and a wait are not events.
func record(ctx context.Context, to events.Recorder, l coordination.State, a coordination.Answer, by order) {
	for _, c := range a.Changes {
		if c.Kind == coordination.Renewed || c.Kind == coordination.Waits {
			continue
		}
		e := fleet.HubEvent{Kind: fleet.LockChanged, Text: describe(l, c)}
		if id, err := fleet.ParseTargetID(c.Holder.Owner); err == nil {
			e.Target = id
		}
		if c.Kind == coordination.Released && by.by != "" {
			e.By = by.by
			e.Text = fmt.Sprintf("lock %s: the slot was released by order of a user: %s", l.Name, by.why)
		} else if c.Kind == coordination.Released && by.why != "" {
			e.Text = fmt.Sprintf("lock %s: the slot is free: %s", l.Name, by.why)
		}
		to.Note(context.WithoutCancel(ctx), e)
	}
}

// order is the command of a user that caused a change, or without a user the reason of the hub; the zero value means
// that the owner caused the change.
type order struct{ by, why string }

// describe returns the text of an event.
func describe(l coordination.State, c coordination.Change) string {
	taken := fmt.Sprintf("%d of %d slots are taken", len(l.Holders), l.Slots)
	switch c.Kind {
	case coordination.Defined:
		return fmt.Sprintf("lock %s: declared with %s and a lease of %s", l.Name, slots(l.Slots),
			duration.Text(l.Lease))
	case coordination.Removed:
		return fmt.Sprintf("lock %s: no longer declared", l.Name)
	case coordination.Acquired:
		return fmt.Sprintf("lock %s: slot acquired, until %s; %s", l.Name, moment(c.Holder.Expires), taken)
	case coordination.Released:
		return fmt.Sprintf("lock %s: slot released; %s", l.Name, taken)
	case coordination.Overdue:
		return fmt.Sprintf("lock %s: the lease ended at %s without a release; the slot stays taken", l.Name,
			moment(c.Holder.Expires))
	}
	return fmt.Sprintf("lock %s: the lease ended at %s without a release; the slot is free", l.Name,
		moment(c.Holder.Expires))
}

func slots(n int) string {
	if n == 1 {
		return "1 slot"
	}
	return fmt.Sprint(n, " slots")
}

func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
