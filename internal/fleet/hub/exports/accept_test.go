package exports

import (
	"errors"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// An outdated mirror has the values that an agent exports now, and the store has earlier values:
// they are not acknowledged, because the agent does not repeat them.
func TestExportsWhileTheMirrorIsBehind(t *testing.T) {
	store := bustest.NewStore()
	v := New(Config{Records: &records.Table{}})
	v.Records.Exports = records.NewMirror[records.Exports](fleet.Store(store), "", nil)
	if err := v.Records.Exports.Put(t.Context(), "a", records.Exports{}, 0); err != nil {
		t.Fatal(err)
	}
	_, rev, _ := v.Records.Exports.Get("a")
	if err := v.confirmExports(t.Context(), "a", rev); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"a", "b"} {
		if _, err := store.Put(t.Context(), key, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	for id, rev := range map[fleet.TargetID]uint64{"a": rev, "b": 0} {
		if err := v.confirmExports(t.Context(), id, rev); !errors.Is(err, fleet.ErrConflict) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := v.confirmExports(t.Context(), "c", 0); err != nil {
		t.Error(err)
	}
}
