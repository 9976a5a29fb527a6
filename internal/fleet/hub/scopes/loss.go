package scopes

import (
	"context"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// NoteLoss stores that a target proved a loss of data: an assignment that was issued at a time is missing. Then tasks
// that are not done or failed become unknown. The loss is not stored if a later restoration or loss is known, because
// another target proved the same loss. NoteLoss may be repeated.
func NoteLoss(ctx context.Context, all *records.Table, to events.Recorder, id fleet.TargetID, issued time.Time) error {
	known, rev, _ := all.Restorations.Get(records.LossKey)
	if e, _, _ := all.Epochs.Get(records.EpochKey); issued.UnixMilli() <= max(known.At, e.Restored*1000) {
		return nil
	}
	at := max(to.Now().UnixMilli(), issued.UnixMilli()) // the clock of the hub that issued it can be ahead
	if err := all.Restorations.Put(ctx, records.LossKey, records.Restoration{At: at}, rev); err != nil {
		return fmt.Errorf("cannot store that the hubs lost data: %w", err)
	}
	to.Note(context.WithoutCancel(ctx), fleet.HubEvent{Kind: fleet.TaskChanged, Target: id,
		Text: "the hubs lost data: a target has an assignment that they lack. Tasks that are not done or failed are unknown"})
	return nil
}
