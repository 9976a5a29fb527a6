package hub

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/pki"
)

// Jobs with all answers and expired jobs are removed after a while. Open jobs stay.
func TestJobsAreForgotten(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	h := &Hub{conf: Config{Now: func() time.Time { return now }}}
	h.jobs = newMirror[Job](bustest.NewStore(), "", nil)
	ago := func(d time.Duration) int64 { return now.Add(-d).Unix() }
	for id, r := range map[string]Job{
		"open":     {Pending: []fleet.TargetID{"a"}, Expires: ago(-day)},
		"over":     {Pending: []fleet.TargetID{"a"}, Expires: ago(8 * day)},
		"late":     {Pending: []fleet.TargetID{"a"}, Expires: ago(6 * day)},
		"answered": {Job: fleet.Job{At: ago(30 * day)}, Answers: map[fleet.TargetID]JobAnswer{"a": {At: ago(8 * day)}}},
		"fresh":    {Job: fleet.Job{At: ago(30 * day)}, Answers: map[fleet.TargetID]JobAnswer{"a": {At: ago(6 * day)}}},
	} {
		r.ID = id
		if err := h.jobs.put(t.Context(), id, r, 0); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = h.jobs.follow(ctx) }()
	<-h.jobs.filled()
	if err := h.pruneJobs(ctx); err != nil {
		t.Fatal(err)
	}
	left, err := h.jobs.store.All(ctx)
	if err != nil || len(left) != 3 {
		t.Errorf("%d are left, %v", len(left), err)
	}
	for _, e := range left {
		if e.Key == "over" || e.Key == "answered" {
			t.Errorf("%s is still there", e.Key)
		}
	}
}

// Tokens that have been unusable for the retention time of events are removed. Unreadable ones
// stay.
func TestTokensAreForgotten(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	tokens := bustest.NewStore()
	h := &Hub{conf: Config{Now: func() time.Time { return now }}, stores: map[string]fleet.Store{"tokens": tokens}}
	ago := func(d time.Duration) int64 { return now.Add(-d).Unix() }
	put := func(id string, text []byte) {
		t.Helper()
		if _, err := tokens.Put(t.Context(), id, text); err != nil {
			t.Fatal(err)
		}
	}
	for id, token := range map[string]pki.StoredToken{
		"good":      {Terms: pki.Terms{Expires: ago(-day)}},
		"expired":   {Terms: pki.Terms{Expires: ago(89 * day)}},
		"forgotten": {Terms: pki.Terms{Expires: ago(91 * day)}},
		"withdrawn": {Terms: pki.Terms{Expires: ago(-day)}, Withdrawn: ago(91 * day)},
	} {
		text, err := json.Marshal(token)
		if err != nil {
			t.Fatal(err)
		}
		put(id, text)
	}
	put("newer", []byte("what a newer hub wrote"))
	for range 2 {
		if err := h.pruneTokens(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	left, err := tokens.All(t.Context())
	if err != nil || len(left) != 3 {
		t.Errorf("%d are left, %v", len(left), err)
	}
	for _, e := range left {
		if e.Key == "forgotten" || e.Key == "withdrawn" {
			t.Errorf("%s is still there", e.Key)
		}
	}
}

func TestRetentionIsChecked(t *testing.T) {
	if (Retention{Log: -1}).check() == nil || (Retention{}).check() != nil {
		t.Error("it is not checked")
	}
}
