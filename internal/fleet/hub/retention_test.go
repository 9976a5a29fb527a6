package hub

import (
	"context"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// Requests that all have answered go after a while, and those that nobody answers any more;
// one that is open stays.
func TestRequestsAreForgotten(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	h := &Hub{conf: Config{Now: func() time.Time { return now }}}
	h.requests = newMirror[Request](bustest.NewStore(), "", nil)
	ago := func(d time.Duration) int64 { return now.Add(-d).Unix() }
	for id, r := range map[string]Request{
		"open":     {Pending: []fleet.TargetID{"a"}, Expires: ago(-day)},
		"over":     {Pending: []fleet.TargetID{"a"}, Expires: ago(8 * day)},
		"late":     {Pending: []fleet.TargetID{"a"}, Expires: ago(6 * day)},
		"answered": {Do: fleet.Do{At: ago(30 * day)}, Answers: map[fleet.TargetID]Answer{"a": {At: ago(8 * day)}}},
		"fresh":    {Do: fleet.Do{At: ago(30 * day)}, Answers: map[fleet.TargetID]Answer{"a": {At: ago(6 * day)}}},
	} {
		r.ID = id
		if err := h.requests.put(t.Context(), id, r, 0); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = h.requests.follow(ctx) }()
	<-h.requests.filled()
	if err := h.pruneRequests(ctx); err != nil {
		t.Fatal(err)
	}
	left, err := h.requests.store.All(ctx)
	if err != nil || len(left) != 3 {
		t.Errorf("%d are left, %v", len(left), err)
	}
	for _, e := range left {
		if e.Key == "over" || e.Key == "answered" {
			t.Errorf("%s is still there", e.Key)
		}
	}
}

func TestRetentionIsChecked(t *testing.T) {
	if (Retention{Log: -1}).check() == nil || (Retention{}).check() != nil {
		t.Error("it is not checked")
	}
}
