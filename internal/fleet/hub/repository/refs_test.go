package repository

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/repo"
)

// away is a store whose first writes fail.
type away struct {
	fleet.Store
	times int
}

func (s *away) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	if s.times > 0 {
		s.times--
		return 0, errors.New("it is away")
	}
	return s.Store.Update(ctx, key, value, rev)
}

// A commit that arrived while the store was unavailable is not lost, although the repository
// reports it only once.
func TestCommitWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		warned := 0
		f := New(Config{Now: time.Now, Warn: func(string) { warned++ }, Records: &records.Table{},
			Events: events.Recorder{Log: bustest.NewLog(), Now: time.Now}})
		f.Records.Refs = records.NewMirror[records.Ref](&away{bustest.NewStore(), 3}, "ref/", nil)
		rev := fleet.Revision{Repository: "site", Commit: "c0ffee"}
		f.found(t.Context(), map[string]fleet.Revision{"main": rev})
		if r, _, there := f.Records.Refs.Get(records.RefKey("main")); !there || r.Revision != rev {
			t.Errorf("the ref is %+v", r)
		}
		if warned != 3 {
			t.Errorf("%d times somebody was told", warned)
		}
	})
}

// A deleted branch of a pin does not affect the fleet's branch, and vice versa. Each error ends
// independently.
func TestRefsFailByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(Config{Now: time.Now, Warn: func(string) {}, Records: &records.Table{},
			Events: events.Recorder{Log: bustest.NewLog(), Now: time.Now}})
		settings := bustest.NewStore()
		f.Records.Refs = records.NewMirror[records.Ref](settings, "ref/", nil)
		f.Records.Repositories = records.NewMirror[records.Repository](settings, "repository/", nil)
		site := records.Repository{Name: "site", Branch: "main"}
		if err := f.Records.Repositories.Put(t.Context(), sourceKey, site, 0); err != nil {
			t.Fatal(err)
		}
		f.Records.Targets = records.NewMirror[fleet.Target](bustest.NewStore(), "", nil)
		f.Records.Replacements = records.NewMirror[assign.Replacement](bustest.NewStore(), "", nil)
		f.Records.Environments = records.NewMirror[assign.Environment](bustest.NewStore(), "", nil)
		for id, ref := range map[string]string{"a": "fix", "b": "next"} {
			target := fleet.Target{ID: fleet.TargetID(id), Standing: fleet.Active, Pin: &fleet.Pin{Ref: ref}}
			if err := f.Records.Targets.Put(t.Context(), id, target, 0); err != nil {
				t.Fatal(err)
			}
		}
		gone := func(ref string) error { return &repo.RefError{Ref: ref, Err: errors.New("no " + ref)} }
		away := fmt.Errorf("the server is away: %w: %w", errors.New("one"), errors.New("two"))
		rev := fleet.Revision{Repository: "site", Commit: "c0ffee"}
		is := func(what string, main, fix, next string) {
			t.Helper()
			for name, want := range map[string]string{"main": main, "fix": fix, "next": next} {
				if r, _, _ := f.Records.Refs.Get(records.RefKey(name)); r.Error != want {
					t.Errorf("%s: %s has the error %q, want %q", what, name, r.Error, want)
				}
			}
		}
		f.found(t.Context(), map[string]fleet.Revision{"main": rev, "fix": rev, "next": rev})
		f.unread(t.Context(), errors.Join(gone("fix")))
		is("a pin's branch is deleted", "", "no fix", "")
		f.found(t.Context(), map[string]fleet.Revision{"main": {Commit: "beef"}, "fix": rev, "next": rev})
		f.unread(t.Context(), errors.Join(errors.Join(gone("fix"), gone("next")), nil))
		is("and another", "", "no fix", "no next")
		f.unread(t.Context(), away)
		is("nothing answers", away.Error(), "no fix", "no next")
		f.unread(t.Context(), errors.Join(gone("main"), gone("next")))
		is("the branch is deleted, and a pin's is back", "no main", "", "no next")
		f.unread(t.Context(), nil)
		is("all is well", "", "", "")
	})
}
