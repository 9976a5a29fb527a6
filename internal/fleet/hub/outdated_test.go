package hub

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// The shared modules of assignments exist, and the answering server does not have them yet: the
// assignment is not omitted.
func TestSharedPartWhileTheStoreIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &bustest.Behind{Store: bustest.NewStore()}
		part, err := (&sharedModules{store: store.Store}).put(t.Context(),
			fleet.Assigned{Revision: fleet.Revision{Commit: strings.Repeat("a", 40)},
				Bundle: fleet.Bundle{Digest: "sha256:" + strings.Repeat("b", 64), Size: 1}}, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		store.Reads.Store(2)
		c := &sharedModules{store: store}
		if _, err := c.get(t.Context(), part.Digest, &lists{}); err != nil {
			t.Error(err)
		}
		if _, err := c.get(t.Context(), "d2", &lists{}); !errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("what does not exist: %v", err)
		}
	})
}

// An outdated mirror has the values that an agent exports now, and the store has earlier values:
// they are not acknowledged, because the agent does not repeat them.
func TestExportsWhileTheMirrorIsBehind(t *testing.T) {
	store := bustest.NewStore()
	h := &Hub{}
	h.records.Exports = records.NewMirror[records.Exports](fleet.Store(store), "", nil)
	if err := h.records.Exports.Put(t.Context(), "a", records.Exports{}, 0); err != nil {
		t.Fatal(err)
	}
	_, rev, _ := h.records.Exports.Get("a")
	if err := h.confirmExports(t.Context(), "a", rev); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"a", "b"} {
		if _, err := store.Put(t.Context(), key, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	for id, rev := range map[fleet.TargetID]uint64{"a": rev, "b": 0} {
		if err := h.confirmExports(t.Context(), id, rev); !errors.Is(err, fleet.ErrConflict) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := h.confirmExports(t.Context(), "c", 0); err != nil {
		t.Error(err)
	}
}
