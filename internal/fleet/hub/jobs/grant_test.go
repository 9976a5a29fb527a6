package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// TestJobsOfGrants: a target gets the job of a user with grants only while a grant contains it. If the target leaves
// the selection, the grant ends, or the user is locked or unknown, it does not get the job. Jobs of users with roles
// are not limited. A user with grants sees jobs on the targets, and cancels only own jobs.
func TestJobsOfGrants(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	people := records.NewLastKnown(bustest.NewStore(), func() error { return nil })
	q := &Queue{Config: Config{Now: func() time.Time { return now }, Records: &records.Table{Users: people},
		IsCloned: func(fleet.TargetID) bool { return false }}}
	q.Records.Targets = records.NewMirror[fleet.Target](bustest.NewStore(), "", nil)
	follow, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = q.Records.Targets.Follow(follow) }()
	go func() { _ = people.Follow(follow) }()
	<-q.Records.Targets.Filled()
	<-people.Filled()
	put := func(env string) {
		t.Helper()
		web := fleet.Target{ID: "a", Name: "web", Labels: map[string]string{"env": env}}
		_, rev, _ := q.Records.Targets.Get("a")
		if err := q.Records.Targets.Put(t.Context(), "a", web, rev); err != nil {
			t.Fatal(err)
		}
		await(t, func() bool {
			got, _, _ := q.Records.Targets.Get("a")
			return got.Labels["env"] == env
		})
	}
	prod := access.Grant{Role: access.Operator, TargetFilter: fleet.TargetFilter{Labels: map[string]string{"env": "prod"}}}
	user := func(u access.User) {
		t.Helper()
		u.Name = "ann"
		text, err := json.Marshal(u)
		if err == nil {
			_, err = people.Store.Put(t.Context(), access.UserKey("ann"), text)
		}
		if err != nil {
			t.Fatal(err)
		}
		await(t, func() bool {
			got, _ := people.Value(access.UserKey("ann"))
			return string(got) == string(text)
		})
	}
	granted := records.Job{Job: fleet.Job{ID: "j", By: "ann"}, Granted: true, Pending: []fleet.TargetID{"a"}}
	expect := func(what string, skips bool) {
		t.Helper()
		if q.skips(granted, "a") != skips {
			t.Errorf("%s: skips is %v", what, !skips)
		}
	}
	put("prod")
	expect("an unknown user", true)
	user(access.User{Grants: []access.Grant{prod}})
	expect("a grant", false)
	if !q.skips(granted, "b") {
		t.Error("an unknown target gets the job")
	}
	put("dev")
	expect("a target that left the selection", true)
	put("prod")
	expect("a target that returned", false)
	user(access.User{})
	expect("a grant that ended", true)
	user(access.User{Roles: []access.Role{access.Operator}})
	expect("a role instead of the grant", false)
	user(access.User{Grants: []access.Grant{prod}, Locked: true})
	expect("a locked user", true)
	if plain := (records.Job{Job: granted.Job, Pending: granted.Pending}); q.skips(plain, "a") {
		t.Error("the job of a user with a role is limited")
	}
	inside := fleet.WithBoundary(t.Context(), fleet.Boundary{Limited: true,
		Parts: []fleet.TargetFilter{prod.TargetFilter}})
	outside := fleet.WithBoundary(t.Context(), fleet.Boundary{Limited: true})
	var refused *api.Refusal
	if err := q.mayCancel(inside, "ann", granted); err != nil {
		t.Errorf("the own job: %v", err)
	}
	if err := q.mayCancel(inside, "bob", granted); !errors.As(err, &refused) || refused.Status != 403 {
		t.Errorf("the job of another user: %v", err)
	}
	if err := q.mayCancel(outside, "ann", granted); !errors.As(err, &refused) || refused.Status != api.NotFound {
		t.Errorf("a job on other targets: %v", err)
	}
}

// TestWhichJobsAreGranted: the job of a user with the right for some targets is limited to grants.
func TestWhichJobsAreGranted(t *testing.T) {
	for what, c := range map[string]struct {
		by      access.Principal
		granted bool
	}{
		"a role": {access.NewPrincipal("ann", "test", access.Operator), false},
		"a grant": {access.NewPrincipal("ann", "test").WithGrants(access.Grant{Role: access.Operator,
			TargetFilter: fleet.TargetFilter{Organization: "acme"}}), true},
		"the hub": {access.NewPrincipal("hub1", "hub"), false},
	} {
		if r := newRecord(c.by, document.JobRequest{What: fleet.JobApply}, nil, time.Now()); r.Granted != c.granted {
			t.Errorf("%s: %+v", what, r)
		}
	}
}

func await(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(end) {
			t.Fatal("a record never arrived")
		}
		time.Sleep(time.Millisecond)
	}
}
