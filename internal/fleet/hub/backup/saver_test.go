package backup_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
)

var ann = api.Caller{Principal: access.NewPrincipal("ann", "token", access.Admins)}

// TestSaveState: the state has all entries of the buckets without another copy, and no other bucket.
func TestSaveState(t *testing.T) {
	w := newWorld(t, false)
	for _, name := range records.Names() {
		w.put(name, "a", "first "+name)
		w.put(name, "b/c", "second "+name)
	}
	s, err := w.SaveState(t.Context(), ann, document.ReasonRequest{})
	if err != nil || s.Format != document.HubStateFormat || s.Fleet != "acme" || s.Hub != "hub1" ||
		s.At != w.now.UnixNano() {
		t.Errorf("%+v, %v", s, err)
	}
	for _, name := range records.Names() {
		saved := slices.Contains(records.Saved(), name)
		got, has := s.Buckets[name]
		if has != saved || saved && (len(got) != 2 || got["a"] != "first "+name || got["b/c"] != "second "+name) {
			t.Errorf("%s: %v, want a bucket: %t", name, got, saved)
		}
	}
}

// TestSaveStateErrors: without all entries there is no state. The error has no value of an entry.
func TestSaveStateErrors(t *testing.T) {
	w := newWorld(t, false)
	w.put("people", "ann", "secret\xff")
	_, err := w.SaveState(t.Context(), ann, document.ReasonRequest{})
	wantError(t, err, "the entry ann of the bucket people", "not UTF-8")
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Errorf("a value in an error: %v", err)
	}
	w = newWorld(t, false)
	broken := errors.New("no quorum")
	w.stores["targets"].Break(broken)
	if _, err := w.SaveState(t.Context(), ann, document.ReasonRequest{}); !errors.Is(err, broken) {
		t.Errorf("a store that cannot be read: %v", err)
	}
}

// TestAge: without a backup, the age is fleet.ErrNotFound. The last backup that was stored counts.
func TestAge(t *testing.T) {
	w := newWorld(t, false)
	if _, err := w.Age(t.Context()); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("without a backup: %v", err)
	}
	for _, ago := range []time.Duration{time.Hour, 0} {
		stored := document.BackupSaved{At: w.now.Add(-ago).UnixNano()}
		if err := w.BackupSaved(t.Context(), ann, route.None{}, stored); err != nil {
			t.Fatal(err)
		}
		if got, err := w.Age(t.Context()); err != nil || got != ago {
			t.Errorf("%s, %v; want %s", got, err, ago)
		}
	}
	var e fleet.HubEvent
	all := w.log.Records()
	if len(all) != 2 || json.Unmarshal(all[0], &e) != nil || e.Kind != fleet.BackupMade || e.By != "ann" {
		t.Errorf("events: %s", all)
	}
}

// TestRefusedTimes: a backup with an impossible time is not recorded.
func TestRefusedTimes(t *testing.T) {
	w := newWorld(t, false)
	for _, at := range []int64{-1, 0, w.now.UnixNano() + 1} {
		var r *api.Refusal
		err := w.BackupSaved(t.Context(), ann, route.None{}, document.BackupSaved{At: at})
		if !errors.As(err, &r) || r.Status != api.BadRequest || r.Hint == "" {
			t.Errorf("the time %d: %v", at, err)
		}
	}
	if _, err := w.Age(t.Context()); !errors.Is(err, fleet.ErrNotFound) || len(w.log.Records()) > 0 {
		t.Errorf("recorded after a refusal: %v, %s", err, w.log.Records())
	}
	if err := w.BackupSaved(t.Context(), ann, route.None{}, document.BackupSaved{At: 1}); err != nil {
		t.Errorf("the first possible time: %v", err)
	}
}

// TestBackupIsNotRecorded: a store or a log that fails is an error.
func TestBackupIsNotRecorded(t *testing.T) {
	w := newWorld(t, false)
	broken := errors.New("no quorum")
	w.stores["settings"].Break(broken)
	if err := w.BackupSaved(t.Context(), ann, route.None{}, document.BackupSaved{At: 1}); !errors.Is(err, broken) {
		t.Errorf("a store that fails: %v", err)
	}
	if _, err := w.Age(t.Context()); !errors.Is(err, broken) {
		t.Errorf("the age from a store that fails: %v", err)
	}
	w.stores["settings"].Break(nil)
	w.log.Break(broken)
	if err := w.BackupSaved(t.Context(), ann, route.None{}, document.BackupSaved{At: 1}); !errors.Is(err, broken) {
		t.Errorf("a log that fails: %v", err)
	}
}
