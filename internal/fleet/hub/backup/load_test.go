package backup_test

import (
	"errors"
	"testing"

	"fettle.dev/fettle/internal/fleet/hub/records"
)

// TestLoadNothing: a hub that was not restored keeps its store.
func TestLoadNothing(t *testing.T) {
	w := newWorld(t, false)
	w.put("settings", epochKey, `{"epoch":7}`)
	if err := w.Load(t.Context()); err != nil || w.epoch().Number != 7 {
		t.Errorf("%+v, %v", w.epoch(), err)
	}
}

// TestLoad: all saved entries are in the store, other buckets stay, and the file is removed.
func TestLoad(t *testing.T) {
	w := newWorld(t, false)
	s := stateWith("leases", map[string]string{"leader": "hub9"})
	for _, name := range records.Saved() {
		s.Buckets[name] = map[string]string{"a": "first " + name, "b/c": "second " + name}
	}
	w.restores(s)
	if err := w.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range records.Saved() {
		if a, b := w.get(name, "a"), w.get(name, "b/c"); a != "first "+name || b != "second "+name {
			t.Errorf("%s: %q, %q", name, a, b)
		}
	}
	if got := w.get("leases", "leader"); got != "" {
		t.Errorf("a bucket that is not saved has %q", got)
	}
	if read(t, w.files, restoreFile) != "" || len(w.warned) > 0 {
		t.Errorf("the file stays, or a warning: %q", w.warned)
	}
	w.put("settings", "a", "newer")
	if err := w.Load(t.Context()); err != nil || w.get("settings", "a") != "newer" {
		t.Errorf("the next start loads again: %v", err)
	}
}

// TestEpochOfARestore: the epoch is above the one of the backup, and at least the time.
func TestEpochOfARestore(t *testing.T) {
	for text, want := range map[string]uint64{
		`{"epoch":3}`:             1_795_000_000,
		`{"epoch":1795000000}`:    1_795_000_001,
		`{"epoch":9000000000000}`: 9_000_000_000_001,
	} {
		w := newWorld(t, false)
		w.restores(stateWith("settings", map[string]string{epochKey: text}))
		err := w.Load(t.Context())
		if e := w.epoch(); err != nil || e.Number != want || e.Begun != w.now.Unix() || e.Why == "" {
			t.Errorf("%s: %+v, %v; want the epoch %d", text, e, err, want)
		}
	}
}

// TestDamagedRestore: a state that cannot be read is an error, and its file stays.
func TestDamagedRestore(t *testing.T) {
	w := newWorld(t, false)
	write(t, w.files, restoreFile, `{"buckets":`)
	wantError(t, w.Load(t.Context()), "cannot read "+restoreFile)
	if read(t, w.files, restoreFile) == "" {
		t.Error("the file was removed")
	}
	w.restores(stateWith("settings", map[string]string{epochKey: `"x"`}))
	wantError(t, w.Load(t.Context()), "cannot read the epoch of the backup")
	if read(t, w.files, restoreFile) == "" {
		t.Error("the file was removed")
	}
}

// TestInterruptedLoad: after a failure the state stays to be loaded, and the next start loads it, also
// if an external NATS cluster already has a part of it.
func TestInterruptedLoad(t *testing.T) {
	for _, nats := range []bool{false, true} {
		w := newWorld(t, nats)
		s := stateWith("settings", map[string]string{epochKey: `{"epoch":3}`})
		s.Buckets["targets"] = map[string]string{"a": "{}"}
		w.restores(s)
		broken := errors.New("no quorum")
		w.stores["targets"].Break(broken)
		if err := w.Load(t.Context()); !errors.Is(err, broken) || read(t, w.files, restoreFile) == "" {
			t.Fatalf("external NATS %t: %v, the file: %q", nats, err, read(t, w.files, restoreFile))
		}
		w.stores["targets"].Break(nil)
		err := w.Load(t.Context())
		if w.get("targets", "a") != "{}" || w.epoch().Number != 1_795_000_000 || err != nil ||
			read(t, w.files, restoreFile) != "" {
			t.Errorf("external NATS %t: the second start: %v, %+v", nats, err, w.epoch())
		}
		if w.get("settings", "backup/loading") != "" || len(w.warned) > 0 {
			t.Errorf("external NATS %t: the mark stays, or a warning: %q", nats, w.warned)
		}
	}
}

// TestLoadBesideNewerState: an external NATS cluster that still has the state of the fleet keeps it.
func TestLoadBesideNewerState(t *testing.T) {
	w := newWorld(t, true)
	w.put("settings", epochKey, `{"epoch":7}`)
	w.restores(stateWith("settings", map[string]string{epochKey: `{"epoch":3}`, "a": "old"}))
	if err := w.Load(t.Context()); err != nil || w.epoch().Number != 7 || w.get("settings", "a") != "" {
		t.Errorf("%v, %+v, %q", err, w.epoch(), w.get("settings", "a"))
	}
	if read(t, w.files, restoreFile) != "" || len(w.warned) != 1 {
		t.Errorf("the file stays, or no warning: %q", w.warned)
	}
}

// TestLoadFromABrokenCluster: if the cluster does not answer, nothing is loaded and nothing removed.
func TestLoadFromABrokenCluster(t *testing.T) {
	w := newWorld(t, true)
	w.restores(stateWith("people", map[string]string{"ann": "{}"}))
	broken := errors.New("no quorum")
	w.stores["settings"].Break(broken)
	if err := w.Load(t.Context()); !errors.Is(err, broken) || w.get("people", "ann") != "" {
		t.Errorf("%v, %q", err, w.get("people", "ann"))
	}
	if read(t, w.files, restoreFile) == "" {
		t.Error("the file was removed")
	}
}
