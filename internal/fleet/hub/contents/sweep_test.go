package contents_test

import (
	"errors"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// TestSweep: content of assignments, of settings and of the last computation stays. Other content is
// removed by the second call, because an assignment that is being written may name it.
func TestSweep(t *testing.T) {
	w := newFleet(t, start)
	w.sources.change(nil, commit)
	w.sources.change(nil, "other")
	w.leads(t.Context())
	bustest.Await(t, "the hub leads", func() bool {
		_, err := w.Repository.Pack(t.Context(), fleet.Revision{Commit: commit}, w.Store)
		return err == nil
	})
	of := map[string]fleet.Bundle{}
	for _, text := range []string{"root", "module", "proof", "binary", "computed", "unused"} {
		of[text] = add(t, w.Store, text)
	}
	proof := of["proof"]
	w.assigns(bustest.ID(1), of["root"], nil, fleet.Assigned{Bundle: of["module"], Proof: &proof})
	setting := assign.BinarySetting{Key: "a", Binary: fleet.Binary{Files: map[string]fleet.Bundle{"amd64": of["binary"]}}}
	if err := w.Records.Binaries.Put(t.Context(), "a", setting, 0); err != nil {
		t.Fatal(err)
	}
	sweep := func(gone ...string) {
		t.Helper()
		computed := func() map[string]bool { return map[string]bool{of["computed"].Digest: true} }
		if err := w.Sweep(t.Context(), computed); err != nil {
			t.Fatal(err)
		}
		for text, b := range of {
			if w.Store.Has(b) == slices.Contains(gone, text) {
				t.Errorf("the store has %s: %t", text, w.Store.Has(b))
			}
		}
	}
	sweep()
	sweep("unused")
	sweep("unused")
	if want := []string{"other", "other", "other"}; !slices.Equal(w.sources.tidied, want) {
		t.Errorf("unused commits: %q, want %q", w.sources.tidied, want)
	}
	broken := errors.New("the disk is full")
	w.sources.change(broken, commit)
	if err := w.Sweep(t.Context(), func() map[string]bool { return nil }); !errors.Is(err, broken) {
		t.Errorf("a clone that cannot be tidied: %v", err)
	}
}

// TestSweepWithoutAClone: a hub that has not led yet has no commits to remove.
func TestSweepWithoutAClone(t *testing.T) {
	w := newFleet(t, start)
	b := add(t, w.Store, "unused")
	for range 2 {
		if err := w.Sweep(t.Context(), func() map[string]bool { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if w.Store.Has(b) {
		t.Error("unused content stays")
	}
}
