package members

import (
	"errors"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// A hub that is missing in the list of an outdated server was not retired.
func TestEnlistWhileTheStoreIsBehind(t *testing.T) {
	store := &bustest.Behind{Store: bustest.NewStore()}
	m := records.NewMirror[records.Member](fleet.Store(store), records.MemberPrefix, nil)
	own := records.Member{Name: "hub1"}
	for _, name := range []string{"hub1", "hub2"} {
		if err := records.NewMirror[records.Member](store.Store, records.MemberPrefix, nil).Put(t.Context(), name,
			records.Member{Name: name}, 0); err != nil {
			t.Fatal(err)
		}
	}
	store.Reads.Store(1)
	m.Take(fleet.Entry{Key: records.MemberPrefix + "hub2", Value: []byte(`{"name":"hub2"}`), Rev: 1})
	if err := enlist(t.Context(), m, own, nil); !errors.Is(err, fleet.ErrConflict) {
		t.Errorf("while the store is behind: %v", err)
	}
	if err := enlist(t.Context(), m, own, nil); err != nil {
		t.Errorf("later: %v", err)
	}
}
