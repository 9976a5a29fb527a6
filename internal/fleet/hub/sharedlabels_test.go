package hub

import (
	"crypto/ed25519"
	"fmt"
	"reflect"
	"runtime/debug"
	"testing"
	"unsafe"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Targets of the registry with equal labels share memory.
func TestLabelsAreShared(t *testing.T) {
	var h Hub
	labels := func(name, labels string) uintptr {
		t.Helper()
		got, err := h.records.ParseTarget(fmt.Appendf(nil,
			`{"id":"","name":%q,"labels":%s,"standing":"active","key":"","enrolled":0,"changed":0}`, name, labels))
		if err != nil || got.Name != name || len(got.Labels) != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		return reflect.ValueOf(got.Labels).Pointer()
	}
	one, two, other := labels("a", `{"role":"web","env":"prod"}`), labels("b", `{"env":"prod","role":"web"}`), labels("c", `{"role":"web","env":"test"}`)
	if one != two || one == other {
		t.Error("what is the same is not shared, or what is not")
	}
}

// Assignments that are read from the store share memory.
func TestAssignmentRecordsAreShared(t *testing.T) {
	// Shared values are held weakly: a garbage collection between two reads may separate them.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &Hub{}
	h.ring.keys, h.ring.at, h.conf.Now = fleet.KeysOf(key.Public().(ed25519.PublicKey)), fixed(), fixed
	read := func(name string, parts int) fleet.Assignment {
		t.Helper()
		a := large(parts)
		a.Name, a.Labels = name, map[string]string{"role": "web"}
		d, err := fleet.SignPayload(a.Marshal(), fleet.AssignmentType, key)
		if err != nil {
			t.Fatal(err)
		}
		var p records.Packer
		b, err := p.Pack(records.Assignment{Fence: 7, Signatures: []fleet.Signature{d}, Assignment: a})
		if err != nil {
			t.Fatal(err)
		}
		g, err := h.parseAssignmentRecord(b)
		if err != nil || !g.Assignment.Same(a) {
			t.Fatalf("%+v, %v", g.Assignment, err)
		}
		return g.Assignment
	}
	a, b, other := read("a", 5), read("b", 5), read("c", 4)
	at := func(s string) *byte { return unsafe.StringData(s) }
	if &a.Modules[0] != &b.Modules[0] || at(a.Root.Bundle.Digest) != at(b.Root.Bundle.Digest) ||
		at(a.Root.Revision.Commit) != at(b.Root.Revision.Commit) || at(a.Format) != at(b.Format) {
		t.Error("what two have in common lies twice in memory")
	}
	if len(other.Modules) != 4 || other.Name != "c" {
		t.Errorf("%+v", other)
	}
}
