package records

import (
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// A stored entry of the log of rollouts is small, and reading it returns the same events, also after a garbage
// collection. Events share the names of targets and contents.
func TestStoredRollouts(t *testing.T) {
	want := Rollouts{Format: RolloutsFormat}
	for range 1000 {
		want.Events = append(want.Events, rollout.Event{Rollout: "r1", At: 100, Kind: rollout.Granted, Target: "web1",
			Before: []rollout.Change{{Part: "modules/web", Digest: "sha256:" + strings.Repeat("a", 64)}}})
	}
	written, err := StoreRollouts(want)
	if err != nil {
		t.Fatal(err)
	}
	b, err := FormatRollouts(written)
	if err != nil || len(b) > 10_000 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	read, err := ParseRollouts(b)
	if err != nil || read.Ordered || read.Snapshot {
		t.Fatalf("%+v, %v", read, err)
	}
	for range 2 {
		got, err := read.Rollouts()
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Fatalf("%+v, %v", got, err)
		}
		first, last := got.Events[0], got.Events[999]
		if unsafe.StringData(string(first.Target)) != unsafe.StringData(string(last.Target)) ||
			unsafe.StringData(first.Before[0].Digest) != unsafe.StringData(last.Before[0].Digest) {
			t.Error("two events have the same text twice in memory")
		}
		runtime.GC()
	}
}

// A command of a user makes the leader decide again, and a log begins at its newest snapshot.
func TestKindsOfStoredRollouts(t *testing.T) {
	for name, r := range map[string]Rollouts{
		"ordered":  {Events: []rollout.Event{{Kind: rollout.Paused}, {Kind: rollout.Resumed, By: "ann"}}},
		"snapshot": {Snapshot: &rollout.Snapshot{}},
		"neither":  {Events: []rollout.Event{{Kind: rollout.Paused}}},
	} {
		r.Format = RolloutsFormat
		s, err := StoreRollouts(r)
		if err != nil || s.Ordered != (name == "ordered") || s.Snapshot != (name == "snapshot") {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	s, err := StoreRollouts(Rollouts{Format: "fettle.rollouts/2"})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := FormatRollouts(s)
	if _, err := ParseRollouts(b); err == nil {
		t.Error("an unknown format is accepted")
	}
}
