package jobs

import (
	"context"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Jobs with all answers and expired jobs are removed after a while. Open jobs stay.
func TestJobsAreForgotten(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	const day = 24 * time.Hour
	q := &Queue{Config: Config{Now: func() time.Time { return now }, Keep: 7 * day, Records: &records.Table{}}}
	store := bustest.NewStore()
	q.Records.Jobs = records.NewMirror[records.Job](store, "", nil)
	ago := func(d time.Duration) int64 { return now.Add(-d).Unix() }
	for id, r := range map[string]records.Job{
		"open": {Pending: []fleet.TargetID{"a"}, Expires: ago(-day)},
		"over": {Pending: []fleet.TargetID{"a"}, Expires: ago(8 * day)},
		"late": {Pending: []fleet.TargetID{"a"}, Expires: ago(6 * day)},
		"answered": {Job: fleet.Job{At: ago(30 * day)},
			Answers: map[fleet.TargetID]records.JobAnswer{"a": {At: ago(8 * day)}}},
		"fresh": {Job: fleet.Job{At: ago(30 * day)},
			Answers: map[fleet.TargetID]records.JobAnswer{"a": {At: ago(6 * day)}}},
	} {
		r.ID = id
		if err := q.Records.Jobs.Put(t.Context(), id, r, 0); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = q.Records.Jobs.Follow(ctx) }()
	<-q.Records.Jobs.Filled()
	if err := q.Prune(ctx); err != nil {
		t.Fatal(err)
	}
	left, err := store.All(ctx)
	if err != nil || len(left) != 3 {
		t.Errorf("%d are left, %v", len(left), err)
	}
	for _, e := range left {
		if e.Key == "over" || e.Key == "answered" {
			t.Errorf("%s is still there", e.Key)
		}
	}
}
