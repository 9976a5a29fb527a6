package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
)

// TestJobsOfOrganizations: an organization sees jobs on its targets, only these targets, and only jobs since a target
// is in it. It cancels only its own jobs. A target that was moved out of the organization of a job does not get the
// job.
func TestJobsOfOrganizations(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	q := &Queue{Config: Config{Now: func() time.Time { return now }, Records: &records.Table{},
		IsCloned: func(id fleet.TargetID) bool { return id == "cloned" }}}
	q.Records.Jobs = records.NewMirror[records.Job](bustest.NewStore(), "", nil)
	q.Records.Targets = records.NewMirror[fleet.Target](bustest.NewStore(), "", nil)
	for id, target := range map[string]fleet.Target{"a": {Organization: "acme"}, "s": {Organization: "acme/search"},
		"b": {Organization: "acme2"}, "f": {}, "cloned": {Organization: "acme"},
		"m": {Organization: "acme", Moved: now.Add(-time.Hour).UnixNano()}} {
		target.ID, target.Name = fleet.TargetID(id), id
		if err := q.Records.Targets.Put(t.Context(), id, target, 0); err != nil {
			t.Fatal(err)
		}
	}
	at := now.Unix()
	job := func(of fleet.Organization, at int64, pending ...fleet.TargetID) records.Job {
		return records.Job{Job: fleet.Job{At: at, What: "report"}, Organization: of, Pending: pending, Expires: at + 9999}
	}
	task := job("", at, "a")
	task.Task = &fleet.TaskAttempt{}
	for id, r := range map[string]records.Job{"all": job("", at, "a", "b", "f"), "own": job("acme", at, "a", "b"),
		"other": job("acme2", at, "b"), "fleet": job("", at, "f"), "early": job("", at-7200, "m"),
		"late": job("", at, "m"), "task": task, "gone": job("", at, "x")} {
		r.ID = id
		if err := q.Records.Jobs.Put(t.Context(), id, r, 0); err != nil {
			t.Fatal(err)
		}
	}
	follow, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = q.Records.Jobs.Follow(follow) }()
	go func() { _ = q.Records.Targets.Follow(follow) }()
	<-q.Records.Jobs.Filled()
	<-q.Records.Targets.Filled()
	ctx := fleet.WithOrganization(t.Context(), "acme")
	page, err := q.Jobs(ctx, route.Page{})
	if err != nil || page.Total != 3 || len(page.Jobs) != 3 {
		t.Fatalf("%+v, %v", page, err)
	}
	for id, want := range map[string]string{"all": "a", "own": "a", "late": "m", "other": "", "fleet": "", "early": "",
		"task": "", "gone": ""} {
		d, err := q.Job(ctx, route.JobID{Job: id})
		if got := len(d.Targets); want == "" && err == nil || want != "" && (err != nil || got != 1 ||
			d.Targets[0].Name != want) {
			t.Errorf("%s: %+v, %v", id, d, err)
		}
	}
	for id, status := range map[string]int{"all": 403, "late": 403, "other": 404, "fleet": 404, "task": 404,
		"never": 404} {
		var refused *api.Refusal
		r, _, _ := q.Records.Jobs.Get(id)
		r.ID = id
		if err := q.mayCancel(ctx, "ann", r); !errors.As(err, &refused) || refused.Status != status {
			t.Errorf("cancel %s: %v", id, err)
		}
	}
	own, _, _ := q.Records.Jobs.Get("own")
	all, _, _ := q.Records.Jobs.Get("all")
	if err := q.mayCancel(ctx, "ann", own); err != nil {
		t.Error(err)
	}
	for id, skips := range map[fleet.TargetID]bool{"a": false, "s": false, "b": true, "f": true, "x": true,
		"cloned": true} {
		if q.skips(own, id) != skips || q.skips(all, id) != (id == "cloned") {
			t.Errorf("%s: %v, and a job of the fleet %v", id, q.skips(own, id), q.skips(all, id))
		}
	}
}
